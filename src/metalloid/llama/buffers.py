"""The memory one conversation needs: activations, the key-value cache, the logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metalloid.kernels.families import target
from metalloid.llama.config import Config
from metalloid.llama.formats import Array
from metalloid.runtime.buffer import aligned

PARTS = 256  # threadgroups that look for the largest logit at once
TOKENS = 32  # of a prompt that are worked on at a time
PLACE = np.dtype([("position", "<u4"), ("count", "<u4")])
CHOICE = np.dtype([("temperature", "<f4"), ("top_p", "<f4"), ("top_k", "<u4"), ("seed", "<u4")])


@dataclass(frozen=True)
class Buffers:
    """All float32 but the tokens. `place`, `step` and `choice` are read by kernels at each run."""

    ids: Array
    x: Array  # what runs through the layers
    h: Array  # normalised
    q: Array
    k: Array
    v: Array
    mixed: Array  # what attention gives
    gate: Array
    up: Array
    bytes: Array  # what goes into a product, rounded: see bytewise.metal
    scores: Array
    keys: tuple[Array, ...]  # per layer [kv_heads, head, padded context]
    values: tuple[Array, ...]
    turns: Array  # cosine and sine of each position and pair of dimensions
    logits: Array
    kept: Array
    best: Array  # the largest logits of parts, and their places
    best_at: Array
    token: Array
    place: Array
    step: Array
    choice: Array


def placed(array: Array) -> Array:
    """The array for kernels to use: a copy on a device that has memory of its own, else the array itself."""
    on = target()
    return array if on.backend.unified else on.buffer(array, copy=True).memory()


def seen(array: Array) -> Array:
    """An array that kernels use, for the host to look at and to change for as long as it has it."""
    found: Array = target().backend.host(array)
    return found


def padded(context: int) -> int:
    """Positions that the caches have room for: kernels take 32 at a time."""
    return -(-context // 32) * 32


def buffers(config: Config, context: int) -> Buffers:
    """What the host writes and reads at each token lies in its own memory, the rest where kernels are."""

    def host(*shape: int, dtype: object = np.float32) -> Array:
        made = aligned(shape, dtype)
        made[...] = 0
        return made

    def zeros(*shape: int, dtype: object = np.float32) -> Array:
        return placed(host(*shape, dtype=dtype))

    # What changes from token to token lies side by side, so that a device gets all of it in one piece.
    changing = host(8 + TOKENS, dtype=np.int32)
    token, step, place, choice, ids = np.split(changing, (1, 2, 4, 8))
    width, heads = config.width, config.heads * config.head
    cache = (config.kv_heads, config.head, padded(context))
    angles = np.outer(np.arange(context, dtype=np.float64), np.array(config.frequencies))
    turns = host(context, config.head // 2, 2)
    turns[..., 0], turns[..., 1] = np.cos(angles), np.sin(angles)
    return Buffers(
        ids=ids,
        x=zeros(TOKENS, width),
        h=zeros(TOKENS, width),
        q=zeros(TOKENS, heads),
        k=zeros(TOKENS, config.kv_width),
        v=zeros(TOKENS, config.kv_width),
        mixed=zeros(TOKENS, heads),
        gate=zeros(TOKENS, config.hidden),
        up=zeros(TOKENS, config.hidden),
        bytes=zeros(TOKENS, -(-max(width, heads, config.hidden) // 32), 10, dtype=np.uint32),
        scores=zeros(TOKENS, config.heads, padded(context)),
        keys=tuple(zeros(*cache) for _ in range(config.layers)),
        values=tuple(zeros(*cache) for _ in range(config.layers)),
        turns=placed(turns),
        logits=zeros(config.vocabulary),
        kept=zeros(config.vocabulary),
        best=zeros(PARTS),
        best_at=zeros(PARTS, dtype=np.uint32),
        token=token,
        place=place.view(PLACE),
        step=step.view(np.uint32),
        choice=choice.view(CHOICE),
    )

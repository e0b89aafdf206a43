"""Flash attention: many queries by tiles, few queries by vectors; with masks, sinks, slopes and soft caps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.ggml.tensors import (
    BFLOAT,
    DTYPES,
    Quantised,
    data,
    fields,
    launch,
    nb,
    ne,
    padded,
    random_tensor,
    values,
)

PAD, BLOCKS, TILES, VECTORS, REDUCE = 100, 200, 300, 400, 500  # where function constants start
QUERIES, PLACES = 8, 64  # queries and cache places per tile
VECTOR_PLACES = 32


@dataclass(frozen=True)
class Options:
    mask: bool = True
    sinks: bool = False
    bias: float = 0.0  # ALiBi
    cap: float = 0.0  # logits pass through cap * tanh(x / cap)


@dataclass(frozen=True)
class Problem:
    """Queries (batch, heads, queries, size), keys and values (batch, key heads, places, size)."""

    q: Array
    k: Any
    v: Any
    mask: Array
    sinks: Array
    options: Options
    scale: float

    @property
    def slopes(self) -> tuple[int, float, float]:
        heads = self.q.shape[1]
        log2 = 1 << int(np.floor(np.log2(heads)))
        return log2, 2.0 ** (-self.options.bias / log2), 2.0 ** (-self.options.bias / 2 / log2)

    def fields(self, out: Array, **more: Any) -> Any:
        log2, m0, m1 = self.slopes
        masks = {f"ne3{n}": s for n, s in enumerate(ne(self.mask))}
        masks |= {f"nb3{n}": s for n, s in enumerate(nb(self.mask))}
        strides = {
            f"ns{n}0": nb(t)[1] // (nb(t)[0] if not isinstance(t, Quantised) else 1)
            for n, t in ((1, self.k), (2, self.v))
        }
        given = fields(self.q, self.k, out, self.v)
        given.optional |= masks | strides | {
            "ne_12_2": self.k_shape[1], "ne_12_3": self.k_shape[0], "max_bias": self.options.bias, "m0": m0,
            "m1": m1, "n_head_log2": log2, "logit_softcap": self.options.cap, "n_kv_max_padded": 0,
            "scale": self.scale / self.options.cap if self.options.cap else self.scale,
        }  # fmt: skip
        given.update(more)
        return given

    @property
    def k_shape(self) -> tuple[int, ...]:
        return tuple(self.k.values.shape if isinstance(self.k, Quantised) else self.k.shape)

    def expected(self, kept: Any = np.float16) -> Array:
        """(batch, queries, heads, size), as ggml lays its output out; queries are kept in half precision."""
        q = self.q.astype(kept).astype(np.float64)
        k, v = (_as_kept(t) for t in (self.k, self.v))
        repeats = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
        logits = q @ k.swapaxes(-1, -2) * self.scale
        if self.options.cap:
            logits = self.options.cap * np.tanh(logits / self.options.cap)
        if self.options.mask:
            log2, m0, m1 = self.slopes
            heads = range(q.shape[1])
            slope = [m0 ** (h + 1) if h < log2 else m1 ** (2 * (h - log2) + 1) for h in heads]
            slopes = np.array(slope if self.options.bias else [1.0] * len(heads)).reshape(1, -1, 1, 1)
            logits = logits + slopes * values(self.mask)[:, :, : q.shape[2]]
        top = logits.max(-1, keepdims=True)
        sinks = values(self.sinks).reshape(1, -1, 1, 1)
        top = np.maximum(top, sinks) if self.options.sinks else top
        weights = np.exp(logits - top)
        total = weights.sum(-1, keepdims=True) + (np.exp(sinks - top) if self.options.sinks else 0)
        return np.asarray((weights / total @ v).transpose(0, 2, 1, 3))


def _as_kept(tensor: Any) -> Array:
    """Quantised keys and values are unpacked to half precision before they are used."""
    numbers = values(tensor)
    return numbers.astype(np.float16).astype(np.float64) if isinstance(tensor, Quantised) else numbers


def _problem(
    rng: np.random.Generator,
    type: str,
    shape: tuple[int, int, int, int, int],
    size: int,
    options: Options,
    value_size: int = 0,
) -> Problem:
    batch, heads, key_heads, queries, places = shape
    q = random_tensor(rng, "f32", (batch, heads, queries, size))
    k, v = (random_tensor(rng, type, (batch, key_heads, places, n)) for n in (size, value_size or size))
    mask = random_tensor(rng, "f16", (1, 1, queries, places))
    last = np.arange(places) - (places - queries)
    mask[..., last[None, :] > np.arange(queries)[:, None]] = -np.inf
    return Problem(q, k, v, mask, random_tensor(rng, "f32", (heads,)), options, 1 / np.sqrt(size))


def _pad_step(problem: Problem, places: int) -> tuple[Array, list[Step]]:
    """The last, incomplete run of cache places is copied to where it can be read in full."""
    batch, key_heads, count, _ = problem.k_shape
    rows = sum(nb(t)[1] for t in (problem.k, problem.v)) * places * key_heads * batch
    pad = poisoned(rows + 2 * places * problem.mask.shape[2], np.uint8)
    if count % places == 0:
        return pad, []
    step = launch(
        "fa_aux",
        "kernel_flash_attn_ext_pad",
        (problem.fields(pad), data(problem.k), data(problem.v), problem.mask, pad),
        (places, key_heads, batch),
        (32, 1, 1),
        constants={PAD: problem.options.mask, PAD + 25: places},
    )
    return pad, [step]


def _constants(problem: Problem, start: int, places: int) -> dict[str | int, Any]:
    given = problem.fields(problem.q).optional
    return {
        start: problem.options.mask,
        start + 1: problem.options.sinks,
        start + 2: problem.options.bias != 0,
        start + 3: problem.options.cap != 0,
        start + 4: problem.k_shape[2] % places != 0,
        start + 20: given["ns10"],
        start + 21: given["ns20"],
    }


def _tiles(
    rng: np.random.Generator, size: Size, type: str, head: int, options: Options, value_head: int = 0
) -> Work:
    shape = {"small": (1, 2 if type == "f16" else 1, 1, 5, 70), "large": (2, 4, 2, 37, 200)}[size]
    value_head = value_head or head
    problem = _problem(rng, type, shape, head, options, value_head)
    batch, heads, _, queries, places = shape
    out = poisoned((batch, queries, heads, value_head))
    pad, steps = _pad_step(problem, PLACES)
    across, down = -(-places // PLACES), -(-queries // QUERIES)
    blocks = poisoned((down, across), np.int8)
    if options.mask:
        steps.append(
            launch(
                "fa_aux",
                "kernel_flash_attn_ext_blk",
                (problem.fields(out), problem.mask, blocks),
                (across, down, 1),
                (32, 1, 1),
                constants={BLOCKS + 24: QUERIES, BLOCKS + 25: PLACES},
            )
        )
    groups = 8 if head >= 512 else 4
    halves = QUERIES * (head + 2 * padded(value_head, 64) + 4 * PLACES) + (
        16 * 32 * groups if type not in DTYPES else 0
    )
    k, v = data(problem.k), data(problem.v)
    steps.append(
        launch(
            f"fa_{'f16' if type == 'bf16' else type}",
            f"kernel_flash_attn_ext_{type}_dk{head}_dv{value_head}",
            (problem.fields(out), problem.q, k, v, problem.mask, problem.sinks, pad, blocks, out),
            (down, heads, batch),
            (32, groups, 1),
            memory=padded(2 * halves),
            constants=_constants(problem, TILES, PLACES)
            | {TILES + 10: options.mask and queries % 8 != 0, TILES + 22: groups},
        )
    )
    allowed = tolerance(out, 8) if type != "bf16" else tolerance(np.empty(0, np.float16), 4)
    expected = problem.expected(BFLOAT if type == "bf16" else np.float16)
    return Work(tuple(steps), (Output("dst", out, expected, allowed),))


def _vectors(
    rng: np.random.Generator,
    size: Size,
    type: str,
    head: int,
    options: Options,
    spread: int = 1,
    queries_at_once: str = "",
) -> Work:
    """`spread` workgroups share one query; their parts are joined by a second kernel."""
    shape = {"small": (1, 2, 1, 3, 40), "large": (2, 4, 2, 7, 200)}[size]
    problem = _problem(rng, type, shape, head, options)
    batch, heads, _, queries, _ = shape
    out = poisoned((batch, queries, heads, head))
    rows = batch * queries * heads
    parts = out if spread == 1 else poisoned(rows * spread * (head + 2))
    pad, steps = _pad_step(problem, VECTOR_PLACES)
    at_once = int(queries_at_once[2]) if queries_at_once else 1
    groups = {"small": 1, "large": 4}[size]  # how several are joined is right only in lockstep
    halves = (padded(head, 128) + 4 * VECTOR_PLACES + 2 * padded(head, 128)) * at_once * groups
    steps.append(
        launch(
            f"fa_vec_{'f16' if type == 'bf16' else type}",
            f"kernel_flash_attn_ext_vec_{type}_dk{head}_dv{head}{queries_at_once}",
            (
                problem.fields(out), problem.q, data(problem.k), data(problem.v), problem.mask, problem.sinks,
                pad, parts, problem.q,
            ),
            (-(-queries // at_once), heads, batch * spread),
            (32, groups, 1),
            memory=padded(2 * halves),
            constants=_constants(problem, VECTORS, VECTOR_PLACES)
            | {VECTORS + 5: False, VECTORS + 22: groups, VECTORS + 23: spread},
        )
    )  # fmt: skip
    if spread > 1:
        steps.append(
            launch(
                "fa_aux",
                "kernel_flash_attn_ext_vec_reduce",
                ({"nrows": rows}, parts, out),
                (rows, 1, 1),
                (32 * spread, 1, 1),
                constants={REDUCE: head, REDUCE + 1: spread},
            )
        )
    return Work(tuple(steps), (Output("dst", out, problem.expected(), tolerance(out, 8)),))


def _unpack(rng: np.random.Generator, size: Size, type: str) -> Work:
    places = {"small": 10, "large": 300}[size]
    x = random_tensor(rng, type, (2, 1, places, 64))
    out = poisoned(x.values.shape, np.float16)
    blocks = x.values.size // x.block
    names = {f"ne{n}": s for n, s in enumerate(ne(x))} | {f"nb{n}": s for n, s in enumerate(nb(x))}
    step = launch(
        "fa_aux",
        f"kernel_flash_attn_ext_kv_{type}_f16",
        ({**names, "nblocks": blocks}, x.bytes, out),
        (-(-blocks // 256), 1, 1),
        (256, 1, 1),
    )
    return Work((step,), (Output("dst", out, values(x), tolerance(out)),))


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("ggml", "flash_attn", name, make)

    plain, everything = Options(), Options(sinks=True, bias=8.0, cap=20.0)
    made = [
        case("tiles f16", partial(_tiles, type="f16", head=32, options=plain)),
        case("tiles f16, sinks, slopes, cap", partial(_tiles, type="f16", head=32, options=everything)),
        case("tiles f16, no mask", partial(_tiles, type="f16", head=32, options=Options(mask=False))),
        case("tiles bf16", partial(_tiles, type="bf16", head=32, options=plain)),
        case("tiles f32", partial(_tiles, type="f32", head=32, options=plain)),
        case("tiles q8_0", partial(_tiles, type="q8_0", head=32, options=plain)),
        case("tiles q4_0", partial(_tiles, type="q4_0", head=32, options=plain)),
        case(
            "tiles f16, heads of 576 and 512",
            partial(_tiles, type="f16", head=576, options=plain, value_head=512),
        ),
        case("vec f16", partial(_vectors, type="f16", head=64, options=plain)),
        case("vec f16, sinks, slopes, cap", partial(_vectors, type="f16", head=32, options=everything)),
        case("vec f16, no mask", partial(_vectors, type="f16", head=32, options=Options(mask=False))),
        case("vec f16, 32 workgroups", partial(_vectors, type="f16", head=32, options=plain, spread=32)),
        case(
            "vec f16, 2 queries at once",
            partial(_vectors, type="f16", head=32, options=plain, queries_at_once="_q2_ne4"),
        ),
        case("vec bf16", partial(_vectors, type="bf16", head=32, options=plain)),
        case("vec f32", partial(_vectors, type="f32", head=32, options=plain)),
    ]
    for type in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1"):
        made.append(case(f"vec {type}", partial(_vectors, type=type, head=32, options=plain)))
        made.append(case(f"unpack {type}", partial(_unpack, type=type)))
    return made

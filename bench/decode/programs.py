"""A model of `python -m bench decode` in one program: `python -m bench.decode.programs PROGRAM FILE STEPS`.

Prints the tokens it decoded greedily, the seconds of each, and the processor seconds of all. Threads come from the
environment: METALLOID_THREADS, OPENBLAS_NUM_THREADS, and BENCH_THREADS for llama.cpp. MLX has no such setting.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.decode.models import LARGE, Shape, small, unpacked

PROMPT = [1, 17, 430, 22, 805, 94, 316, 7]
Step = Callable[[int], int]  # a token -> the likeliest next one
Array = np.ndarray[Any, Any]


def shape_of(path: Path) -> Shape:
    return small() if "small" in path.name else LARGE


def metalloid(path: Path) -> Step:
    from metalloid.llama.model import Llama

    session = Llama.load(path).session(320)
    session._recording("token").prepare()
    return session.step


def llama_cpp(path: Path) -> Step:
    """llama.cpp's own C functions, as llama-cpp-python gives them; its CPU back end."""
    import llama_cpp as lib

    lib.llama_backend_init()
    settings = lib.llama_model_default_params()
    settings.n_gpu_layers = 0
    model = lib.llama_model_load_from_file(str(path).encode(), settings)
    wanted = lib.llama_context_default_params()
    wanted.n_ctx, wanted.n_batch = 320, 32
    wanted.n_threads = wanted.n_threads_batch = int(os.environ.get("BENCH_THREADS", "1"))
    context = lib.llama_init_from_model(model, wanted)
    vocabulary = shape_of(path).vocabulary

    def step(token: int) -> int:
        one = (lib.llama_token * 1)(token)
        if lib.llama_decode(context, lib.llama_batch_get_one(one, 1)):
            raise SystemExit("llama_decode failed")
        found = np.ctypeslib.as_array(lib.llama_get_logits(context), (vocabulary,))
        return int(found.argmax())

    return step


def _tensors(path: Path) -> dict[str, Any]:
    from metalloid.llama import gguf

    return {name.removesuffix(".weight"): tensor for name, tensor in gguf.read(path).tensors.items()}


def _rows(tensor: Any) -> Array:
    rows: Array = tensor.data.reshape(tensor.shape[0], -1)
    return rows


def numpy(path: Path) -> Step:
    """Weights as float32, a cache, every product one call of BLAS."""
    c, tensors = shape_of(path), _tensors(path)

    def plain(name: str) -> Array:
        numbers, scales = unpacked(_rows(tensors[name]))
        made: Array = (numbers.astype(np.float32) - 8) * scales[..., None].astype(np.float32)
        return made.reshape(len(made), -1)

    weights = {name: plain(name) for name in c.matrices()}
    gains = {name: tensors[name].array() for name in c.gains()}
    cache = np.zeros((2, c.layers, c.kv_heads, 320, c.head), np.float32)
    speed = c.theta ** (-np.arange(0, c.head, 2, dtype=np.float64) / c.head)
    at = 0

    def scaled(x: Array, gain: Array) -> Array:
        return x * (gain / np.sqrt(x @ x / np.float32(len(x)) + np.float32(c.eps)))

    def turned(x: Array) -> Array:
        cos, sin = np.cos(at * speed).astype(np.float32), np.sin(at * speed).astype(np.float32)
        a, b = x[:, ::2], x[:, 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    def layer(n: int, x: Array) -> Array:
        w = {part: weights[f"blk.{n}.{part}"] for part in LAYER}
        h = scaled(x, gains[f"blk.{n}.attn_norm"])
        q = turned((w["attn_q"] @ h).reshape(-1, c.head)).reshape(c.kv_heads, -1, c.head)
        cache[0, n, :, at] = turned((w["attn_k"] @ h).reshape(-1, c.head))
        cache[1, n, :, at] = (w["attn_v"] @ h).reshape(-1, c.head)
        s = q @ cache[0, n, :, : at + 1].swapaxes(1, 2) * np.float32(c.head**-0.5)
        p = np.exp(s - s.max(-1, keepdims=True))
        x = x + w["attn_output"] @ (p @ cache[1, n, :, : at + 1] / p.sum(-1, keepdims=True)).reshape(-1)
        h = scaled(x, gains[f"blk.{n}.ffn_norm"])
        gate = w["ffn_gate"] @ h
        return x + w["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (w["ffn_up"] @ h))

    def step(token: int) -> int:
        nonlocal at
        x = weights["token_embd"][token]
        for n in range(c.layers):
            x = layer(n, x)
        at += 1
        return int((weights["output"] @ scaled(x, gains["output_norm"])).argmax())

    return step


LAYER = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def mlx(path: Path) -> Step:
    """mlx-lm's Llama on the CPU; a block of q4_0 is a group of 32 with a scale and a bias of -8 scales."""
    import mlx.core as mx
    import mlx.nn as nn
    from mlx_lm.models import llama
    from mlx_lm.models.cache import make_prompt_cache

    from bench.decode.models import PARTS

    mx.set_default_device(mx.cpu)
    c, tensors = shape_of(path), _tensors(path)
    settings = llama.ModelArgs(
        model_type="llama",
        hidden_size=c.width,
        num_hidden_layers=c.layers,
        intermediate_size=c.hidden,
        num_attention_heads=c.heads,
        num_key_value_heads=c.kv_heads,
        rms_norm_eps=c.eps,
        vocab_size=c.vocabulary,
        rope_theta=c.theta,
        rope_traditional=True,  # pairs side by side, as a GGUF file has them
        tie_word_embeddings=False,
    )
    model = llama.Model(settings)
    nn.quantize(model, group_size=32, bits=4)
    names = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
    norms = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}

    def named(name: str) -> str:
        if name in names:
            return names[name]
        _, n, part = name.split(".")
        return f"model.layers.{n}.{(PARTS | norms)[part]}"

    found = {f"{named(name)}.weight": mx.array(tensors[name].array()) for name in c.gains()}
    for name in c.matrices():
        numbers, scales = unpacked(_rows(tensors[name]))
        eight = numbers.reshape(len(numbers), -1, 8).astype(np.uint32)
        words = np.bitwise_or.reduce(eight << np.arange(0, 32, 4, dtype=np.uint32), -1)
        scale = scales.astype(np.float32)
        parts = {"weight": words, "scales": scale, "biases": scale * -8}
        found |= {f"{named(name)}.{part}": mx.array(array) for part, array in parts.items()}
    model.load_weights(list(found.items()))
    mx.eval(model.parameters())
    cache = make_prompt_cache(model)
    return lambda token: mx.argmax(model(mx.array([[token]]), cache=cache)[0, -1]).item()


PROGRAMS = {"metalloid": metalloid, "llama.cpp": llama_cpp, "numpy": numpy, "mlx-lm": mlx}


def main(program: str, file: str, steps: str) -> None:
    step = PROGRAMS[program](Path(file))
    token = 0
    for given in PROMPT:
        token = step(given)
    tokens, seconds, busy = [token], [], time.process_time()
    for _ in range(int(steps)):
        start = time.perf_counter()
        tokens.append(step(tokens[-1]))
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"tokens": tokens, "seconds": seconds, "busy": time.process_time() - busy}))


if __name__ == "__main__":
    main(*sys.argv[1:])

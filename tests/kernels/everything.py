"""Calls that run every kernel of the library, for every dtype and every format of weights, each with its results.

`tests/kernels/test_check.py` runs them under the checker, `test_oracle.py` on the oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import metalloid.kernels as mk
from metalloid.kernels.families import kernel
from metalloid.kernels.matmul import VARIANTS
from metalloid.kernels.primitives import PRIMITIVES
from metalloid.kernels.quantized import BLOCKS
from metalloid.llama.wide import regrouped
from tests.kernels.helpers import BFLOAT16, DTYPES, normal

Call = Callable[[], Any]
FLOAT16_AT = {"q4_0": (0,), "q8_0": (0,), "q4_K": (0, 2), "q6_K": (208,)}  # where the scales of a block lie
PLAIN = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": BFLOAT16}
NAMES = dict(zip(DTYPES, ("float32", "float16", "bfloat16"), strict=True))
WIDE, SIMDGROUP = 32, {"threadgroup": 32}


def blocks(format: str, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Random bytes with scales of a sensible size."""
    block, size = BLOCKS[format]
    source = np.random.default_rng(seed)
    made = source.integers(0, 256, (rows, columns // block, size), np.uint8)
    for at in FLOAT16_AT[format]:
        scales = source.uniform(-0.1, 0.1, (rows, columns // block, 1)).astype(np.float16)
        made[..., at : at + 2] = scales.view(np.uint8)
    return made.reshape(rows, -1)


def odd(format: str) -> int:
    """Columns that no number of SIMD-groups' steps fits."""
    return 45 if format in PLAIN else 288 if BLOCKS[format][0] == 32 else 256


def every_call() -> dict[str, Call]:
    """All of them, by a name that ends with a dtype or has a format."""
    found: dict[str, Call] = {}
    for dtype, name in NAMES.items():
        found |= {f"{what}, {name}": call for what, call in operations(dtype).items()}
        found |= {f"{what}, {name}": call for what, call in quantised(dtype).items()}
    for format in (*PLAIN, *BLOCKS):
        found |= {f"{what}, {format}": call for what, call in generation(format).items()}
    return found | {
        "sample": lambda: (mk.sample(normal((2, 45)), 0.8, 20, 0.9, 7), mk.sample(normal((2, 45)), 0.0)),
        "top_k": lambda: mk.top_k(normal((2, 45)), 4),
        "gate_up": _gate_up,
        "rotate and attend": _rotate_and_attend,
        "products of regrouped weights": lambda: regrouped_products("q4_0x8"),
    }


def operations(dtype: np.dtype) -> dict[str, Call]:
    """Norms, activations, reductions, attention and products of one dtype."""

    def some(*shape, seed=0):
        return normal(shape, dtype, seed)

    def derivatives(name, *x, **settings):
        p = PRIMITIVES[name]
        made = p(*x, **settings)
        slopes = p.vjp(x, normal(made.shape, dtype, 9), **settings)
        return made, *(s for s in slopes if s is not None), p.jvp(x, x, **settings)

    def attention(kept):
        q, k, v = some(4, 3, 33), some(2, 40, 33).astype(kept), some(2, 40, 33, seed=1).astype(kept)
        pages = np.array([[4, 1, 2]]), np.array([19])
        stored = some(5, 2, 8, 32).astype(kept)
        return mk.attention(q, k, v, causal=True), mk.paged_attention(
            some(1, 4, 3, 32), stored, stored + kept.type(1), *pages
        )

    def one_row(other):
        column, matrix = some(45), some(45, 37).astype(other)
        turned = np.ascontiguousarray(matrix.T)
        found = [mk.matvec(turned, column)]
        for rows in (1, 6):
            found.append(mk.matmul(some(rows, 45), matrix, variant="direct"))
            found.append(mk.matmul(some(rows, 45), turned, True, "direct"))
        return tuple(found)

    kinds = DTYPES if dtype == np.float32 else (dtype,)
    found: dict[str, Call] = {
        "rms_norm": lambda: derivatives("rms_norm", some(3, 45), some(45)),
        "layer_norm": lambda: derivatives("layer_norm", some(3, 45), some(45), some(45)),
        "rope": lambda: (mk.rope(some(2, 5, 34), 30), mk.rope(some(2, 5, 34), 30, interleaved=True)),
        "silu": lambda: derivatives("silu", some(300)),
        "gelu": lambda: (*derivatives("gelu", some(300)), *derivatives("gelu", some(300), tanh=True)),
        "swiglu": lambda: derivatives("swiglu", some(3, 30), some(3, 30)),
        "reductions": lambda: (mk.sum(some(3, 300)), mk.max(some(3, 300)), mk.argmax(some(3, 300))),
        "softmax": lambda: derivatives("softmax", some(3, 300)),
        "embedding": lambda: derivatives("embedding", np.array([4, 0, 4]), some(5, 37)),
    }
    for kept in kinds:
        found[f"attention over {NAMES[kept]}"] = lambda k=kept: attention(k)
        found[f"products with {NAMES[kept]}"] = lambda k=kept: one_row(k)
    for variant in VARIANTS:
        found[f"A @ B, {variant}"] = lambda v=variant: mk.matmul(some(19, 45), some(45, 37), variant=v)
        found[f"A @ B^T, {variant}"] = lambda v=variant: mk.matmul(some(19, 45), some(37, 45), True, v)
    return found


def quantised(dtype: np.dtype) -> dict[str, Call]:
    """Products with weights in blocks and groups; inputs of one dtype."""

    def times(format):
        weight, columns = blocks(format, 9, odd(format)), odd(format)
        return (
            mk.quantized_matmul(normal(columns, dtype), weight, format),
            mk.quantized_matmul(normal((3, columns), dtype), weight, format),
        )

    def affine(bits):
        weight = np.random.default_rng(0).integers(0, 1 << 32, (9, 4 * bits), np.uint32)
        parts = weight, normal((9, 4), dtype), normal((9, 4), dtype, 1), 32, bits
        return (
            mk.affine_matmul(normal(128, dtype), *parts),
            mk.affine_matmul(normal((3, 128), dtype), *parts),
            mk.affine_dequantize(*parts),
        )

    found: dict[str, Call] = {f"{format} product": lambda f=format: times(f) for format in BLOCKS}
    return found | {f"affine {bits} bits": lambda b=bits: affine(b) for bits in (4, 8)}


def generation(format: str) -> dict[str, Call]:
    """What a Llama runs on weights of one format."""
    rows, columns = 9, odd(format)
    raw = (
        normal((rows, columns), PLAIN[format]).view(np.uint8)
        if format in PLAIN
        else blocks(format, rows, columns)
    )
    x, gain = normal(columns), normal(columns, seed=1)

    def products():
        one, many, added = np.zeros(rows, np.float32), np.zeros((3, rows), np.float32), normal(rows)
        more, inputs = normal((3, rows)), normal((3, columns))
        for name, out in ((f"matvec_{format}_float32", one), (f"matvec_add_{format}", added)):
            kernel("quantized", name)(raw, x, out, rows, columns, threadgroups=2, **SIMDGROUP)
        for name, out in ((f"matmul_{format}_float32", many), (f"matmul_add_{format}", more)):
            kernel("quantized", name)(raw, inputs, out, rows, columns, 3, threadgroups=(5, 1), **SIMDGROUP)
        return one, added, many, more

    def rows_of_a_table():
        out, ids = np.zeros((2, columns), np.float32), np.array([8, 3], np.int32)
        run = kernel("quantized", f"embedding_{format}_float32")
        run(raw, ids, out, columns, threadgroups=(-(-columns // WIDE), 2), **SIMDGROUP)
        return (out, mk.dequantize(raw, format)) if format in BLOCKS else out

    def normed():
        one, two, size = np.zeros(rows, np.float32), np.zeros(rows, np.float32), (rows, columns, 1e-5)
        kernel("decode", f"norm_matvec_{format}")(raw, x, gain, one, *size, threadgroups=2, **SIMDGROUP)
        kernel("decode", f"norm_gate_up_{format}")(raw, raw, x, gain, two, *size, threadgroups=2, **SIMDGROUP)
        return one, two

    return {"product": products, "rows of a table": rows_of_a_table, "norm and product": normed}


def regrouped_products(format: str):
    """Of q4_0 as it is, or with eight blocks together."""
    rows, columns = 9, 512
    raw = blocks("q4_0", rows, columns).reshape(-1)
    raw = raw if format == "q4_0" else regrouped(raw, columns)
    inputs, ids = normal((3, columns)), np.array([8, 3], np.int32)
    many, more, table = np.zeros((3, rows), np.float32), normal((3, rows)), np.zeros((2, columns), np.float32)
    for name, out in ((f"matmul_{format}_float32", many), (f"matmul_add_{format}", more)):
        kernel("quantized", name)(raw, inputs, out, rows, columns, 3, threadgroups=(5, 1), **SIMDGROUP)
    run = kernel("quantized", f"embedding_{format}_float32")
    run(raw, ids, table, columns, threadgroups=(columns // WIDE, 2), **SIMDGROUP)
    return many, more, table


def _gate_up():
    gate = normal(100)
    kernel("decode", "gate_up")(gate, normal(100, seed=1), grid=100, threadgroup=32)
    return gate


def _rotate_and_attend():
    heads, kv_heads, head, context, tokens, position = 4, 2, 10, 40, 3, 5
    shape = {"heads": heads, "kv_heads": kv_heads, "head": head, "context": context, "interleaved": 0}
    place = {"position": position, "count": tokens}
    q, k, v = (
        normal((tokens, heads, head)),
        normal((tokens, kv_heads, head)),
        normal((tokens, kv_heads, head)),
    )
    keys, values = normal((kv_heads, head, context)), normal((kv_heads, head, context), seed=1)
    turns, out = normal((context, head // 2, 2)), np.zeros((tokens, heads, head), np.float32)
    kernel("decode", "rotate")(
        *(q, k, v, keys, values, turns, shape, place),
        grid=(head // 2, heads + kv_heads, tokens),
        threadgroup=(head // 2, 1, 1),
    )
    scores = np.zeros((tokens, heads, context), np.float32)
    kernel("decode", "attend")(
        q, keys, values, scores, out, shape, place, threadgroups=(heads, tokens), **SIMDGROUP
    )
    return q, keys, values, out

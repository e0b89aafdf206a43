"""Copies between types, quantisation and its inverse, rows picked and rows placed, tensors joined."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import (
    DTYPES,
    Quantised,
    block_of,
    data,
    dequantise,
    fields,
    launch,
    ne,
    powers,
    quantise,
    random_tensor,
    values,
)

PLAIN_COPIES = "f32_f32 f32_f16 f32_i32 i32_f32 i32_i32 f32_bf16 f16_f32 f16_f16 bf16_f32 bf16_bf16".split()
QUANTISED = "q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl tq2_0 q1_0 q2_0".split()
COPIED_BACK = "q1_0 q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 tq2_0".split()
BY_ROWS = (
    "q1_0 q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 mxfp4 q2_K q3_K q4_K q5_K q6_K iq2_xxs iq2_xs iq3_xxs iq3_s iq2_s "
    "iq1_s iq1_m iq4_nl iq4_xs tq2_0"
).split()
SET_ROWS = "q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl tq2_0".split()


def _copy_geometry(nk0: int, tensor: Any, plain: bool) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    _, rows, deep, last = ne(tensor)
    threads, per_group = min(nk0 * rows, 256), 1
    if plain and threads > nk0:
        per_group = -(-threads // nk0)
        threads = nk0
        if per_group * threads > 256:
            per_group -= 1
    threads = min(threads, nk0)
    across = -(-nk0 // threads) if per_group == 1 else 1
    return (across * (rows + per_group - 1) // per_group, deep, last), (threads, per_group, 1)


def _copy(rng: np.random.Generator, size: Size, types: str) -> Work:
    """Into another shape of as many elements, from rows with gaps between them."""
    source_type, target_type = types.split("_")
    rows, columns = {"small": (4, 21), "large": (64, 301)}[size]
    whole = (rng.standard_normal((2, 2, rows, columns + 3)) * 50).astype(DTYPES[source_type])
    x = whole[..., :columns]
    out = poisoned((2, rows, 2, columns), DTYPES[target_type])
    groups, threads = _copy_geometry(columns, x, plain=True)
    given = fields(x, dst=out, nk0=columns)
    step = launch("quantize", f"kernel_cpy_{types}", (given, whole, out), groups, threads)
    expected = x.astype(out.dtype).reshape(out.shape)
    return Work((step,), (Output("dst", out, expected),))


def _reference_blocks(type: str, x: Array) -> Array:
    """The blocks a row is quantised to; those gguf cannot make, by what the format says."""
    if type == "q1_0":  # the scale is the mean magnitude, a bit says which sign
        blocks = x.reshape(-1, 128)
        scales = np.abs(blocks).sum(-1, dtype=np.float32, keepdims=True) / np.float32(128)
        bits = np.packbits(blocks >= 0, axis=-1, bitorder="little")
        return _joined(scales, bits, x)
    if type == "q2_0":  # the scale is the largest magnitude; -1, 0 or 1 is stored plus one
        blocks = x.reshape(-1, 64)
        scales = np.abs(blocks).max(-1, keepdims=True)
        numbers = np.clip(_round(blocks * (1 / scales)) + 1, 0, 3).astype(np.uint8).reshape(-1, 16, 4)
        bits = (numbers << np.array([0, 2, 4, 6], np.uint8)).sum(-1, dtype=np.uint8)
        return _joined(scales, bits, x)
    if type == "iq4_nl":
        return _iq4_nl(x)
    return quantise(type, x)


def _round(x: Array) -> Array:
    return np.asarray(np.trunc(x + np.copysign(np.float32(0.5), x)))


def _joined(scales: Array, bits: Array, x: Array) -> Array:
    halves = scales.astype(np.float16).view(np.uint8).reshape(-1, 2)
    return np.concatenate([halves, bits], -1).reshape(*x.shape[:-1], -1)


LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def _iq4_nl(x: Array) -> Array:
    """The nearest of sixteen levels; then the scale that fits best, weighted by the squares."""
    blocks = x.reshape(-1, 32)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
    scaled = blocks * (1 / (largest / LEVELS[0]))
    chosen = np.abs(scaled[..., None] - LEVELS).argmin(-1).astype(np.uint8)
    exact, level = blocks.astype(np.float64), LEVELS[chosen].astype(np.float64)
    fit = (exact**3 * level).sum(-1, keepdims=True) / (exact**2 * level**2).sum(-1, keepdims=True)
    return _joined(fit, chosen[:, :16] | (chosen[:, 16:] << 4), x)


def _outputs(type: str, out: Array, expected: Array) -> tuple[Output, ...]:
    """The blocks must be the same; where the scale is a fitted sum, it may differ by half roundings."""
    if type not in ("iq4_nl", "q1_0"):
        return (Output("blocks", out, expected),)
    _, size = block_of(type)

    def scales(blocks: Array) -> Array:
        return blocks.reshape(-1, size)[:, :2].copy().view(np.float16)

    def levels(blocks: Array) -> Array:
        return blocks.reshape(-1, size)[:, 2:]

    wanted = scales(expected)
    return (
        Output("scales", out, wanted, tolerance(wanted), scales),
        Output("levels", out, levels(expected), look=levels),
    )


def _quantise(rng: np.random.Generator, size: Size, type: str) -> Work:
    elements, _ = block_of(type)
    rows, blocks = {"small": (2, 2), "large": (40, 12)}[size]
    x = random_tensor(rng, "f32", (2, rows, blocks * elements))
    expected = _reference_blocks(type, x)
    out = poisoned(expected.shape, np.uint8)
    groups, threads = _copy_geometry(blocks, x, plain=False)
    target = Quantised(type, out, x)
    given = fields(x, dst=target, nk0=blocks)
    step = launch("quantize", f"kernel_cpy_f32_{type}", (given, x, out), groups, threads)
    return Work((step,), _outputs(type, out, expected))


def _dequantise(rng: np.random.Generator, size: Size, type: str, target: str) -> Work:
    elements, _ = block_of(type)
    rows, blocks = {"small": (3, 2), "large": (40, 12)}[size]
    x = random_tensor(rng, type, (2, rows, blocks * elements))
    out = poisoned(x.values.shape, DTYPES[target])
    groups, threads = _copy_geometry(blocks * elements // 16, x, plain=False)
    given = fields(x, dst=out, nk0=blocks * elements // 16)
    step = launch("quantize", f"kernel_cpy_{type}_{target}", (given, x.bytes, out), groups, threads)
    return Work((step,), (Output("dst", out, values(x), tolerance(out)),))


def _get_rows(rng: np.random.Generator, size: Size, type: str) -> Work:
    rows, columns = {"small": (5, 33), "large": (100, 700)}[size]
    if type not in DTYPES:
        columns = block_of(type)[0] * {"small": 2, "large": 8}[size]
    x = random_tensor(rng, type, (2, 3, rows, columns))
    picked = rng.integers(0, rows, (2, 3, 4), np.int32)
    dtype = np.int32 if type == "i32" else np.float32
    out = poisoned((2, 3, 4, columns), dtype)
    per_row = columns if type in DTYPES else columns // 16
    threads = min(per_row, 1024)
    given = fields(x, picked, out, ne00t=per_row)
    step = launch(
        "quantize",
        f"kernel_get_rows_{type}",
        (given, data(x), picked, out),
        (-(-per_row // threads) * 4, 3, 2),
        (threads, 1, 1),
    )
    numbers = x.values if isinstance(x, Quantised) else x
    expected = np.take_along_axis(numbers, picked[..., None].astype(np.int64), axis=2)
    allowed = 0.0 if type in DTYPES else tolerance(out)
    return Work((step,), (Output("dst", out, expected.astype(dtype), allowed),))


def _set_rows(rng: np.random.Generator, size: Size, source_type: str, index: str, type: str) -> Work:
    """Rows of one tensor go to places in another; the rows between stay as they were."""
    rows, columns = {"small": (3, 33), "large": (50, 700)}[size]
    if type not in DTYPES:
        columns = block_of(type)[0] * {"small": 2, "large": 8}[size]
    x = random_tensor(rng, source_type, (2, 2, rows, columns))
    places = np.stack([rng.permutation(2 * rows)[:rows] for _ in range(2)]).astype(DTYPES[index])
    if type in DTYPES:
        blocks, new = columns, x.astype(DTYPES[type])
        out: Any = poisoned((2, 2, 2 * rows, columns), DTYPES[type])
        target: Any = out
    else:
        blocks, new = columns // block_of(type)[0], _reference_blocks(type, x)
        out = poisoned((2, 2, 2 * rows, new.shape[-1]), np.uint8)
        target = Quantised(type, out, np.broadcast_to(np.float32(0), (2, 2, 2 * rows, columns)))
    expected = out.copy()
    for head in range(2):
        expected[:, head, places[head]] = new[:, head]
    threads, per_group = powers(32, blocks, 1024), 1
    if threads > blocks:
        per_group = -(-threads // blocks)
        threads = blocks
        if per_group * threads > 1024:
            per_group -= 1
    indices = places.reshape(1, 2, rows)
    given = fields(x, indices, target, nk0=blocks)
    step = launch(
        "quantize",
        f"kernel_set_rows_{source_type}_{index}_{type}",
        (given, x, places, out),
        (-(-rows // per_group), 2, 2),
        (threads, per_group, 1),
    )
    if type in DTYPES:
        return Work((step,), (Output("dst", out, expected),))
    return Work((step,), _outputs(type, out, expected))


def _concat(rng: np.random.Generator, size: Size, type: str, dim: int) -> Work:
    rows, columns = {"small": (3, 7), "large": (60, 300)}[size]
    if type not in DTYPES:
        columns = block_of(type)[0] * {"small": 3, "large": 9}[size]
    shape = [2, 2, rows, columns]
    x = random_tensor(rng, type, tuple(shape)) if type != "i8" else rng.integers(-99, 99, shape, np.int8)
    shape[3 - dim] *= 2
    y = random_tensor(rng, type, tuple(shape)) if type != "i8" else rng.integers(-99, 99, shape, np.int8)
    expected = np.concatenate([data(x), data(y)], axis=3 - dim)
    out = poisoned(expected.shape, expected.dtype)
    target: Any = out
    units = [ne(x)[0], ne(y)[0], expected.shape[-1]]
    if type not in DTYPES:
        elements, bytes_per_block = block_of(type)
        units = [units[0] // elements, units[1] // elements, units[2] // bytes_per_block]
        everything = dequantise(type, expected)
        target = Quantised(type, out, everything)
    across, high = units[2], expected.shape[2]
    threads, per_group = min(256, across), 1
    if threads < 256:
        per_group = min(-(-256 // threads), high)
        if per_group * threads > 256:
            per_group = 256 // threads
    given = fields(x, y, target, dim=dim, ne00=units[0], ne10=units[1], ne0=units[2])
    step = launch(
        "quantize",
        f"kernel_concat_{type}",
        (given, data(x), data(y), out),
        (-(-high // per_group), expected.shape[1], expected.shape[0]),
        (threads, per_group, 1),
    )
    return Work((step,), (Output("dst", out, expected),))


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("ggml", family, name, make)

    made = [case("cpy", types.replace("_", " -> "), partial(_copy, types=types)) for types in PLAIN_COPIES]
    made += [case("cpy", f"f32 -> {t}", partial(_quantise, type=t)) for t in QUANTISED]
    made += [
        case("cpy", f"{t} -> {target}", partial(_dequantise, type=t, target=target))
        for t in COPIED_BACK
        for target in ("f32", "f16")
    ]
    made += [case("get_rows", t, partial(_get_rows, type=t)) for t in ("f32", "f16", "bf16", "i32", *BY_ROWS)]
    for source_type, type in (
        ("f32", "f32"),
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f16", "f16"),
        ("bf16", "bf16"),
    ):
        for index in ("i64", "i32"):
            make = partial(_set_rows, source_type=source_type, index=index, type=type)
            made.append(case("set_rows", f"{source_type} -> {type} by {index}", make))
    for n, type in enumerate(SET_ROWS):
        index = ("i64", "i32")[n % 2]
        make = partial(_set_rows, source_type="f32", index=index, type=type)
        made.append(case("set_rows", f"f32 -> {type} by {index}", make))
    for n, type in enumerate(
        ("f32", "f16", "bf16", "i8", "i16", "i32", "i64", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
    ):
        made.append(case("concat", f"{type} along {n % 4}", partial(_concat, type=type, dim=n % 4)))
    return made

"""SIMD-group and quad functions over every type they take; inactive lanes, partial groups, votes."""
# ruff: noqa: E501  a row of a table is one line

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.language.launch import DTYPES, INTEGERS, NUMBERS, memory_of, poisoned, run

THREADS = 45  # one full SIMD-group and one of 13, whose last quad has one lane
LANE = np.arange(THREADS)
SIMD = [LANE[:32], LANE[32:]]
QUADS = [LANE[i : i + 4] for i in range(0, THREADS, 4)]
rng = np.random.default_rng(4)


def values_of(kind: str, high: int = 100) -> Any:
    low = 0 if np.dtype(DTYPES[kind]).kind == "u" or kind == "bool" else -high
    return rng.integers(low, 2 if kind == "bool" else high, THREADS).astype(DTYPES[kind])


def per_thread(expressions: list[str], values: Any, kind: str, result: str = "", setup: str = "") -> Any:
    """What each of 45 threads gets from each expression of `v` (its value) and `l` (its lane)."""
    result = result or kind
    width = int(result[-1]) if result[-1] in "234" else 1
    element = result[:-1] if width > 1 else result
    out = poisoned((len(expressions), THREADS, 4 if width == 3 else width), DTYPES[element])
    stores = "\n".join(f"o[{n * THREADS} + i] = {text};" for n, text in enumerate(expressions))
    body = (
        f"kernel void k(device const {kind}* a, device {result}* o, uint i [[thread_position_in_grid]],"
        f" ushort l [[thread_index_in_simdgroup]]) {{ {kind} v = a[i];\n{setup}\n{stores} }}"
    )
    run(body, memory_of(values), out, grid=THREADS, threadgroup=THREADS)
    return out[:, :, :width].reshape(len(expressions), THREADS, *([width] if width > 1 else []))


def moved(groups: list[Any], source: Callable[[Any, int], Any]) -> Any:
    """For each thread the thread it reads from; its own where that one does not exist."""
    chosen = []
    for group in groups:
        local = np.arange(len(group))
        read = source(local, 32 if groups is SIMD else 4)
        chosen.append(np.where((read >= 0) & (read < len(group)), group[0] + read, group))
    return np.concatenate(chosen)


MOVES: dict[str, Callable[[Any, int], Any]] = {
    "shuffle(v, 2)": lambda lane, width: np.full_like(lane, 2),
    "shuffle_xor(v, 1)": lambda lane, width: lane ^ 1,
    "shuffle_up(v, 1)": lambda lane, width: lane - 1,
    "shuffle_down(v, 2)": lambda lane, width: lane + 2,
    "shuffle_rotate_up(v, 1)": lambda lane, width: (lane - 1) % width,
    "shuffle_rotate_down(v, 1)": lambda lane, width: (lane + 1) % width,
    "broadcast(v, 1)": lambda lane, width: np.full_like(lane, 1),
    "broadcast_first(v)": lambda lane, width: np.zeros_like(lane),
}
WIDER = {
    "simd_shuffle(v, (l * 5 + 3) % 32)": lambda lane, width: (lane * 5 + 3) % 32,
    "simd_shuffle_xor(v, ushort(17))": lambda lane, width: lane ^ 17,
    "simd_shuffle_up(v, 16u)": lambda lane, width: lane - 16,
    "simd_shuffle_down(v, 9)": lambda lane, width: lane + 9,
    "simd_shuffle_rotate_up(v, 20)": lambda lane, width: (lane - 20) % 32,
    "simd_broadcast(v, ushort(31))": lambda lane, width: np.full_like(lane, 31),
}


@pytest.mark.parametrize("kind", ["bool", *NUMBERS])
def test_data_moves_in_every_type(kind: str) -> None:
    values = values_of(kind)
    expected = {f"simd_{text}": moved(SIMD, source) for text, source in MOVES.items()}
    expected |= {f"quad_{text}": moved(QUADS, source) for text, source in MOVES.items()}
    if kind in ("float", "uchar"):
        expected |= {text: moved(SIMD, source) for text, source in WIDER.items()}
    got = per_thread(list(expected), values, kind)
    for row, (text, chosen) in zip(got, expected.items(), strict=True):
        np.testing.assert_array_equal(row, values[chosen], text)


@pytest.mark.parametrize("kind", ["half2", "float2", "float3", "float4", "int4", "uchar4", "long2", "bfloat4", "bool2", "char3"])  # fmt: skip
def test_vectors_move_whole(kind: str) -> None:
    element, width = kind[:-1], int(kind[-1])
    values = values_of(element)
    expressions = ["simd_shuffle_xor(w, 3)", "simd_shuffle_down(w, 1)", "simd_broadcast_first(w)", "quad_shuffle_up(w, 1)"]  # fmt: skip
    chosen = [
        moved(SIMD, lambda lane, width: lane ^ 3),
        moved(SIMD, lambda lane, width: lane + 1),
        moved(SIMD, lambda lane, width: lane * 0),
        moved(QUADS, lambda lane, width: lane - 1),
    ]
    parts = ", ".join(["v", f"{element}(v + {element}(1))", f"{element}(l)", "v"][:width])
    got = per_thread(expressions, values, element, kind, f"{kind} w({parts});")
    with np.errstate(over="ignore"):
        more = (
            (values.astype(np.int64) + 1).astype(bool) if element == "bool" else values + values.dtype.type(1)
        )
    lane = (LANE % 32).astype(bool if element == "bool" else values.dtype)
    whole = np.stack([values, more, lane, values][:width], -1)
    for row, source in zip(got, chosen, strict=True):
        np.testing.assert_array_equal(row, whole[source])


def test_shuffle_and_fill() -> None:
    values = np.arange(100, 132, dtype=np.float32)
    out = poisoned((6, 32), np.float32)
    run(
        """
kernel void k(device const float* a, device float* o, ushort i [[thread_index_in_simdgroup]]) {
  float v = a[i], f = -a[i];
  o[i] = simd_shuffle_and_fill_up(v, f, 3);
  o[32 + i] = simd_shuffle_and_fill_down(v, f, 3);
  o[64 + i] = simd_shuffle_and_fill_up(v, f, 2, 8);
  o[96 + i] = simd_shuffle_and_fill_down(v, f, 2, 8);
  o[128 + i] = quad_shuffle_and_fill_up(v, f, 1);
  o[160 + i] = quad_shuffle_and_fill_down(v, 7, 1);
}""",
        *(values, out),
        grid=32,
        threadgroup=32,
    )
    lane = np.arange(32)

    def fill(delta: int, modulo: int, up: bool) -> Any:
        start = lane // modulo * modulo
        read = lane - delta if up else lane + delta
        inside = (read >= start) & (read < start + modulo)
        wrapped = start + (read - start) % modulo
        return np.where(inside, values[np.clip(read, 0, 31)], -values[wrapped])

    np.testing.assert_array_equal(out[0], fill(3, 32, True))
    np.testing.assert_array_equal(out[1], fill(3, 32, False))
    np.testing.assert_array_equal(out[2], fill(2, 8, True))
    np.testing.assert_array_equal(out[3], fill(2, 8, False))
    np.testing.assert_array_equal(out[4], fill(1, 4, True))
    np.testing.assert_array_equal(out[5], np.where(lane % 4 == 3, 7, values[(lane + 1) % 32]))


def reduced(groups: list[Any], values: Any, fold: Callable[[Any], Any]) -> Any:
    return np.concatenate([np.full(len(g), fold(values[g])) for g in groups])


def scanned(groups: list[Any], values: Any, fold: Callable[[Any], Any], exclusive: bool) -> Any:
    return np.array([fold(values[g[: n + (not exclusive)]]) for g in groups for n in range(len(g))])


def exact(kind: str, fold: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Computed widely, then brought into the type."""
    wide = object if kind in INTEGERS else np.float64

    def apply(values: Any) -> Any:
        result = fold(values.astype(wide))
        if kind in INTEGERS:
            bits = np.iinfo(DTYPES[kind]).bits
            return np.array([int(result) % 2**bits], np.uint64).astype(DTYPES[kind])[0]
        return DTYPES[kind](result)

    return apply


@pytest.mark.parametrize("kind", NUMBERS)
def test_reductions_and_scans_in_every_type(kind: str) -> None:
    values = values_of(kind, 4)
    factors = rng.choice([1, 1, 1, 2, 1], THREADS).astype(DTYPES[kind])
    total, product = exact(kind, np.sum), exact(kind, np.prod)
    sums = {
        "simd_sum(v)": reduced(SIMD, values, total),
        "quad_sum(v)": reduced(QUADS, values, total),
        "simd_min(v)": reduced(SIMD, values, np.min),
        "simd_max(v)": reduced(SIMD, values, np.max),
        "quad_min(v)": reduced(QUADS, values, np.min),
        "quad_max(v)": reduced(QUADS, values, np.max),
        "simd_prefix_inclusive_sum(v)": scanned(SIMD, values, total, False),
        "simd_prefix_exclusive_sum(v)": scanned(SIMD, values, total, True),
        "quad_prefix_inclusive_sum(v)": scanned(QUADS, values, total, False),
        "quad_prefix_exclusive_sum(v)": scanned(QUADS, values, total, True),
    }
    got = per_thread(list(sums), values, kind)
    for row, (text, expected) in zip(got, sums.items(), strict=True):
        np.testing.assert_array_equal(row, expected.astype(row.dtype), text)
    products = {
        "simd_product(v)": reduced(SIMD, factors, product),
        "quad_product(v)": reduced(QUADS, factors, product),
        "simd_prefix_inclusive_product(v)": scanned(SIMD, factors, product, False),
        "simd_prefix_exclusive_product(v)": scanned(SIMD, factors, product, True),
        "quad_prefix_inclusive_product(v)": scanned(QUADS, factors, product, False),
        "quad_prefix_exclusive_product(v)": scanned(QUADS, factors, product, True),
    }
    got = per_thread(list(products), factors, kind)
    for row, (text, expected) in zip(got, products.items(), strict=True):
        np.testing.assert_array_equal(row, expected.astype(row.dtype), text)


@pytest.mark.parametrize("kind", INTEGERS)
def test_bitwise_reductions(kind: str) -> None:
    values = values_of(kind)
    expected = {
        f"{name}_{op}(v)": reduced(groups, values, fold)
        for name, groups in (("simd", SIMD), ("quad", QUADS))
        for op, fold in (("and", np.bitwise_and.reduce), ("or", np.bitwise_or.reduce), ("xor", np.bitwise_xor.reduce))
    }  # fmt: skip
    got = per_thread(list(expected), values, kind)
    for row, (text, wanted) in zip(got, expected.items(), strict=True):
        np.testing.assert_array_equal(row, wanted, text)


@pytest.mark.parametrize("kind", ["float4", "half2", "int3", "uchar4", "bfloat2", "long2"])
def test_reductions_of_vectors(kind: str) -> None:
    element, width = kind[:-1], int(kind[-1])
    values = values_of(element, 4)
    scale = [1, 2, 3, 4][:width]
    parts = ", ".join(f"{element}(v * {element}({s}))" for s in scale)
    got = per_thread(["simd_sum(w)", "simd_max(w)", "quad_sum(w)", "simd_prefix_inclusive_sum(w)"], values, element, kind, f"{kind} w({parts});")  # fmt: skip
    whole = [(values.astype(np.int64) * s).astype(values.dtype) for s in scale]
    total = exact(element, np.sum)
    expected = [
        [reduced(SIMD, w, total) for w in whole],
        [reduced(SIMD, w, np.max) for w in whole],
        [reduced(QUADS, w, total) for w in whole],
        [scanned(SIMD, w, total, False) for w in whole],
    ]
    for row, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(row, np.stack(wanted, -1).astype(row.dtype))


def test_votes() -> None:
    values = values_of("int")
    texts = ["simd_all(v > -101)", "simd_all(v > 0)", "simd_any(v > 90)", "simd_any(v > 200)", "quad_all(v > 0)", "quad_any(v > 0)", "simd_is_first()", "quad_is_first()"]  # fmt: skip
    got = per_thread(texts, values, "int", "bool")
    for row, (groups, fold) in zip(
        got,
        [
            (SIMD, lambda v: True),
            (SIMD, lambda v: (v > 0).all()),
            (SIMD, lambda v: (v > 90).any()),
            (SIMD, lambda v: False),
            (QUADS, lambda v: (v > 0).all()),
            (QUADS, lambda v: (v > 0).any()),
        ],
        strict=False,
    ):
        np.testing.assert_array_equal(row, reduced(groups, values, fold))
    np.testing.assert_array_equal(got[6], LANE % 32 == 0)
    np.testing.assert_array_equal(got[7], LANE % 4 == 0)
    texts = ["ulong(simd_ballot(v > 0))", "(simd_vote::vote_t)simd_ballot(v <= 0)", "ulong(uint(quad_ballot(v > 0)))", "ulong(simd_active_threads_mask())", "popcount(ulong(simd_ballot(v > 0)))", "simd_ballot(v > -200).all()", "simd_ballot(v > 200).none()", "simd_ballot(v > 0).any()"]  # fmt: skip
    got = per_thread(texts, values, "int", "ulong")
    bits = [
        reduced(g, values, lambda v: sum(1 << n for n, x in enumerate(v) if x > 0)) for g in (SIMD, QUADS)
    ]
    np.testing.assert_array_equal(got[0], bits[0])
    np.testing.assert_array_equal(
        got[1], reduced(SIMD, values, lambda v: sum(1 << n for n, x in enumerate(v) if x <= 0))
    )
    np.testing.assert_array_equal(got[2], bits[1])
    np.testing.assert_array_equal(got[3], reduced(SIMD, values, lambda v: (1 << len(v)) - 1))
    np.testing.assert_array_equal(got[4], reduced(SIMD, values, lambda v: (v > 0).sum()))
    np.testing.assert_array_equal(got[6], 1)
    np.testing.assert_array_equal(got[7], reduced(SIMD, values, lambda v: (v > 0).any()))


def test_inactive_lanes_do_not_take_part() -> None:
    values = values_of("int")
    out = poisoned((6, THREADS), np.int64)
    run(
        """
kernel void k(device const int* a, device long* o, uint i [[thread_position_in_grid]],
              ushort l [[thread_index_in_simdgroup]]) {
  int v = a[i];
  if (l % 3 == 1) {
    o[i] = simd_sum(v);
    o[45 + i] = simd_max(v);
    o[90 + i] = long(simd_vote::vote_t(simd_active_threads_mask()));
    o[135 + i] = simd_prefix_exclusive_sum(v);
    o[180 + i] = simd_broadcast_first(v);
    o[225 + i] = simd_is_first() + 2 * simd_all(l % 3 == 1);
  } else {
    o[i] = -1; o[45 + i] = -1; o[90 + i] = -1; o[135 + i] = -1; o[180 + i] = -1; o[225 + i] = -1;
  }
}""",
        *(values, out),
        grid=THREADS,
        threadgroup=THREADS,
    )
    expected = np.full((6, THREADS), -1, np.int64)
    for group in SIMD:
        active = [t for t in group if (t % 32) % 3 == 1]
        chosen = values[active].astype(np.int64)
        expected[0, active] = chosen.sum()
        expected[1, active] = chosen.max()
        expected[2, active] = sum(1 << (t % 32) for t in active)
        expected[3, active] = np.cumsum(chosen) - chosen
        expected[4, active] = chosen[0]
        expected[5, active] = [3, *[2] * (len(active) - 1)]
    np.testing.assert_array_equal(out, expected)


def test_through_memory_references_and_constants() -> None:
    out = poisoned((4, 32), np.float32)
    values = np.arange(32, dtype=np.float32)
    run(
        """
struct Pair { float x; int n; };
kernel void k(device const float* a, device float* o, uint i [[thread_position_in_grid]]) {
  threadgroup float t[32];
  t[i] = a[i];
  o[i] = simd_sum(a[i]);
  o[32 + i] = simd_shuffle(t[i], 31 - i);
  device const float& r = a[i];
  o[64 + i] = metal::simd_max(r) + simd_broadcast(r, 3);
  o[96 + i] = simd_sum(a[i] * 2.0f) + simd_sum(1);
}""",
        *(values, out),
        grid=32,
        threadgroup=32,
    )
    np.testing.assert_array_equal(
        out, [np.full(32, 496), values[::-1], np.full(32, 34), np.full(32, 992 + 32)]
    )


def test_bfloat_sums_round_once() -> None:
    values = (rng.integers(1, 200, THREADS) / 8).astype(ml_dtypes.bfloat16)
    got = per_thread(["simd_sum(v)"], values, "bfloat")[0]
    expected = reduced(SIMD, values.astype(np.float64), np.sum).astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got, expected)

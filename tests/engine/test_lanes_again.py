"""Atomics whose lanes load their own index again, where it is a few instructions away from neighbours in memory."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(0)
COUNT = """kernel void k(device {kind}* a, device atomic_{result}* o, constant uint& w,
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {{
    threadgroup atomic_{result} own[64];
    for (uint b = t; b < 64; b += n) atomic_store_explicit(&own[b], {result}(0), memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {body}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = t; b < 64; b += n)
        atomic_fetch_add_explicit(&o[b], atomic_load_explicit(&own[b], memory_order_relaxed), memory_order_relaxed);
    }}"""
ADD = "atomic_fetch_add_explicit(&own[{index}], {result}({value}), memory_order_relaxed);"
INDICES = {
    "low bits": "a[i] & 63",
    "high bits": "(uint(a[i]) >> 2) & 63",
    "moved": "(uint(a[i]) + w) & 63",
    "signed": "int(a[i]) & 63",
    "from behind": "63 - (uint(a[i]) & 63)",
    "every second": "a[2 * i] & 63",
    "two loads": "(a[i] + a[i + 1]) & 63",
    "of the thread": "(uint(a[i]) + i) & 63",
}


def arrays(kind, result, count=512):
    a = RNG.integers(-128 if kind == np.int8 else 0, 127, 2 * count + 2).astype(kind)
    return [a, np.zeros(64, result), np.uint32([5])]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(
    ("kind", "number"), [("uchar", np.uint8), ("char", np.int8), ("ushort", np.uint16), ("uint", np.uint32)]
)
def test_the_same_counts(index, kind, number):
    for result, value in (("uint", "1"), ("int", "a[i]")):
        body = ADD.format(index=INDICES[index], result=result, value=value)
        text = COUNT.format(kind=kind, result=result, body=body)
        same(
            text,
            arrays(number, np.uint32 if result == "uint" else np.int32),
            512,
            64,
            widths=(0, 16),
            baseline=True,
        )


def test_what_was_stored_meanwhile_is_not_what_was_loaded():
    body = "uint at = a[i] & 63; a[i] = 9; " + ADD.format(index="at", result="uint", value="1")
    same(COUNT.format(kind="uint", result="uint", body=body), arrays(np.uint32, np.uint32), 512, 64)


@pytest.mark.parametrize("count", [1000, 200])
def test_what_lies_outside_is_0_a_second_time(count):
    """A robust guard gives 0 for what is behind the end: it must not be read when it is loaded again."""
    text = COUNT.format(
        kind="uint", result="uint", body=ADD.format(index="a[i] & 63", result="uint", value="1")
    )
    whole = RNG.integers(1, 64, 1024).astype(np.uint32)
    given = [whole[:count], np.zeros(64, np.uint32), np.uint32([5])]
    for width in (0, 16):
        given[1][:] = 0
        program(text, "k", width).run(launch(given, 1024, 64), guard="robust")
        right = np.bincount(whole[:count] & 63, minlength=64)
        right[0] += 1024 - count
        np.testing.assert_array_equal(given[1], right)


def test_an_index_that_was_looked_at_is_the_one_that_is_used():
    """Another thread may have written it meanwhile: without a mask the index of a lane stays in a register."""
    assert "= load i8, ptr %" not in code("a[i]", "uchar", guard=True)


def code(index: str, kind: str = "uint", before: str = "", guard: bool = False) -> str:
    body = before + ADD.format(index=index, result="uint", value="1")
    module = canonical(scalar_ir(COUNT.format(kind=kind, result="uint", body=body), "k")[0])
    return vector_code(module, ((64, 1, 1), False, False, guard, False, None), 0, WIDE).text


SCATTER = """kernel void k(device const {kind}* a, device const int* at, device atomic_{kind}* o,
    uint i [[thread_position_in_grid]]) {{
    atomic_fetch_add_explicit(&o[at[i] & 1023], a[i], memory_order_relaxed); }}"""


@pytest.mark.parametrize("kind", ["float", "int"])
@pytest.mark.parametrize("guard", [True, False, "robust"])
def test_places_that_have_to_be_looked_at(kind, guard):
    """All lanes inside: in order, by themselves. Some outside: those that are left."""
    number = np.float32 if kind == "float" else np.int32
    text, a = SCATTER.format(kind=kind), RNG.integers(-9, 9, 512).astype(number)
    at = RNG.integers(0, 40, 512).astype(np.int32)
    same(text, [a, at, np.zeros(40, number)], 512, 64, guard=guard, baseline=True)
    if guard == "robust":
        at[[3, 77, 300]] = 40, 1000, 500
        o, there = np.zeros(40, number), at < 40
        program(text, "k").run(launch([a, at, o], 512, 64), guard=guard)
        np.testing.assert_array_equal(o, np.bincount(at[there], a[there], 40).astype(number))


def test_who_loads_again():
    assert code("a[i] & 63").count("= load i32, ptr %") >= 64 + code("a[i] * a[i] & 63").count(
        "= load i32, ptr %"
    )
    assert code("a[2 * i] & 63", "uchar").count("= load i8, ptr %") == 64
    assert code("a[i] & 63", "uchar").count("= load i8, ptr %") == 64
    assert "= load i8, ptr %" not in code("at", "uchar", "uchar at = a[i] & 63; a[i] = 9; ")

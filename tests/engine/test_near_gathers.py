"""What lanes look up by indices of 32 bits: narrow elements out of the words around them, memory that starts anywhere,
and what lies before a buffer that is bound with an offset."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.base import Launch
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.backends.specialize import FAR
from metalloid.errors import KernelFault
from tests.engine.both import HEADER, WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(11)
TEXT = """kernel void k(device const {t}* a, device const {i}* at, device {t}* out,
                 uint i [[thread_position_in_grid]]) {{
    out[i] = a[at[i]]; }}"""
TYPES = {
    "uchar": np.uint8, "char": np.int8, "short": np.int16, "half": np.float16, "float": np.float32,
    "float2": np.float32, "float4": np.float32, "half4": np.float16, "ulong": np.uint64, "packed_float3": np.float32,
}  # fmt: skip
PARTS = {"float2": 2, "float4": 4, "half4": 4, "packed_float3": 3}


def memory(kind: str, count: int) -> np.ndarray:
    shape = (count, PARTS[kind]) if kind in PARTS else (count,)
    return RNG.integers(0, 100, shape).astype(TYPES[kind])


@pytest.mark.parametrize("index", ["int", "uint", "uchar", "short", "long"])
@pytest.mark.parametrize("kind", TYPES)
def test_all_types(kind: str, index: str) -> None:
    kinds = {"int": np.int32, "uint": np.uint32, "uchar": np.uint8, "short": np.int16, "long": np.int64}
    a, at = memory(kind, 211), RNG.integers(0, 211, 150).astype(kinds[index])
    same(TEXT.format(t=kind, i=index), [a, at, memory(kind, 150)], 150, 64, widths=(0, 32), baseline=True)


@pytest.mark.parametrize("kind", ["uchar", "half", "float", "float2"])
@pytest.mark.parametrize("first", [0, 1, 2, 3, 5])
def test_memory_that_starts_anywhere(kind: str, first: int) -> None:
    """Elements keep the alignment of their type."""
    a = memory(kind, 300)[first:]
    at = RNG.integers(0, len(a), 100).astype(np.int32)
    same(TEXT.format(t=kind, i="int"), [a, at, memory(kind, 100)], 100, 50)


@pytest.mark.parametrize("kind", ["uchar", "half", "float", "float2"])
@pytest.mark.parametrize("first", [1, 2, 3, 100, 1001])
def test_before_a_buffer_with_an_offset(kind: str, first: int) -> None:
    device = mt.device("cpu")
    kernel, a = device.library(HEADER + TEXT.format(t=kind, i="int"))["k"], memory(kind, 1300)
    at = RNG.integers(-first, 1300 - first, 500).astype(np.int32)
    for own in (False, True):
        out = np.zeros_like(a[:500])
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.set_pipeline(kernel)
            encoder.set_buffer(device.buffer(a) if own else a, offset=first * a[0].nbytes, index=0)
            encoder.set_buffer(at, index=1)
            encoder.set_buffer(out, index=2)
            encoder.dispatch_threads(500, 64)
        commands.commit()
        commands.wait_until_completed()
        np.testing.assert_array_equal(out, a[at + first])


@pytest.mark.parametrize("kind", ["uchar", "half", "float", "float2"])
@pytest.mark.parametrize("wrong", [-1, -5, 211, 212, 2**31 - 1, -(2**31), 2**30, -(2**30)])
def test_one_lane_outside_is_told(kind: str, wrong: int) -> None:
    """2^30 floats are 2^32 bytes: of 32 bits nothing is left."""
    at = RNG.integers(0, 211, 150).astype(np.int32)
    at[77] = wrong
    with pytest.raises(KernelFault) as caught:
        program(TEXT.format(t=kind, i="int"), "k").run(
            launch([memory(kind, 211), at, memory(kind, 150)], 150, 64)
        )
    assert (caught.value.finding.rule, caught.value.finding.thread[0]) == ("M101", 77)


def test_registers_have_sixteen_indices() -> None:
    code = vector_stage(scalar_ir(TEXT.format(t="uchar", i="uchar"), "k")[0], (64, 1, 1), WIDE)
    assert "zext nneg <64 x i32>" in code and "inttoptr <64 x i64>" not in code


@pytest.mark.parametrize("below", [0, 4096, 3 << 30, FAR - 4096 - 64, FAR, (4 << 30) + 4096, 5 << 30])
def test_however_much_lies_before_a_buffer(below: int) -> None:
    """Code for memory of less than 4 GiB counts from the first byte that may be read; memory farther from the buffer is
    outside."""
    memory = np.zeros((5 << 30) + 4096, np.uint8)  # what is not touched takes no memory
    a = memory[5 << 30 :].view(np.float32)
    a[:] = np.arange(1024)
    at, out = RNG.integers(0, 1024, 6400).astype(np.int32), np.zeros(6400, np.float32)
    made = program(TEXT.format(t="float", i="int"), "k")
    given = {0: a, 1: at, 2: out}
    for _ in range(3):
        out[:] = -1
        made.run(Launch((6400, 1, 1), (64, 1, 1), given, {}, kernel="k", below={0: below} if below else {}))
        np.testing.assert_array_equal(out, a[at])
    at[5000] = -(below // 4) - 1
    if below <= 4 << 30:  # an index of 32 bits does not lead farther
        with pytest.raises(KernelFault):
            made.run(
                Launch((6400, 1, 1), (64, 1, 1), given, {}, kernel="k", below={0: below} if below else {})
            )

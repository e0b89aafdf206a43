"""Vectors of threads whose parts all go the same way stay as they lie in memory."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.analysis.highest import highest
from metalloid.analysis.word_parts import word_parts
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.ir import read
from metalloid.ir.types import IntType
from metalloid.ir.values import Local
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

RNG = np.random.default_rng(3)
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
HEAD = "kernel void k(device const {T}* a, device {T}* b, device const float* s, constant {T}& c, constant uint& n, uint i [[thread_position_in_grid]])"
# The type of a vector, and what is stored.
BODIES = {
    "copy": ("float4", "b[i] = a[i];"),
    "neighbours": ("half4", "if (i == 0 || i >= n - 1) return; b[i] = half(0.25) * (a[i - 1] + a[i + 1]) + half(0.5) * a[i];"),
    "pairs": ("float2", "b[i] = fma(a[i], a[i], c) - 1.5f;"),
    "a number of each thread": ("float4", "b[i] = a[i] * s[i] + c;"),
    "numbers of each part": ("float4", "b[i] = a[i] * float4(2, 3, 4, 5) + float4(0.5, 0.25, 3, 1);"),
    "a test": ("int4", "b[i] = max(a[i], c) + select(a[i], int4(7), a[i] > 3);"),
    "bytes": ("uchar4", "if (i == 0 || i >= n - 1) return; b[i] = uchar4((ushort4(a[i - 1]) + ushort4(a[i]) + ushort4(a[i + 1])) / ushort(3));"),
    "cut bytes": ("uchar4", "b[i] = uchar4(int4(a[i]) * 77 + int4(c));"),
    "packed": ("packed_float3", "b[i] = packed_float3(float3(a[i]) * 2.0f + 1.0f);"),
    "in place": ("float4", "b[i] = b[i] * 0.5f + a[i];"),
    "used twice": ("float4", "float4 x = a[i]; b[i] = x * dot(x, x);"),
    "turned": ("float4", "b[i] = a[i].wzyx + a[i];"),
    "words": ("ushort2", "b[i] = a[i] + c;"),
}  # fmt: skip
DTYPES = {"float": np.float32, "half": np.float16, "int": np.int32, "uchar": np.uint8, "ushort": np.uint16}


def text(name: str) -> str:
    kind, body = BODIES[name]
    return f"{HEAD.replace('{T}', kind)} {{ {body} }}"


def arrays(name: str, n: int) -> list[np.ndarray]:
    kind = BODIES[name][0].removeprefix("packed_")
    dtype, parts = DTYPES[kind[:-1]], int(kind[-1])

    def made(*shape: int) -> np.ndarray:
        if np.issubdtype(dtype, np.integer):
            return RNG.integers(0, 200, shape).astype(dtype)
        return RNG.uniform(-1, 1, shape).astype(dtype)

    s = RNG.uniform(-1, 1, n).astype(np.float32)
    return [made(n, parts), made(n, parts), s, made(parts), np.array([n], np.uint32)]


@pytest.mark.parametrize("name", BODIES)
def test_as_the_oracle(name: str) -> None:
    for n, group in ((130, 64), (77, 40)):
        given = arrays(name, n)
        for guard in (False, True):
            same(
                text(name),
                given,
                n,
                group,
                widths=(0, 8),
                guard=guard,
                tolerance=2e-3 if name == "neighbours" else 1e-6,
            )


@pytest.mark.parametrize("target", [WIDE, ARM], ids=["AVX-512", "NEON"])
@pytest.mark.parametrize(
    "name", ["copy", "pairs", "numbers of each part", "a test", "cut bytes", "packed", "in place"]
)
def test_nothing_is_taken_apart(name: str, target: codegen.Target) -> None:
    module = canonical(scalar_ir(text(name), "k")[0])
    code = vector_code(module, ((64, 1, 1), False, False, False, False, None), 0, target).text
    parts = int(BODIES[name][0][-1])
    moved = [line for line in code.splitlines() if " = shufflevector " in line and "%" in line]
    # What is left spreads numbers that all threads share.
    assert all(f"<{parts} x " in line or "i32> zeroinitializer" in line for line in moved), moved


def test_bytes_of_rows_whose_edges_have_no_thread_use_masks() -> None:
    module = canonical(scalar_ir(text("bytes"), "k")[0])
    code = vector_code(module, ((64, 1, 1), False, False, False, False, None), 0, WIDE).text
    assert "masked.load.v64i32" in code and "masked.gather" not in code


WORD = """define void @f(ptr %p, i16 %a, i8 %b, i16 %raw) {
entry:
  %low = and i16 %raw, 255
  %x = zext i16 LOW to i32
  %y = zext i8 %b to i32
  %up = shl i32 %y, PLACE
  %word = or i32 %up, %x
  store i32 %word, ptr %p
  ret void
}
"""


@pytest.mark.parametrize("low", ["%low", "%raw"])
@pytest.mark.parametrize("place", [8, 16])
def test_what_is_no_vector_of_equal_parts_is_a_word(low: str, place: int) -> None:
    function = read(WORD.replace("LOW", low).replace("PLACE", str(place))).function["f"]
    assert word_parts(function, Local("word", IntType(32)), "entry") is None


def test_parts_of_a_word() -> None:
    two = WORD.replace("zext i16 LOW to i32", "zext i16 %low to i32").replace("PLACE", "16")
    two = two.replace("zext i8 %b to i32", "zext i16 %a to i32")
    function = read(two).function["f"]
    found = word_parts(function, Local("word", IntType(32)), "entry")
    assert found is not None and found.bits == 16 and [str(v.type) for v in found.values] == ["i16", "i16"]
    assert highest(function, Local("low", IntType(16))) == 255
    assert highest(function, Local("word", IntType(32))) is None

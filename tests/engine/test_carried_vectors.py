"""Vectors that loops carry stay as they lie in memory, and are taken apart where a loop ends."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

RNG = np.random.default_rng(5)
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
HEAD = "kernel void k(device const {T}* a, device const {X}* x, device {O}* out, constant uint& n, constant uint& rows, uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])"
SIMD = "uint row = i / 32; if (row >= rows) return; "
COLUMN = "if (i >= n) return; "
# The types of what is read and written, and what is done.
BODIES = {
    "a sum of products": ("float4", "float4", "float4", SIMD + "float4 s = float4(1, 2, 3, 4); for (uint k = lane; k < n; k += 32) s += a[row * n + k] * x[k]; out[i] = s + simd_max(s);"),
    "halves into floats": ("half4", "float4", "float4", SIMD + "float4 s = 0; for (uint k = lane; k < n; k += 32) s += float4(a[row * n + k]) * x[k]; out[i] = s + simd_max(s);"),
    "pairs": ("float2", "float2", "float2", COLUMN + "float2 s = x[i]; for (uint r = 0; r < rows; r++) s = fma(a[r * n + i], a[r * n + i], s); out[i] = s;"),
    "rounds of their own": ("float4", "float4", "float4", COLUMN + "float4 s = x[i]; for (uint r = 0; r < rows + (i & 3); r++) s = s * 0.5f + a[min(r, rows - 1) * n + i]; out[i] = s;"),
    "left early": ("float4", "float4", "float4", COLUMN + "float4 s = 0; uint r = 0; for (; r < rows; r++) { s = max(s, a[r * n + i]); if (r > (i & 7)) break; } out[i] = s + r;"),
    "asked for in the loop": ("float4", "float4", "float4", COLUMN + "float4 s = 0; for (uint r = 0; r < rows; r++) { s += a[r * n + i]; if (s.y > 1.5f) break; } out[i] = s;"),
    "two at once": ("int4", "int4", "int4", COLUMN + "int4 s = x[i], m = -1000; for (uint r = 0; r < rows; r++) { int4 v = a[r * n + i]; s += v * v; m = max(m, v); } out[i] = s ^ m;"),
    "one inside the other": ("float4", "float4", "float4", COLUMN + "float4 s = 0; for (uint r = 0; r < rows; r++) { float4 t = 0; for (uint q = 0; q <= r % 3; q++) t += a[r * n + i] * float(q + 1); s = s * 0.25f + t; } out[i] = s;"),
    "a number of each thread": ("float4", "float", "float4", COLUMN + "float4 s = 0; float w = x[i]; for (uint r = 0; r < rows; r++) s += a[r * n + i] * w; out[i] = s;"),
    "from before the loop": ("float4", "float4", "float4", COLUMN + "float4 c = x[i].wxyz, s = c; for (uint r = 0; r < rows; r++) s = s * c + a[r * n + i]; out[i] = s;"),
    "turned": ("float4", "float4", "float4", COLUMN + "float4 s = 0; for (uint r = 0; r < rows; r++) s = s.yzwx + a[r * n + i]; out[i] = s;"),
    "one side of a branch": ("float4", "float4", "float4", "float4 s = 0; if (i < n) s = a[i] * x[i]; float t = simd_max(s.x + s.z); if (i < n) out[i] = s + t;"),
    "threes": ("packed_float3", "packed_float3", "packed_float3", COLUMN + "float3 s = float3(x[i]); for (uint r = 0; r < rows; r++) s += float3(a[r * n + i]); out[i] = packed_float3(s);"),
}  # fmt: skip
DTYPES = {"float": np.float32, "half": np.float16, "int": np.int32}


def text(name: str) -> str:
    a, x, out, body = BODIES[name]
    return f"{HEAD.replace('{T}', a).replace('{X}', x).replace('{O}', out)} {{ {body} }}"


def filled(kind: str, *shape: int) -> np.ndarray:
    kind = kind.removeprefix("packed_")
    dtype = DTYPES[kind.rstrip("234")]
    parts = (int(kind[-1]),) if kind[-1].isdigit() else ()
    if dtype == np.int32:
        return RNG.integers(-50, 50, (*shape, *parts)).astype(dtype)
    return RNG.uniform(-1, 1, (*shape, *parts)).astype(dtype)


def widths(source: str) -> tuple[int, ...]:
    """Lanes: the engine's own choice, and few where no operation wants a SIMD-group."""
    return (0,) if "simd_" in source.split("{", 1)[1] else (0, 8)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("n", "rows", "group"), [(77, 5, 40), (32, 1, 64), (130, 9, 96), (1, 2, 32)])
def test_as_the_oracle(name: str, n: int, rows: int, group: int) -> None:
    a, x, out, body = BODIES[name]
    threads = rows * 32 if body.startswith(SIMD) else -(-n // 32) * 32
    given = [filled(a, rows * n), filled(x, n), filled(out, max(threads, n))]
    given[2][...] = 7
    numbers = [np.array([n], np.uint32), np.array([rows], np.uint32)]
    for guard in (False, True):
        same(
            text(name), given + numbers, threads, group, widths=widths(text(name)), guard=guard, baseline=True
        )


def code_of(source: str, target: codegen.Target, math: str = "safe") -> str:
    """Of 640 threads, for which accesses are proved."""
    module = canonical(scalar_ir(source, "k", math)[0])
    lengths = dict.fromkeys(range(3), 1 << 20) | {3: 4, 4: 4}
    numbers = {3: np.uint32([512]).tobytes(), 4: np.uint32([20]).tobytes()}
    facts = Facts((640, 1, 1), (64, 1, 1), (10, 1, 1), lengths, {}, numbers)
    proof = Prover(module).prove(facts)
    return vector_code(module, ((64, 1, 1), False, False, False, False, proof), 0, target).text


@pytest.mark.parametrize("target", [WIDE, ARM], ids=["AVX-512", "NEON"])
@pytest.mark.parametrize(
    "name", ["a sum of products", "halves into floats", "pairs", "two at once", "threes"]
)
def test_no_round_takes_vectors_apart(name: str, target: codegen.Target) -> None:
    if (name, target) == ("two at once", ARM):
        pytest.skip("there a lane runs alone: a vector of four fills its registers")
    code = code_of(text(name), target)
    assert "carried" in code
    # The copy of the loop that all lanes run: from its label to the end of its round.
    lines = code.splitlines()
    carried = next(n for n, line in enumerate(lines) if " = load " in line and "%carried" in line)
    start = next(n for n in range(carried, 0, -1) if lines[n].endswith(".w:"))
    end = next(n for n in range(carried, len(lines)) if lines[n].lstrip().startswith("br i1"))
    moved = [
        line for line in lines[start:end] if " = shufflevector " in line and "zeroinitializer" not in line
    ]
    assert not moved, moved
    assert any(" = load <" in line for line in lines[start:end])


@pytest.mark.parametrize("name", ["turned", "asked for in the loop"])
def test_what_is_wanted_part_by_part_is_not_carried(name: str) -> None:
    assert "carried" not in code_of(text(name), WIDE)

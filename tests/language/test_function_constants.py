"""Function constants: given by name and index, undefined, derived, as conditions of arguments."""

from typing import Any

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import build, poisoned, run

BODY = """
constant bool flag [[function_constant(0)]];
constant int whole [[ function_constant(1) ]];
constant uint natural [[function_constant(2)]];
constant float real [[function_constant(3)]];
constant half small [[function_constant(4)]];
constant float4 vector [[function_constant(5)]];
constant short shorts [[function_constant(6)]];
constant uchar byte [[function_constant(7)]];
constant int2 pair [[function_constant(8)]];
constant bfloat brain [[function_constant(9)]];
constant ulong wide [[function_constant(10)]];
constant bool bools [[function_constant(11)]];
constant int derived = whole * 2 + 1;
constant bool both = flag && bools;
constant int chosen = is_function_constant_defined(whole) ? whole : 77;
constant bool has_real = is_function_constant_defined(real);
kernel void k(device float* o, device int* p) {
  p[0] = pair.x + pair.y;
  o[0] = flag ? 1 : 2;
  o[1] = whole;
  o[2] = natural;
  o[3] = real;
  o[4] = small;
  o[5] = vector.x + vector.w * 10;
  o[6] = shorts;
  o[7] = byte;
  o[8] = pair.y;
  o[9] = float(brain);
  o[10] = float(wide >> 32);
  o[11] = derived;
  o[12] = both ? 5 : 6;
  o[13] = chosen;
  o[14] = has_real ? 1 : 0;
  o[15] = is_function_constant_defined(bools) ? 3 : 4;
}
"""
VALUES: dict[str, Any] = {
    "flag": True, "whole": -5, "natural": 4_000_000, "real": 0.1, "small": 0.1, "vector": (1, 2, 3, 4), "shorts": -300,
    "byte": 200, "pair": (-16777217, 8), "brain": 1.5, "wide": 7 << 32, "bools": True,
}  # fmt: skip
EXPECTED = [1, -5, 4_000_000, np.float32(0.1), np.float16(0.1), 41, -300, 200, 8, 1.5, 7, -9, 5, -5, 1, 3]


@pytest.mark.parametrize("by", ["name", "index", "both"])
def test_values(by: str) -> None:
    constants = {
        index if by == "index" or (by == "both" and index % 2) else name: value
        for index, (name, value) in enumerate(VALUES.items())
    }
    out, exact = poisoned(16, np.float32), poisoned(1)
    built = run(BODY, out, exact, constants=constants)
    assert exact[0] == -16777209
    np.testing.assert_array_equal(out, np.array(EXPECTED, np.float32))
    assert built.signature.undefined_constants == ()


@pytest.mark.parametrize("value", [np.float32(0.1), np.int32(3), np.bool_(True)])
def test_numpy_scalars_as_values(value: Any) -> None:
    body = "constant float c [[function_constant(0)]];\nkernel void k(device float* o) { o[0] = c; }"
    out = poisoned(1, np.float32)
    run(body, out, constants={"c": value})
    assert out[0] == np.float32(value)


def test_another_value_is_another_kernel() -> None:
    body = "constant int n [[function_constant(0)]];\nkernel void k(device int* o) { o[0] = n; }"
    for value in (3, 4, -1):
        out = poisoned(1)
        run(body, out, constants={0: value})
        assert out[0] == value


def test_undefined_constants_are_named() -> None:
    built = build(BODY, constants={"flag": False, "real": float("inf")})
    assert set(built.signature.undefined_constants) == set(VALUES) - {"flag", "real", "whole", "bools"}


def test_an_unknown_constant_is_refused() -> None:
    with pytest.raises(CompileError, match=r"no function constant 'flog'.*flag"):
        build(BODY, constants={"flog": True})


CONDITIONAL = """
constant bool use_bias [[function_constant(0)]];
constant bool use_two [[function_constant(1)]];
constant bool two = use_two && use_bias;
kernel void k(device float* o [[buffer(0)]],
              device const float* bias [[buffer(1), function_constant(use_bias)]],
              constant float& scale [[buffer(2)]] [[function_constant(two)]],
              device const half* other [[function_constant(use_two), buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  float v = i;
  if (use_bias) v += bias[i];
  if (two) v *= scale;
  o[i] = v;
}
"""


@pytest.mark.parametrize(("use_bias", "use_two"), [(True, True), (True, False), (False, False)])
def test_conditional_arguments(use_bias: bool, use_two: bool) -> None:
    body = CONDITIONAL.replace("device const half* other [[function_constant(use_two), buffer(1)]],\n", "")
    out = poisoned(5, np.float32)
    bias, scale = np.arange(5, dtype=np.float32) * 10, np.array([3], np.float32)
    bound = {0: out} | ({1: bias} if use_bias else {}) | ({2: scale} if use_bias and use_two else {})
    built = run(body, bound, grid=5, threadgroup=2, constants={"use_bias": use_bias, 1: use_two})
    i = np.arange(5)
    np.testing.assert_array_equal(out, (i + (bias if use_bias else 0)) * (3 if use_bias and use_two else 1))
    present = {p.name: p.present for p in built.signature.parameters}
    assert present == {"o": True, "bias": use_bias, "scale": use_bias and use_two, "i": True}
    assert [p.name for p in built.signature.buffers] == [n for n, p in present.items() if p and n != "i"]


def test_two_arguments_may_share_an_index_by_condition() -> None:
    body = """
constant bool wide [[function_constant(0)]];
constant bool narrow = !wide;
kernel void k(device float* o, device const float* a [[buffer(1), function_constant(wide)]],
              device const half* b [[buffer(1), function_constant(narrow)]], uint i [[thread_position_in_grid]]) {
  if (wide) o[i] = a[i] * 2; else o[i] = float(b[i]) * 3;
}"""
    values = np.arange(5)
    for wide, dtype, factor in [(True, np.float32, 2), (False, np.float16, 3)]:
        out = poisoned(5, np.float32)
        run(body, out, values.astype(dtype), grid=5, threadgroup=5, constants={"wide": wide})
        np.testing.assert_array_equal(out, values * factor)


def test_in_conditions_loops_and_templates() -> None:
    body = """
constant uint tile [[function_constant(0)]];
constant bool quick [[function_constant(1)]];
template <typename T> T twice(T x) { return quick ? x + x : x * T(3); }
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[64];
  int own[16];
  for (uint j = 0; j < tile; j++) own[j] = j * i;
  int sum = 0;
  for (uint j = 0; j < tile; ++j) sum += own[j];
  shared[i] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  switch (tile) { case 4: sum += 1000; break; default: break; }
  o[i] = twice(shared[4 - i]) + sum;
}"""
    for tile, quick in [(4, True), (7, False)]:
        out = poisoned(5)
        run(body, out, grid=5, threadgroup=5, constants={"tile": tile, "quick": quick})
        sums = np.arange(5) * (tile * (tile - 1) // 2)
        np.testing.assert_array_equal(out, sums[::-1] * (2 if quick else 3) + sums + 1000 * (tile == 4))


def test_as_the_size_of_an_array() -> None:
    body = """
constant int size [[function_constant(0)]];
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[size];
  shared[i] = i * 10;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = shared[size - 1 - i];
}"""
    out = poisoned(6)
    built = run(body, out, grid=6, threadgroup=6, constants={"size": 6})
    np.testing.assert_array_equal(out, np.arange(6)[::-1] * 10)
    assert built.signature.threadgroup_memory == 32


def test_in_a_namespace_and_by_constant_index() -> None:
    body = """
enum Index { ScaleIndex = 12 };
constexpr constant int other_index = 13;
namespace settings { constant float scale [[function_constant(ScaleIndex)]]; }
static constant int shift [[function_constant(other_index)]];
kernel void k(device float* o) { o[0] = settings::scale + shift; }"""
    out = poisoned(1, np.float32)
    run(body, out, constants={"scale": 2.5, "shift": 4})
    assert out[0] == 6.5

"""Calls as people write them: mixed scalars, scalars beside vectors, packed vectors, bfloat, enums."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.source import MathMode
from tests.math.scalar_jit import Kernel, build, compile_text

# What the call computes in: the value is tested below, the type here.
TYPES = {
    "max(h, 0.0f)": "float",
    "max(h, h)": "half",
    "max(h, 0)": "half",
    "max(bf, bf)": "bfloat",
    "max(bf, 0.0f)": "float",
    "max(bf, h)": "float",
    "max(i, u)": "uint",
    "min(i, 3)": "int",
    "min(us, 5)": "int",
    "min(us, us)": "ushort",
    "min(l, i)": "long",
    "max(f, i)": "float",
    "exp(i)": "float",
    "exp(h)": "half",
    "exp(bf)": "bfloat",
    "exp(e)": "float",
    "sqrt(u)": "float",
    "pow(h, 2.0f)": "float",
    "pow(h, 2)": "half",
    "pow(2.0f, i)": "float",
    "pow(f4, 2.0f)": "float4",
    "clamp(u, 0, 7)": "uint",
    "clamp(us, 0, 7)": "int",
    "clamp(h, 0.0f, 1.0f)": "float",
    "clamp(h4, 0.0f, 1.0f)": "half4",
    "clamp(f4, 0.0f, 1.0f)": "float4",
    "clamp(i4, 0, 7)": "int4",
    "clamp(f4, f4, f4)": "float4",
    "abs(i)": "int",
    "abs(e)": "int",
    "max(e, e)": "int",
    "clamp(e, e, e)": "int",
    "max(e, 2u)": "uint",
    "abs(h)": "half",
    "abs(bf)": "bfloat",
    "abs(pf3)": "float3",
    "absdiff(i, i)": "uint",
    "absdiff(i4, i4)": "uint4",
    "max(f4, 0)": "float4",
    "max(0.0f, f4)": "float4",
    "max(pf3, f3)": "float3",
    "mix(f4, f4, 0.5f)": "float4",
    "mix(h, h, 0.5f)": "float",
    "mix(h4, h4, 0.5h)": "half4",
    "step(0.5f, f4)": "float4",
    "smoothstep(0.0f, 1.0f, f4)": "float4",
    "fma(f4, f4, f4)": "float4",
    "fma(h, h, h)": "half",
    "ldexp(f4, i4)": "float4",
    "ldexp(h, 3)": "half",
    "ilogb(f4)": "int4",
    "sincos(f4, f4)": "float4",
    "isnan(h)": "bool",
    "isnan(bf)": "bool",
    "isnan(f4)": "bool4",
    "select(f4, f4, b4)": "float4",
    "select(f4, 0.0f, b4)": "float4",
    "select(i4, i4, i4)": "int4",
    "select(f, 0.0f, b)": "float",
    "select(h4, h4, b)": "half4",
    "any(b4)": "bool",
    "all(f4 == f4)": "bool",
    "popcount(u)": "uint",
    "rotate(u, 3)": "uint",
    "extract_bits(i4, 1, 2)": "int4",
    "dot(h4, h4)": "half",
    "dot(f3, pf3)": "float",
    "length(pf3)": "float",
    "normalize(f3)": "float3",
    "cross(f3, f3)": "float3",
    "distance(f3, pf3)": "float",
    "reflect(f3, f3)": "float3",
    "refract(h3, h3, 0.5h)": "half3",
    "precise::exp(f4)": "float4",
    "fast::exp(h)": "float",
    "precise::exp(h)": "float",
    "precise::exp(bf)": "float",
    "precise::exp(i)": "float",
    "fast::fma(h, h, h)": "float",
    "fast::max(h, h)": "float",
    "precise::abs(h)": "float",
    "precise::ldexp(h, 3)": "float",
    "precise::sincos(f, f)": "float",
    "precise::ilogb(h)": "int",
    "fast::pow(h, 2)": "float",
    "fast::clamp(f4, 0, 1)": "float4",
    "fast::pow(f, 2)": "float",
    "fast::normalize(f3)": "float3",
    "precise::length(f3)": "float",
    "fast::max(f, 0)": "float",
}
VARIABLES = """
enum Number { one = 1 };
[[clang::sycl_external]] void types(
    half h, bfloat bf, float f, int i, uint u, ushort us, long l, Number e, bool b,
    float4 f4, half4 h4, half3 h3, int4 i4, bool4 b4, float3 f3, packed_float3 pf3) {
"""


@pytest.mark.parametrize("mode", ["safe", "relaxed", "fast"])
def test_types_of_mixed_calls(mode: MathMode) -> None:
    checks = "".join(
        f'  static_assert(is_same_v<decltype({call}), {kind}>, "{call}");\n'.replace("0.5h", "half(0.5f)")
        for call, kind in TYPES.items()
    )
    compile_text(VARIABLES + checks + "}\n", mode)


@pytest.mark.parametrize(
    "call",
    [
        "max(f4, i4)",
        "exp(i4)",
        "pow(i4, i4)",
        "popcount(f)",
        "dot(f, f)",
        "clz(f4)",
        "length(i4)",
        "cross(f4, f4)",
        "nextafter(i4, i4)",
    ],
)
def test_what_metal_does_not_have_is_refused(call: str) -> None:
    with pytest.raises(ValueError, match="no matching function"):
        compile_text(VARIABLES + call + "; }\n", "safe")


def test_a_users_own_functions_win() -> None:
    """Own overloads of metal's names for own types, for bfloat inside namespace metal, and as templates."""
    compile_text(
        """
        namespace metal {
        bfloat exp(bfloat x) { return x; }
        namespace fast { bfloat exp(bfloat x) { return x; } }
        }
        struct complex { float re, im; };
        complex exp(complex z) { return z; }
        float dot(float x, float y) { return x * y; }
        template <class T> T sign(T x) { return x; }
        [[clang::sycl_external]] void use(device float* d, bfloat b, complex z, float4 v) {
          d[0] = float(exp(b)) + float(metal::exp(b)) + exp(z).re + dot(d[0], d[1]) + dot(v, v);
          d[1] = exp(d[2]) + sign(d[3]) + metal::max(d[4], 0.0f);
        }
        """,
        "safe",
    )


def test_arguments_in_any_address_space() -> None:
    ir = compile_text(
        """
        [[clang::sycl_external]] void use(
            device float4* d, constant half4* c, threadgroup float* t, device packed_float3* p) {
          d[0] = exp(d[1]) + max(d[2], 0.0f) + float4(max(c[0], c[1]));
          d[3].x = max(t[0], t[1]) + length(p[0]) + dot(p[1], p[2]) + dot(d[4], d[5]);
          d[6] = select(d[7], d[8], d[9] < d[10]);
        }
        """,
        "safe",
    )
    assert "addrspacecast" not in ir
    assert "alloca" not in ir


def test_values_of_mixed_calls() -> None:
    module = build(
        [
            Kernel("half_float", ("float", "half", "float"), "max(a, b)"),
            Kernel("int_uint", ("uint", "int", "uint"), "min(a, b)"),
            Kernel("exp_int", ("float", "int"), "exp(a)"),
            Kernel("clamp_uint", ("uint", "uint"), "clamp(a, 2, 7)"),
            Kernel("pow_int", ("float", "float", "int"), "pow(a, b)"),
        ],
        "safe",
    )
    h = np.array([1.0, -2.0, 0.1], np.float16)
    f = np.array([0.3, -1.99999, 0.1], np.float32)
    assert (
        module("half_float", h, f, dtype="float32").tolist() == np.maximum(h.astype(np.float32), f).tolist()
    )
    i, u = np.array([-1, 4], np.int32), np.array([3, 5], np.uint32)
    assert module("int_uint", i, u, dtype="uint32").tolist() == [3, 4]
    assert module("clamp_uint", np.array([0, 5, 9], np.uint32), dtype="uint32").tolist() == [2, 5, 7]
    np.testing.assert_allclose(module("exp_int", i, dtype="float32"), np.exp([-1.0, 4.0]), rtol=1e-6)
    power = module("pow_int", np.array([3.0, -2.0], np.float32), np.array([4, 3], np.int32), dtype="float32")
    np.testing.assert_allclose(power, [81.0, -8.0], rtol=1e-6)

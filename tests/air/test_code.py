"""AIR's code on the oracle and on the engine: vectors, memory, guards, calls. Both must leave what numpy says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.air.metallib import THREAD, buffer, compiled, kernel, position, run
from tests.language.launch import poisoned

IN, OUT = buffer(0, "float", 4), buffer(1, "float", 4, write=True)
INT_IN, INT_OUT = buffer(0, "int", 4), buffer(1, "int", 4, write=True)


def elementwise(code: str, type: str = "i32", declarations: str = "") -> str:
    """out[i] = code(in[i]): `code` makes %r of %v."""
    words = {"i32": "int", "float": "float", "half": "half", "bfloat": "bfloat", "i64": "long", "i8": "char"}
    size = {"i32": 4, "float": 4, "half": 2, "bfloat": 2, "i64": 8, "i8": 1}[type]
    body = f"""  %i = zext i32 %p2 to i64
  %a = getelementptr {type}, ptr addrspace(1) %p0, i64 %i
  %v = load {type}, ptr addrspace(1) %a, align {size}
{code}
  %b = getelementptr {type}, ptr addrspace(1) %p1, i64 %i
  store {type} %r, ptr addrspace(1) %b, align {size}
  ret void"""
    parameters = [buffer(0, words[type], size), buffer(1, words[type], size, write=True), THREAD]
    return kernel(body, parameters, declarations)


def over(text: str, given: Any, **more: Any) -> Any:
    out = poisoned(given.shape, given.dtype)
    run(text, given, out, grid=given.size, threadgroup=min(given.size, 32), **more)
    return out


def test_elements_of_vectors_are_moved_about() -> None:
    text = kernel(
        """  %i = zext i32 %p2 to i64
  %a = getelementptr <4 x float>, ptr addrspace(1) %p0, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %a, align 16
  %t = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %x = extractelement <4 x float> %v, i64 1
  %w = insertelement <4 x float> %t, float %x, i64 3
  %s = fadd <4 x float> %w, <float 1.0, float 2.0, float 3.0, float 4.0>
  %c = fcmp ogt <4 x float> %s, splat (float 5.0)
  %r = select <4 x i1> %c, <4 x float> %s, <4 x float> zeroinitializer
  %b = getelementptr <4 x float>, ptr addrspace(1) %p1, i64 %i
  store <4 x float> %r, ptr addrspace(1) %b, align 16
  ret void""",
        [buffer(0, "float4", 16), buffer(1, "float4", 16, write=True), THREAD],
    )
    given = np.arange(64, dtype=np.float32).reshape(16, 4) / 3
    out = poisoned((16, 4), np.float32)
    run(text, given, out, grid=16, threadgroup=8)
    wanted = np.stack([given[:, 3] + 1, given[:, 2] + 2, given[:, 1] + 3, given[:, 1] + 4], -1).astype(
        np.float32
    )
    assert np.array_equal(out, np.where(wanted > 5, wanted, 0))


def test_an_index_known_only_when_it_runs_chooses_an_element() -> None:
    code = """  %k = and i32 %v, 3
  %w = insertelement <4 x i32> <i32 10, i32 20, i32 30, i32 40>, i32 7, i32 %k
  %j = xor i32 %k, 1
  %a0 = extractelement <4 x i32> %w, i32 %k
  %a1 = extractelement <4 x i32> %w, i32 %j
  %r = add i32 %a0, %a1"""
    given = np.arange(8, dtype=np.int32)
    assert over(elementwise(code), given).tolist() == [7 + [20, 10, 40, 30][k & 3] for k in range(8)]


def test_vectors_go_through_phis_and_bits_through_casts() -> None:
    text = kernel(
        """  %i = zext i32 %p2 to i64
  %a = getelementptr i32, ptr addrspace(1) %p0, i64 %i
  %v = load i32, ptr addrspace(1) %a, align 4
  %bytes = bitcast i32 %v to <4 x i8>
  %odd = trunc i32 %p2 to i1
  br i1 %odd, label %turn, label %done
turn:
  %back = shufflevector <4 x i8> %bytes, <4 x i8> undef, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  br label %done
done:
  %m = phi <4 x i8> [ %bytes, %0 ], [ %back, %turn ]
  %two = bitcast <4 x i8> %m to <2 x i16>
  %swapped = shufflevector <2 x i16> %two, <2 x i16> poison, <2 x i32> <i32 1, i32 0>
  %r = bitcast <2 x i16> %swapped to i32
  %b = getelementptr i32, ptr addrspace(1) %p1, i64 %i
  store i32 %r, ptr addrspace(1) %b, align 4
  ret void""".replace("%0 ]", "%entry ]").replace("  %i = zext", "entry:\n  %i = zext", 1),
        [INT_IN, INT_OUT, THREAD],
    )
    given = np.random.default_rng(3).integers(0, 1 << 31, 32, np.int32)
    out = poisoned(32, np.int32)
    run(text, given, out, grid=32, threadgroup=32)
    bytes_ = given.view(np.uint8).reshape(-1, 4).copy()
    bytes_[1::2] = bytes_[1::2, ::-1]
    halves = bytes_.reshape(-1).view(np.uint16).reshape(-1, 2)[:, ::-1]
    assert np.array_equal(out, np.ascontiguousarray(halves).reshape(-1).view(np.int32))


def test_a_vector_of_three_keeps_its_place_in_memory() -> None:
    text = kernel(
        """  %i = zext i32 %p2 to i64
  %a = getelementptr { float, <3 x float> }, ptr addrspace(1) %p0, i64 %i, i32 1
  %v = load <3 x float>, ptr addrspace(1) %a, align 16
  %b = getelementptr <3 x float>, ptr addrspace(1) %p1, i64 %i
  store <3 x float> %v, ptr addrspace(1) %b, align 16
  ret void""",
        [buffer(0, "S", 32), buffer(1, "float3", 16, write=True), THREAD],
    )
    given = np.arange(32, dtype=np.float32).reshape(4, 8)
    out = poisoned((4, 4), np.float32)
    last = out[:, 3].copy()
    run(text, given, out, grid=4, threadgroup=4)
    assert np.array_equal(out[:, :3], given[:, 4:7])
    assert np.array_equal(out[:, 3].view(np.int32), last.view(np.int32))  # nobody writes the fourth


def test_structs_with_pointers_are_copied_whole() -> None:
    """Pointers to threadgroup memory are narrower here than in AIR; what lies behind one must not move."""
    text = kernel(
        """  %s = alloca { ptr addrspace(3), i32, ptr addrspace(1) }, align 8
  %t = alloca { ptr addrspace(3), i32, ptr addrspace(1) }, align 8
  %place = getelementptr [32 x i32], ptr addrspace(3) @shared, i64 0, i32 %p2
  store ptr addrspace(3) %place, ptr %s, align 8
  %n = getelementptr { ptr addrspace(3), i32, ptr addrspace(1) }, ptr %s, i64 0, i32 1
  store i32 100, ptr %n, align 8
  %g = getelementptr i8, ptr %s, i64 16
  store ptr addrspace(1) %p0, ptr %g, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %t, ptr align 8 %s, i64 24, i1 false)
  %p = load ptr addrspace(3), ptr %t, align 8
  store i32 %p2, ptr addrspace(3) %p, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %o = getelementptr i8, ptr %t, i64 8
  %hundred = load i32, ptr %o, align 8
  %d = getelementptr { ptr addrspace(3), i32, ptr addrspace(1) }, ptr %t, i64 0, i32 2
  %data = load ptr addrspace(1), ptr %d, align 8
  %other = xor i32 %p2, 31
  %q = getelementptr [32 x i32], ptr addrspace(3) @shared, i64 0, i32 %other
  %read = load i32, ptr addrspace(3) %q, align 4
  %in = getelementptr i32, ptr addrspace(1) %data, i32 %p2
  %more = load i32, ptr addrspace(1) %in, align 4
  %sum = add i32 %read, %hundred
  %r = add i32 %sum, %more
  %b = getelementptr i32, ptr addrspace(1) %p1, i32 %p2
  store i32 %r, ptr addrspace(1) %b, align 4
  ret void""",
        [INT_IN, INT_OUT, position("thread_position_in_threadgroup")],
        """@shared = internal addrspace(3) global [32 x i32] undef, align 4
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @air.wg.barrier(i32, i32) convergent""",
    )
    given, out = np.arange(32, dtype=np.int32) * 1000, poisoned(32)
    made = run(text, given, out, grid=32, threadgroup=32)
    assert np.array_equal(out, 31 - np.arange(32) + 100 + given)
    assert made.signature.threadgroup_memory == 128


@pytest.mark.parametrize("opcode", ["shl", "lshr", "ashr"])
def test_a_shift_takes_its_amount_modulo_the_width(opcode: str) -> None:
    amounts = np.array([0, 1, 31, 32, 33, 64, 255, -1], np.int32)
    out = over(elementwise(f"  %r = {opcode} i32 -123456789, %v"), amounts)
    masked = (amounts & 31).astype(np.int64)
    number = np.int64(-123456789) if opcode == "ashr" else np.int64(-123456789 & 0xFFFFFFFF)
    wanted = (number << masked) if opcode == "shl" else (number >> masked)
    assert np.array_equal(out.view(np.uint32), (wanted & 0xFFFFFFFF).astype(np.uint32))


def test_a_shift_by_a_constant_past_the_width_is_no_licence() -> None:
    assert over(elementwise("  %r = shl i32 %v, 33"), np.array([1, 5], np.int32)).tolist() == [2, 10]


def test_division_by_zero_is_zero_and_changes_nothing_around_it() -> None:
    for opcode, wanted in (("sdiv", [0, -5, 2, -(1 << 31)]), ("srem", [0, 0, 2, 0])):
        code = f"""  %z = icmp eq i32 %v, 0
  %q = {opcode} i32 {{0}}, %v
  %m = select i1 %z, i32 1000, i32 0
  %r = add i32 %q, %m"""
        for dividend, divisor, value in zip((7, 5, 14, -(1 << 31)), (0, -1, 6, -1), wanted, strict=True):
            out = over(elementwise(code.format(dividend)), np.array([divisor], np.int32))
            assert out[0] == value + (1000 if divisor == 0 else 0)
    for opcode in ("udiv", "urem"):
        out = over(elementwise(f"  %r = {opcode} i32 100, %v"), np.array([0, 7, -1], np.int32))
        assert out.tolist() == ([0, 14, 0] if opcode == "udiv" else [0, 2, 100])


def test_division_by_the_constant_zero_is_zero() -> None:
    assert over(elementwise("  %r = sdiv i32 %v, 0"), np.array([1, 5], np.int32)).tolist() == [0, 0]


def test_real_numbers_become_integers_without_wrapping() -> None:
    code = """  %n = fptosi float %v to i32
  %r = bitcast i32 %n to float"""
    given = np.array([1.9, -1.9, 1e20, -1e20, np.nan, np.inf], np.float32)
    wanted = [1, -1, 2147483647, -2147483648, 0, 2147483647]
    assert over(elementwise(code, "float"), given).view(np.int32).tolist() == wanted


def test_functions_that_were_not_inlined_take_and_give_vectors() -> None:
    text = elementwise(
        """  %p = insertelement <2 x i32> <i32 0, i32 3>, i32 %v, i64 0
  %q = call <2 x i32> @turn(<2 x i32> %p, i32 5)
  %x = extractelement <2 x i32> %q, i64 0
  %y = extractelement <2 x i32> %q, i64 1
  %ten = mul i32 %y, 10
  %r = add i32 %x, %ten""",
        declarations="""define internal fastcc <2 x i32> @turn(<2 x i32> %a, i32 %b) {
  %s = shufflevector <2 x i32> %a, <2 x i32> poison, <2 x i32> <i32 1, i32 0>
  %t = insertelement <2 x i32> poison, i32 %b, i64 0
  %u = shufflevector <2 x i32> %t, <2 x i32> poison, <2 x i32> zeroinitializer
  %r = add <2 x i32> %s, %u
  ret <2 x i32> %r
}""",
    ).replace("call <2 x i32> @turn", "call fastcc <2 x i32> @turn")
    given = np.arange(8, dtype=np.int32)
    assert np.array_equal(over(text, given), 8 + (given + 5) * 10)


def test_structs_are_values_with_vectors_in_them() -> None:
    code = """  %p = insertelement <2 x i32> <i32 0, i32 3>, i32 %v, i64 0
  %s = insertvalue { i32, <2 x i32> } { i32 4, <2 x i32> zeroinitializer }, <2 x i32> %p, 1
  %mem = alloca { i32, <2 x i32> }, align 8
  store { i32, <2 x i32> } %s, ptr %mem, align 8
  %at = getelementptr i8, ptr %mem, i64 12
  %three = load i32, ptr %at, align 4
  %l = load { i32, <2 x i32> }, ptr %mem, align 8
  %four = extractvalue { i32, <2 x i32> } %l, 0
  %w = extractvalue { i32, <2 x i32> } %l, 1
  %x = extractelement <2 x i32> %w, i64 0
  %a1 = mul i32 %x, %four
  %r = add i32 %a1, %three"""
    given = np.arange(8, dtype=np.int32)
    assert np.array_equal(over(elementwise(code), given), given * 4 + 3)


def test_private_variables_start_as_zeros() -> None:
    code = """  %mem = alloca [4 x i32], align 4
  %k = and i32 %v, 3
  %at = getelementptr [4 x i32], ptr %mem, i64 0, i32 1
  store i32 9, ptr %at, align 4
  %of = getelementptr [4 x i32], ptr %mem, i64 0, i32 %k
  %r = load i32, ptr %of, align 4"""
    assert over(elementwise(code), np.arange(4, dtype=np.int32)).tolist() == [0, 9, 0, 0]


def test_constant_tables_hold_vectors() -> None:
    code = """  %k = and i32 %v, 1
  %at = getelementptr [2 x <3 x i32>], ptr addrspace(2) @table, i64 0, i32 %k
  %w = load <3 x i32>, ptr addrspace(2) %at, align 16
  %r = extractelement <3 x i32> %w, i64 2"""
    table = "@table = internal addrspace(2) constant [2 x <3 x i32>] "
    table += "[<3 x i32> <i32 1, i32 2, i32 3>, <3 x i32> <i32 4, i32 5, i32 6>], align 16"
    assert over(elementwise(code, declarations=table), np.arange(4, dtype=np.int32)).tolist() == [3, 6, 3, 6]


@pytest.mark.parametrize("type", ["float", "half", "bfloat"])
def test_math_is_the_header_s(type: str) -> None:
    """The same bits as a source that calls the same function."""
    from tests.language import launch

    suffix = {"float": "f32", "half": "f16", "bfloat": "bf16"}[type]
    dtype = {"float": np.float32, "half": np.float16, "bfloat": ml_dtypes.bfloat16}[type]
    given = np.linspace(0.1, 3, 32).astype(dtype)
    for name, function in (("exp", "precise::exp"), ("fast_sin", "fast::sin"), ("rsqrt", "precise::rsqrt")):
        text = elementwise(
            f"  %r = call {type} @air.{name}.{suffix}({type} %v)",
            type,
            f"declare {type} @air.{name}.{suffix}({type})",
        )
        parameters = f"device {type}* a, device {type}* b, uint i [[thread_position_in_grid]]"
        source = f"kernel void k({parameters}) {{ b[i] = {function}(a[i]); }}"
        wanted = poisoned(32, dtype)
        launch.run(source, given, wanted, grid=32, threadgroup=32)
        assert over(text, given).tobytes() == wanted.tobytes(), name


def test_functions_of_vectors_are_called_for_each_element() -> None:
    text = kernel(
        """  %v = load <4 x float>, ptr addrspace(1) %p0, align 16
  %c = call <4 x float> @air.clamp.v4f32(<4 x float> %v, <4 x float> zeroinitializer, <4 x float> splat (float 1.0))
  %m = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %c, <4 x float> %c, <4 x float> splat (float 0.5))
  %d = call float @air.dot.v4f32(<4 x float> %m, <4 x float> %v)
  %n = insertelement <4 x float> %m, float %d, i64 3
  store <4 x float> %n, ptr addrspace(1) %p1, align 16
  ret void""",
        [IN, OUT],
        """declare <4 x float> @air.clamp.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare float @air.dot.v4f32(<4 x float>, <4 x float>)""",
    )
    given, out = np.array([-1, 0.5, 0.25, 4], np.float32), poisoned(4, np.float32)
    run(text, given, out)
    clamped = np.clip(given, 0, 1) ** 2 + 0.5
    assert np.allclose(out, [*clamped[:3], clamped @ given], rtol=1e-6)


def test_an_assumption_that_a_value_is_uniform_does_not_delete_the_kernel() -> None:
    code = """  %u = call i1 @air.is_uniform.i32(i32 %v)
  call void @llvm.assume(i1 %u)
  %r = add i32 %v, 1"""
    declarations = "declare i1 @air.is_uniform.i32(i32)\ndeclare void @llvm.assume(i1)"
    assert over(elementwise(code, declarations=declarations), np.arange(4, dtype=np.int32)).tolist() == [
        1,
        2,
        3,
        4,
    ]


def test_fast_math_keeps_nans() -> None:
    code = """  %s = fadd fast float %v, 1.0
  %c = fcmp fast uno float %s, %s
  %r = select i1 %c, float 5.0, float %s"""
    out = over(elementwise(code, "float"), np.array([1, np.nan], np.float32))
    assert out.tolist() == [2, 5]


def test_a_loop_that_promises_to_end_may_not() -> None:
    """Apple's compiler says `mustprogress`; LLVM would delete a loop without an effect."""
    text = kernel(
        "  br label %again\nagain:\n  br label %again, !llvm.loop !50",
        [OUT],
        nodes={"!50": "distinct !{!50, !51}", "!51": '!{!"llvm.loop.mustprogress"}'},
    )
    assert "mustprogress" not in compiled(text).ir.split("attributes")[0]


def test_what_is_not_known_is_named_at_its_kernel() -> None:
    text = elementwise(
        "  %r = call i32 @air.unheard_of.i32(i32 %v)", declarations="declare i32 @air.unheard_of.i32(i32)"
    )
    with pytest.raises(CompileError, match=r"kernel 'k': 'air.unheard_of.i32' is not supported"):
        compiled(text)


def test_names_of_the_engine_s_own_cannot_be_taken() -> None:
    text = elementwise(
        "  %r = call i32 @__mt_thread_position_in_grid(i32 %v)",
        declarations="define i32 @__mt_thread_position_in_grid(i32 %x) {\n  ret i32 0\n}",
    )
    with pytest.raises(
        CompileError, match="defines '__mt_thread_position_in_grid', a name that metalloid keeps"
    ):
        compiled(text)


def test_a_variable_of_another_library_is_named() -> None:
    code = "  %r = load i32, ptr addrspace(2) @elsewhere, align 4"
    text = elementwise(code, declarations="@elsewhere = external addrspace(2) constant i32, align 4")
    with pytest.raises(CompileError, match="its variable 'elsewhere' is defined in another library"):
        compiled(text)


def test_tensor_operations_are_named() -> None:
    text = kernel(
        "  call void @__tensorops_impl_matmul2d_op_run(i32 0)\n  ret void",
        [OUT],
        "declare void @__tensorops_impl_matmul2d_op_run(i32)",
    )
    with pytest.raises(CompileError, match="'__tensorops_impl_matmul2d_op_run' is not supported"):
        compiled(text)

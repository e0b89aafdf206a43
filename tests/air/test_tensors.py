"""Tensor operations in AIR, as Apple's compiler leaves them: names without a body, sizes that a function tells."""
# ruff: noqa: E501  a line of AIR is one line

from __future__ import annotations

import numpy as np
import pytest

from metalloid.air.deferred import number
from metalloid.air.tensors import row
from metalloid.errors import CompileError
from metalloid.ir import read
from tests.air.metallib import buffer, compiled, kernel, run
from tests.language.launch import poisoned

HALF, FLOAT = 268435472, 268435488
M, N, K = 16, 32, 32
OPERATION = "__tensorops_impl_matmul2d_op_"
WHICH = f"i32 {M}, i32 {N}, i32 {K}, i8 0, i8 1, i8 1, i32 1"
TYPES = f"i32 {HALF}, i32 {HALF}, i32 {FLOAT}"
_EIGHT = "i32, i32, i32, i32, i8, i8, i8, i32"

DECLARATIONS = f"""
%descriptor = type {{ i32, i32, i32, i8, i8, i8, i32 }}
@desc = internal unnamed_addr constant %descriptor {{ i32 {M}, i32 {N}, i32 {K}, i8 0, i8 1, i8 1, i32 1 }}
declare i32 @air.get_simdgroup_size.i32()
declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare void @air.init_strided_private_tensor.i32.global(ptr, i16, ptr addrspace(1), ptr, ptr, i8)
declare void @air.slice_private_tensor_private_tensor.s.i32(ptr, ptr, i16, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @{OPERATION}cooperative_tensor_data_size({_EIGHT}, i32, i32, i32, i32)
declare void @{OPERATION}cooperative_tensor_init({_EIGHT}, ptr, i32, i32, i32, i32)
declare i16 @{OPERATION}cooperative_tensor_num_elements({_EIGHT}, ptr, i32, i32, i32)
declare ptr @{OPERATION}cooperative_tensor_get_element_pointer({_EIGHT}, ptr, i16, i32, i32, i32)
declare void @{OPERATION}cooperative_tensor_get_coordinate({_EIGHT}, ptr, i16, ptr, i32, i32, i32, i32, i32)
declare void @{OPERATION}cooperative_tensor_load_dv_f16({_EIGHT}, ptr, ptr, i32, i32, i32, i32, i32, i32)
declare void @{OPERATION}cooperative_tensor_store_dv_f32({_EIGHT}, ptr, ptr, i32, i32, i32, i32, i32)
declare void @{OPERATION}run_cooperative_f16_dv_f16_f32(ptr, ptr, ptr, i32, ptr, i32)
define internal i64 @rank() {{
  ret i64 2
}}
define internal i64 @size_of_tensor() {{
  %r = call i64 @rank()
  %t = trunc i64 %r to i16
  %s = call i16 @air.get_descriptor_size_tensor(i16 %t, i16 4)
  %z = zext i16 %s to i64
  ret i64 %z
}}
define internal i64 @size_of_left() {{
  %w = call i32 @air.get_simdgroup_size.i32()
  %s = call i64 @{OPERATION}cooperative_tensor_data_size(i32 0, {WHICH}, {TYPES}, i32 %w)
  ret i64 %s
}}
define internal i64 @size_of_sum() {{
  %w = call i32 @air.get_simdgroup_size.i32()
  %s = call i64 @{OPERATION}cooperative_tensor_data_size(i32 2, {WHICH}, {TYPES}, i32 %w)
  ret i64 %s
}}
"""


def view(name: str, base: str, width: int, height: int) -> str:
    return f"""
  %{name}.size = call i64 @size_of_tensor()
  %{name} = alloca i8, i64 %{name}.size, align 8
  %{name}.e = alloca [2 x i32], align 4
  %{name}.s = alloca [2 x i32], align 4
  store i32 {width}, ptr %{name}.e, align 4
  %{name}.e1 = getelementptr i32, ptr %{name}.e, i64 1
  store i32 {height}, ptr %{name}.e1, align 4
  store i32 1, ptr %{name}.s, align 4
  %{name}.s1 = getelementptr i32, ptr %{name}.s, i64 1
  store i32 {width}, ptr %{name}.s1, align 4
  call void @air.init_strided_private_tensor.i32.global(ptr %{name}, i16 2, ptr addrspace(1) {base}, ptr %{name}.e, ptr %{name}.s, i8 1)"""


def product(rows: int, columns: int) -> str:
    """C = row + A B^T for a left operand in registers; the sum starts as each element's row."""
    body = f"""{view("a", "%p0", K, rows)}{view("b", "%p1", K, columns)}{view("c", "%p2", columns, rows)}
  %w = call i32 @air.get_simdgroup_size.i32()
  %left.size = call i64 @size_of_left()
  %left = alloca i8, i64 %left.size, align 2
  %sum.size = call i64 @size_of_sum()
  %sum = alloca i8, i64 %sum.size, align 4
  %d = alloca %descriptor, align 4
  %at = alloca [2 x i32], align 4
  %part = alloca i8, i64 %a.size, align 8
  %zero = alloca [2 x i32], align 4
  %whole = alloca [2 x i32], align 4
  store i64 0, ptr %zero, align 4
  store i32 {K}, ptr %whole, align 4
  %whole1 = getelementptr i32, ptr %whole, i64 1
  store i32 {M}, ptr %whole1, align 4
  call void @air.slice_private_tensor_private_tensor.s.i32(ptr %part, ptr %a, i16 2, ptr %zero, ptr %whole)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @desc, i64 20, i1 false)
  call void @{OPERATION}cooperative_tensor_init(i32 2, {WHICH}, ptr %sum, {TYPES}, i32 %w)
  br label %fill
fill:
  %i = phi i16 [ 0, %0 ], [ %next, %one ]
  %count = call i16 @{OPERATION}cooperative_tensor_num_elements(i32 2, {WHICH}, ptr %sum, i32 {HALF}, i32 {HALF}, i32 %w)
  %more = icmp ult i16 %i, %count
  br i1 %more, label %one, label %go
one:
  %e = call ptr @{OPERATION}cooperative_tensor_get_element_pointer(i32 2, {WHICH}, ptr %sum, i16 %i, {TYPES})
  call void @{OPERATION}cooperative_tensor_get_coordinate(i32 2, {WHICH}, ptr %sum, i16 %i, ptr %at, i32 536870944, i32 %w, {TYPES})
  %at1 = getelementptr i32, ptr %at, i64 1
  %row = load i32, ptr %at1, align 4
  %f = sitofp i32 %row to float
  store float %f, ptr %e, align 4
  %next = add i16 %i, 1
  br label %fill
go:
  call void @{OPERATION}cooperative_tensor_load_dv_f16(i32 0, {WHICH}, ptr %left, ptr %part, i32 2, i32 2, {TYPES}, i32 %w)
  %l = call ptr @{OPERATION}cooperative_tensor_get_element_pointer(i32 0, {WHICH}, ptr %left, i16 -1, {TYPES})
  %r = call ptr @{OPERATION}cooperative_tensor_get_element_pointer(i32 2, {WHICH}, ptr %sum, i16 -1, {TYPES})
  call void @{OPERATION}run_cooperative_f16_dv_f16_f32(ptr %d, ptr %l, ptr %b, i32 2, ptr %r, i32 %w)
  call void @{OPERATION}cooperative_tensor_store_dv_f32(i32 2, {WHICH}, ptr %sum, ptr %c, i32 2, {TYPES}, i32 %w)
  ret void"""
    return kernel(
        body, [buffer(0, "half", 2), buffer(1, "half", 2), buffer(2, "float", 4, write=True)], DECLARATIONS
    )


def test_a_product() -> None:
    rows, columns = 13, 27
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (n, K)).astype(np.float16) for n in (rows, columns))
    out = poisoned((rows, columns), np.float32)
    run(product(rows, columns), a, b, out, grid=32, threadgroup=32)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T + np.arange(rows)[:, None]
    np.testing.assert_array_equal(out, wanted.astype(np.float32))


def test_sizes_are_known_beforehand() -> None:
    module = read(product(M, N).replace("air.externally_defined", ""))
    entry = module.function["k"]
    named = {i.name: number(module, entry, i.value) for i in entry.instructions() if i.name.endswith("size")}
    assert named == {"a.size": 48, "b.size": 48, "c.size": 48, "left.size": 32, "sum.size": 64}


@pytest.mark.parametrize(
    "name",
    [
        "run_cooperative_dv_b16_tg_b16_f32",
        "run_cooperative_i8_dv_i8_i32",
        "cooperative_tensor_is_valid_element",
        "cooperative_tensor_load_tg_b16",
    ],
)
def test_names_spell_out_their_operands(name: str) -> None:
    assert row(OPERATION + name) is not None


@pytest.mark.parametrize("name", ["run_cooperative_f64_f64_f64", "run_dv_f16", "cooperative_tensor_reduce"])
def test_what_is_not_known_is_refused_by_name(name: str) -> None:
    text = kernel(f"  call void @{OPERATION}{name}(i32 0)\n  ret void", [buffer(0, "float", 4, write=True)], f"declare void @{OPERATION}{name}(i32)")  # fmt: skip
    with pytest.raises(CompileError, match=f"'{OPERATION}{name}' is not supported"):
        compiled(text)

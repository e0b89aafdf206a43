"""What makes a thread part of a grid, in a binary: positions, barriers, SIMD-groups, matrices, atomics, constants."""

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import CompileError, LaunchError
from metalloid.types import Array, DType, Pointer, Scalar, Struct, Vector
from tests.air.metallib import (
    THREAD,
    Function,
    assembled,
    buffer,
    compiled,
    container,
    kernel,
    library,
    position,
    run,
)
from tests.language.launch import poisoned

INT_IN, INT_OUT = buffer(0, "int", 4), buffer(1, "int", 4, write=True)


def test_positions_come_as_vectors_and_in_other_widths() -> None:
    text = kernel(
        """  %x = extractelement <3 x i32> %p1, i64 0
  %y = extractelement <3 x i32> %p1, i64 1
  %w = extractelement <2 x i16> %p2, i64 0
  %wide = zext i16 %w to i32
  %row = mul i32 %y, %wide
  %i = add i32 %row, %x
  %b = getelementptr i32, ptr addrspace(1) %p0, i32 %i
  %lane = add i32 %i, %p3
  store i32 %lane, ptr addrspace(1) %b, align 4
  ret void""",
        [
            buffer(0, "int", 4, write=True),
            position("thread_position_in_grid", "<3 x i32>", "uint3"),
            position("threads_per_grid", "<2 x i16>", "ushort2"),
            position("thread_index_in_simdgroup"),
        ],
    )
    out = poisoned((4, 8), np.int32)
    run(text, out, grid=(8, 4), threadgroup=(8, 4))
    assert np.array_equal(out.reshape(-1), 2 * np.arange(32))


def test_simd_sums_and_shuffles_of_vectors() -> None:
    text = kernel(
        """  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %p2
  %v = load i32, ptr addrspace(1) %a, align 4
  %s = call i32 @air.simd_sum.s.i32(i32 %v)
  %p = insertelement <2 x i32> poison, i32 %v, i64 0
  %q = insertelement <2 x i32> %p, i32 %s, i64 1
  %d = call <2 x i32> @air.simd_shuffle_xor.u.v2i32(<2 x i32> %q, i16 1)
  %x = extractelement <2 x i32> %d, i64 0
  %y = extractelement <2 x i32> %d, i64 1
  %r = sub i32 %y, %x
  %b = getelementptr i32, ptr addrspace(1) %p1, i32 %p2
  store i32 %r, ptr addrspace(1) %b, align 4
  ret void""",
        [INT_IN, INT_OUT, THREAD],
        """declare i32 @air.simd_sum.s.i32(i32) convergent
declare <2 x i32> @air.simd_shuffle_xor.u.v2i32(<2 x i32>, i16) convergent""",
    )
    given, out = np.arange(64, dtype=np.int32) ** 2, poisoned(64)
    run(text, given, out, grid=64, threadgroup=64)
    sums = np.repeat(given.reshape(2, 32).sum(1), 32)
    assert np.array_equal(out, sums - given[np.arange(64) ^ 1])


@pytest.mark.parametrize("type", ["float", "half"])
def test_matrices_of_64_elements_are_two_of_each_lane(type: str) -> None:
    bits = {"float": "f32", "half": "f16"}[type]
    size = 4 if type == "float" else 2
    wide = f"<64 x {type}>"
    load = f"air.simdgroup_matrix_8x8_load.v64{bits}.p1{bits}"
    product = f"air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64{bits}.v64{bits}.v64f32"
    text = kernel(
        f"""  %a = call {wide} @{load}(ptr addrspace(1) %p0, i64 8, <2 x i64> zeroinitializer, i1 false)
  %b = call {wide} @{load}(ptr addrspace(1) %p1, i64 8, <2 x i64> zeroinitializer, i1 true)
  %d = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 3.0)
  %c = call <64 x float> @{product}({wide} %a, {wide} %b, <64 x float> %d)
  %two = shufflevector <64 x float> %c, <64 x float> poison, <2 x i32> <i32 0, i32 1>
  %more = fadd <2 x float> %two, splat (float 1.0)
  %e = shufflevector <2 x float> %more, <2 x float> poison, <64 x i32> <i32 0, i32 1, {", ".join(["i32 poison"] * 62)}>
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %e, ptr addrspace(1) %p2,
    i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void""",
        [buffer(0, type, size), buffer(1, type, size), buffer(2, "float", 4, write=True)],
        f"""declare {wide} @{load}(ptr addrspace(1), i64, <2 x i64>, i1) convergent
declare <64 x float> @{product}({wide}, {wide}, <64 x float>) convergent
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1),
    i64, <2 x i64>, i1) convergent""",
    )
    rng = np.random.default_rng(4)
    dtype = np.float32 if type == "float" else np.float16
    a, b = (rng.integers(-4, 5, (8, 8)).astype(dtype) for _ in range(2))
    out = poisoned((8, 8), np.float32)
    run(text, a, b, out, grid=32, threadgroup=32)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32).T + 3 * np.eye(8) + 1)


def test_atomics_give_back_what_was_there() -> None:
    text = kernel(
        """  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %p0, i32 3, i32 0, i32 2, i1 true)
  %slot = udiv i32 %old, 3
  %b = getelementptr i32, ptr addrspace(1) %p1, i32 %slot
  %e = alloca i32, align 4
  store i32 5, ptr %e, align 4
  %seen = call i32 @air.atomic.global.cmpxchg.weak.i32(
    ptr addrspace(1) %b, ptr %e, i32 77, i32 0, i32 0, i32 2, i1 true)
  %now = load i32, ptr %e, align 4
  %same = icmp eq i32 %seen, %now
  %one = zext i1 %same to i32
  %more = call i32 @air.atomic.global.add.s.i32(ptr addrspace(1) %p2, i32 %one, i32 0, i32 2, i1 true)
  ret void""",
        [buffer(0, "uint", 4, write=True), buffer(1, "int", 4, write=True), buffer(2, "int", 4, write=True)],
        """declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.add.s.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1), ptr, i32, i32, i32, i32, i1)""",
    )
    count, slots, same = np.zeros(1, np.uint32), np.arange(32, dtype=np.int32), np.zeros(1, np.int32)
    run(text, count, slots, same, grid=32, threadgroup=32)
    assert count[0] == 96 and same[0] == 32
    assert slots.tolist() == [77 if k == 5 else k for k in range(32)]


CONSTANTS = """@flag.init = internal addrspace(2) externally_initialized constant i8 undef,
    section "air.fc_initializer", align 1
@scale.init = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer", align 4
@scale = internal addrspace(2) global i32 undef, align 4
@there = internal addrspace(2) global i8 0, align 1
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(2) @there to ptr)],
    section "llvm.metadata"
declare i8 @air.normalize_function_constant_predicate.i8(i8)
define internal void @init() section "air.static_init" {
  %s = load i32, ptr addrspace(2) @scale.init, align 4
  %d = mul i32 %s, 10
  store i32 %d, ptr addrspace(2) @scale, align 4
  %f = load i8, ptr addrspace(2) @flag.init, align 1
  %n = call i8 @air.normalize_function_constant_predicate.i8(i8 %f)
  store i8 %n, ptr addrspace(2) @there, align 1
  ret void
}"""
WITH_CONSTANTS = kernel(
    """  %s = load i32, ptr addrspace(2) @scale, align 4
  %f = load i8, ptr addrspace(2) @there, align 1
  %c = icmp ne i8 %f, 0
  %at = getelementptr i32, ptr addrspace(1) %p0, i32 %p2
  br i1 %c, label %more, label %done
more:
  %q = getelementptr i32, ptr addrspace(1) %p1, i32 %p2
  %v = load i32, ptr addrspace(1) %q, align 4
  br label %done
done:
  %w = phi i32 [ 0, %entry ], [ %v, %more ]
  %r = add i32 %s, %w
  store i32 %r, ptr addrspace(1) %at, align 4
  ret void""".replace("  %s = load", "entry:\n  %s = load", 1),
    [buffer(0, "int", 4, write=True), buffer(1, "int", 4, more='!"air.function_constant", !60, '), THREAD],
    CONSTANTS,
    nodes={
        "!60": '!{ptr addrspace(2) @there, !"bool", !"flag"}',
        "!61": '!{ptr addrspace(2) @flag.init, !"bool", !"flag", i32 3, i1 true}',
        "!62": '!{ptr addrspace(2) @scale.init, !"int", !"scale", i32 4, i1 true}',
        "!air.function_constants": "!{!61, !62}",
    },
)


def test_function_constants_decide_by_name_or_index_what_is_there() -> None:
    out = poisoned(8)
    made = run(WITH_CONSTANTS, out, grid=8, threadgroup=8, constants={"flag": False, 4: 7})
    assert out.tolist() == [70] * 8
    assert [p.name for p in made.signature.buffers] == ["b0"]
    more = np.arange(8, dtype=np.int32)
    made = run(WITH_CONSTANTS, out, more, grid=8, threadgroup=8, constants={3: True, "scale": -2})
    assert np.array_equal(out, more - 20)
    assert [p.name for p in made.signature.buffers] == ["b0", "b1"]
    assert made.signature.undefined_constants == ()
    for flag in (0.5, 256):  # true, as in a source
        run(WITH_CONSTANTS, out, more, grid=8, threadgroup=8, constants={"flag": flag, "scale": 0})
        assert np.array_equal(out, more)
    with pytest.raises(CompileError, match=r"'scale' is declared int; 2.5 would lose its fraction"):
        compiled(WITH_CONSTANTS, {"flag": False, "scale": 2.5})


def test_a_kernel_without_its_constants_can_be_read_and_not_run() -> None:
    made = mt.device().library(container([Function("k", assembled(WITH_CONSTANTS))]))["k"]
    assert made.signature.undefined_constants == ("flag", "scale")
    with pytest.raises(LaunchError, match="function constant 'flag', 'scale' has no value"):
        made(np.zeros(8, np.int32), grid=8, threadgroup=8)


def test_parameters_are_what_the_file_says() -> None:
    fields = {
        "!70": '!{i32 0, i32 4, i32 0, !"int", !"n", !"air.struct_type_info", !71, i32 4, i32 8, i32 0, '
        '!"metal::array", '
        '!"pair", i32 16, i32 16, i32 0, !"float4", !"v"}',
        "!71": '!{i32 0, i32 4, i32 2, !"float", !"__elems"}',
        "!72": '!{i32 0, i32 8, i32 4, !"half", !"data", !"air.indirect_argument", !73}',
        "!73": '!{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, '
        '!"air.arg_type_name", !"half"}',
        "!74": '!{!"air.max_work_group_size", i32 128}',
    }
    text = kernel(
        "  ret void",
        [
            (
                "ptr addrspace(2)",
                '!"air.buffer", !"air.buffer_size", i32 32, !"air.location_index", i32 5, i32 1, !"air.read", '
                '!"air.address_space", i32 2, !"air.struct_type_info", !70, !"air.arg_type_size", i32 32, '
                '!"air.arg_type_align_size", i32 16, !"air.arg_type_name", !"Parameters", !"air.arg_name", !"p"',
            ),
            (
                "ptr addrspace(1)",
                '!"air.indirect_buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", '
                'i32 1, !"air.struct_type_info", !72, !"air.arg_type_size", i32 32, !"air.arg_type_align_size", i32 8, '
                '!"air.arg_type_name", !"Arguments", !"air.arg_name", !"args"',
            ),
            buffer(0, "packed_half3", 6, space=3, write=True),
        ],
        nodes=fields,
        options=", !74",
    )
    signature = compiled(text).signature
    real, half = Scalar(DType.FLOAT32), Scalar(DType.FLOAT16)
    p, args, local = signature.parameters
    assert isinstance(p.type, Struct) and (p.space, p.index, p.reference, p.const) == (
        "constant",
        5,
        True,
        True,
    )
    assert [(f.name, f.type, f.offset) for f in p.type.fields] == [
        ("n", Scalar(DType.INT32), 0),
        ("pair", Array(real, 2), 4),
        ("v", Vector(real, 4), 16),
    ]
    assert isinstance(args.type, Struct)
    assert args.type.fields[0].type == Array(Pointer("device", half, True), 4)
    assert (local.kind, local.type) == ("threadgroup", Vector(half, 3, packed=True))
    assert signature.max_total_threads == 128


def test_a_parameter_of_several_constants_takes_more_than_one_of_its_type() -> None:
    """`constant long strides[2]`: it was taken for a reference, and 16 bytes were refused."""
    pointer, words = buffer(0, "long", 8, space=2)
    strides = pointer, words.replace('!"air.buffer"', '!"air.buffer", !"air.buffer_size", i32 16')
    body = """  %at = getelementptr i64, ptr addrspace(2) %p0, i64 1
  %v = load i64, ptr addrspace(2) %at, align 8
  %n = trunc i64 %v to i32
  store i32 %n, ptr addrspace(1) %p1, align 4
  ret void"""
    made = mt.device().library(library(kernel(body, [strides, buffer(1, "int", 4, write=True)])))["k"]
    out = poisoned(1)
    assert mt.check(made, np.array([3, 7], np.int64), out, grid=1, threadgroup=1).ok
    assert out[0] == 7


def test_a_kernel_that_cannot_be_does_not_stop_the_others() -> None:
    bad = kernel("  call void @air.what()\n  ret void", [INT_OUT], "declare void @air.what()", name="bad")
    good = kernel(
        "  store i32 4, ptr addrspace(1) %p0, align 4\n  ret void",
        [buffer(0, "int", 4, write=True)],
        name="good",
    )
    made = mt.device().library(library(bad, good, names=("bad", "good")))
    out = poisoned(1)
    made["good"](out, grid=1, threadgroup=1)
    assert out[0] == 4
    with pytest.raises(CompileError, match=r"'air.what' is not supported"):
        made["bad"]


def test_a_buffer_lies_where_its_parameter_points_if_nothing_is_said() -> None:
    """AIR 2.4 has no word for the address space."""
    rows = [
        buffer(0, "float", 4, space=1, write=True),
        buffer(1, "int", 4, space=2),
        buffer(0, "float", 4, space=3),
    ]
    silent = [(type, re.sub(r'!"air.address_space", i32 \d, ', "", words)) for type, words in rows]
    text = kernel("  ret void", [(t, w.replace("air.threadgroup", "air.buffer")) for t, w in silent])
    first, second, third = compiled(text).signature.parameters
    assert (first.kind, first.space) == ("buffer", "device")
    assert (second.kind, second.space) == ("buffer", "constant")
    assert (third.kind, third.space) == ("threadgroup", "threadgroup")


def test_a_type_that_air_cannot_name_is_read_from_the_code() -> None:
    text = kernel(
        "  store half 1.0, ptr addrspace(1) %p0, align 2\n  ret void",
        [buffer(0, "decltype(f())", 2, write=True), buffer(1, "void", 1)],
    )
    first, second = compiled(text).signature.parameters
    assert first.type == Scalar(DType.FLOAT16)
    assert isinstance(second.type, Struct) and not second.type.fields


def test_pointers_of_an_argument_buffer_are_followed() -> None:
    text = kernel(
        """  %slot = getelementptr { [2 x ptr addrspace(1)] }, ptr addrspace(1) %p0, i64 0, i32 0, i32 %p1
  %data = load ptr addrspace(1), ptr addrspace(1) %slot, align 8
  %v = load float, ptr addrspace(1) %data, align 4
  %w = fadd float %v, 1.0
  store float %w, ptr addrspace(1) %data, align 4
  ret void""",
        [
            (
                "ptr addrspace(1)",
                '!"air.indirect_buffer", !"air.buffer_size", i32 16, !"air.location_index", i32 0, i32 1, '
                '!"air.read_write", !"air.address_space", i32 1, !"air.struct_type_info", !80, '
                '!"air.arg_type_size", i32 16, !"air.arg_type_align_size", i32 8, !"air.arg_type_name", !"Arguments", '
                '!"air.arg_name", !"args"',
            ),
            THREAD,
        ],
        nodes={
            "!80": '!{!"air.struct_type_info", !81, i32 0, i32 16, i32 0, !"metal::array", !"data", '
            '!"air.indirect_argument", i32 0}',
            "!81": '!{i32 0, i32 8, i32 2, !"float", !"__elems", !"air.indirect_argument", !82}',
            "!82": '!{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", '
            '!"air.address_space", i32 1, !"air.arg_type_name", !"float"}',
        },
    )
    device = mt.device()
    made = device.library(library(text))["k"]
    first, second = (device.buffer(np.array([x], np.float32), copy=True) for x in (1.5, 4.0))
    made({"data": [first, second]}, grid=2, threadgroup=2)
    assert (first.numpy()[0], second.numpy()[0]) == (2.5, 5.0)


def test_lines_are_told_where_the_library_has_them() -> None:
    text = kernel(
        """  %b = getelementptr i32, ptr addrspace(1) %p0, i32 %p1, !dbg !94
  store i32 %p1, ptr addrspace(1) %b, align 4, !dbg !94
  ret void""",
        [buffer(0, "int", 4, write=True), THREAD],
        nodes={
            "!llvm.dbg.cu": "!{!90}",
            "!llvm.module.flags": "!{!91}",
            "!90": "distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !92, emissionKind: FullDebug)",
            "!91": '!{i32 2, !"Debug Info Version", i32 3}',
            "!92": '!DIFile(filename: "wide.metal", directory: "/src")',
            "!93": 'distinct !DISubprogram(name: "k", file: !92, line: 3, unit: !90, type: !95)',
            "!94": "!DILocation(line: 7, column: 5, scope: !93)",
            "!95": "!DISubroutineType(types: !96)",
            "!96": "!{null}",
        },
    ).replace("i32 %p1) {", "i32 %p1) !dbg !93 {")
    made = mt.device().library(library(text))["k"]
    (finding,) = mt.check(made, poisoned(31), grid=32, threadgroup=32).findings
    assert finding.location is not None
    assert (finding.location.file.split("/")[-1], finding.location.line) == ("wide.metal", 7)


def test_a_checked_run_finds_what_a_binary_does_wrong() -> None:
    text = kernel(
        """  %b = getelementptr i32, ptr addrspace(1) %p0, i32 %p1
  store i32 %p1, ptr addrspace(1) %b, align 4
  ret void""",
        [buffer(0, "int", 4, write=True), THREAD],
    )
    made = mt.device().library(library(text))["k"]
    report = mt.check(made, poisoned(31), grid=32, threadgroup=32)
    assert [finding.rule for finding in report.findings] == ["M102"]
    assert mt.check(made, poisoned(32), grid=32, threadgroup=32).ok

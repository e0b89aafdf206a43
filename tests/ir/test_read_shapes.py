"""A line is read by its shape as it is read word by word."""

from __future__ import annotations

import pytest

from metalloid.errors import DeviceError
from metalloid.ir.read_code import read_instruction
from metalloid.ir.read_shapes import read_by_shape
from metalloid.ir.types import FLOAT, I32, StructType

STRUCTS = {"pair": StructType((I32, FLOAT), False, "pair")}
# Two lines of each shape, and the second as it is read word by word: numbers have got their prefix.
LINES = (
    ("%a = add nsw i32 %b, %c", "%7 = add nsw i32 %7.x, %8", "%_7 = add nsw i32 %7.x, %_8"),
    ("%a = fadd float %b, 1.0", '%"a b" = fadd float %"c d", 1.0', '%"a b" = fadd float %"c d", 1.0'),
    (
        "%p = phi i32 [ 0, %entry ], [ %n, %loop ]",
        "%1 = phi i32 [ 0, %2 ], [ %x, %3 ]",
        "%_1 = phi i32 [ 0, %_2 ], [ %x, %_3 ]",
    ),
    (
        "br i1 %c, label %then, label %else",
        "br i1 %4, label %same, label %same",
        "br i1 %_4, label %same, label %same",
    ),
    (
        "%e = getelementptr %pair, ptr %p, i32 0, i32 %i",
        "%e = getelementptr %pair, ptr %q, i32 0, i32 %5",
        "%e = getelementptr %pair, ptr %q, i32 0, i32 %_5",
    ),
    ("%v = call i32 %f(i32 %a)", "%v = call i32 %g(i32 %0)", "%v = call i32 %g(i32 %_0)"),
    (
        "store i32 %a, ptr addrspace(1) %p, align 4",
        "store i32 %1, ptr addrspace(1) %1, align 4",
        "store i32 %_1, ptr addrspace(1) %_1, align 4",
    ),
)


@pytest.mark.parametrize(("first", "second", "numbered"), LINES)
def test_a_shape_read_before_gives_what_reading_the_words_gives(
    first: str, second: str, numbered: str
) -> None:
    metadata = (("dbg", "!1"),)
    assert read_by_shape(first, STRUCTS, (), "_") == read_instruction(first, STRUCTS, ())
    for _ in range(2):
        assert read_by_shape(second, STRUCTS, metadata, "_") == read_instruction(numbered, STRUCTS, metadata)


def test_a_name_inside_metadata_stays_what_it_is() -> None:
    for name in ("a", "b"):
        line = f"call void @llvm.note(metadata ptr %{name})"
        assert read_by_shape(line, {}, (), "_") == read_instruction(line, {}, ())


def test_a_line_that_cannot_be_read_is_told_with_its_names() -> None:
    for name in ("x", "y"):
        with pytest.raises(DeviceError, match=f"%{name} = frobnicate"):
            read_by_shape(f"%{name} = frobnicate i32 1", {}, (), "_")

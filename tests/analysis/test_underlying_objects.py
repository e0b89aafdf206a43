"""Which memory a pointer points into."""

from __future__ import annotations

import pytest

from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects, unknown
from metalloid.ir.intrinsics import BUFFER, PRIVATE, THREADGROUP, reload_name
from metalloid.ir.types import PointerType
from metalloid.ir.values import Global
from tests.analysis.small import kernel

DEVICE = "ptr addrspace(1)"
CODE = f"""  %q = call {DEVICE} @{BUFFER}(i32 1)
  %t = call ptr addrspace(3) @{THREADGROUP}(i32 2)
  %own = call ptr addrspace(5) @{PRIVATE}(i32 4)
  %c = icmp ult i32 %i, 3
  %moved = getelementptr float, {DEVICE} %q, i32 %i
  %same = select i1 %c, {DEVICE} %q, {DEVICE} %moved
  %either = select i1 %c, {DEVICE} %p, {DEVICE} %q
  %behind = getelementptr i8, {DEVICE} %either, i64 4
  %loaded = load {DEVICE}, {DEVICE} %p
  %which = call {DEVICE} @{BUFFER}(i32 %i)
  %made = inttoptr i64 64 to {DEVICE}
  br label %loop
loop:
  %walk = phi {DEVICE} [ %q, %entry ], [ %on, %loop ]
  %stray = phi {DEVICE} [ %q, %entry ], [ %p, %loop ]
  %on = getelementptr float, {DEVICE} %walk, i64 1
  %more = icmp ult i32 %g, 3
  br i1 %more, label %loop, label %end
end:
  ret void"""


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("p", UnderlyingObject("buffer", 0)),
        ("moved", UnderlyingObject("buffer", 1)),
        ("same", UnderlyingObject("buffer", 1)),
        ("t", UnderlyingObject("threadgroup", 2, space=3)),
        ("own", UnderlyingObject("private", 4, space=5)),
        ("walk", UnderlyingObject("buffer", 1)),  # round the loop it stays in its buffer
        ("on", UnderlyingObject("buffer", 1)),
        *((name, unknown(1)) for name in ("either", "behind", "loaded", "which", "made", "stray")),
    ],
)
def test_the_root_of_a_pointer(name: str, root: UnderlyingObject) -> None:
    function = kernel(CODE)
    assert UnderlyingObjects(function).root(function.definitions[name].value) == root


def test_variables_by_their_space() -> None:
    objects = UnderlyingObjects(kernel(""))
    assert objects.root(Global("s", PointerType(3))) == UnderlyingObject("variable", name="s", space=3)
    assert objects.root(Global("k", PointerType(4))) == UnderlyingObject("constant", name="k", space=4)


def test_a_pointer_kept_across_a_barrier_has_the_root_of_its_slot() -> None:
    name = reload_name(PointerType(1))
    function = kernel(f"  %a = call {DEVICE} @{name}(i32 0)\n  %b = call {DEVICE} @{name}(i32 1)")
    kept = UnderlyingObject("buffer", 7)
    found = UnderlyingObjects(function, {0: kept}).of
    assert (found["a"], found["b"]) == (kept, unknown(1))

"""A cycle that is entered at several blocks gets one way in, and the module stays valid."""

from __future__ import annotations

import llvmlite.binding as llvm

from metalloid.ir import read, write
from metalloid.ir.loops import loops
from metalloid.ir.reducible import reducible

# From %first a switch goes on to %second by two of its edges: a phi there has a case for each.
SEVERAL_EDGES = """
define i32 @f(i32 %x) {
entry:
  switch i32 %x, label %first [
    i32 0, label %second
  ]
first:
  %p = phi i32 [ %x, %entry ], [ %r, %second ]
  switch i32 %p, label %second [
    i32 1, label %second
    i32 2, label %out
  ]
second:
  %q = phi i32 [ 5, %entry ], [ %p, %first ], [ %p, %first ]
  %r = add i32 %q, 1
  %c = icmp ult i32 %r, 9
  br i1 %c, label %first, label %out
out:
  ret i32 0
}
"""


def test_several_edges_of_one_switch_into_a_cycle() -> None:
    module = read(SEVERAL_EDGES)
    assert loops(module.function["f"]).irreducible
    made = module.with_function(reducible(module.function["f"]))
    assert not loops(made.function["f"]).irreducible
    llvm.parse_assembly(write(made)).verify()

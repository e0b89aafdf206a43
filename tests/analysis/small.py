"""The frame around a few instructions, so that a test can be about them alone."""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Module, read, verify, write
from metalloid.ir.intrinsics import BARRIER, BUFFER, ENTRY, full
from metalloid.ir.layout import DataLayout

LAYOUT = DataLayout()
# %i tells the threads of a threadgroup apart, %g is the same for all of them; %p is a buffer.
START = f"""  %i = call i32 @{full("thread_index_in_threadgroup")}()
  %g = call i32 @{full("threadgroup_position_in_grid")}(i32 0)
  %p = call ptr addrspace(1) @{BUFFER}(i32 0)
"""
WAIT = f"  call void @{BARRIER}(i32 2)\n"


def kernel(body: str, start: str = START) -> Function:
    """A kernel of these instructions; blocks may follow, and a `ret` is added where none stands at the end."""
    end = "" if body.rstrip().endswith("ret void") else "  ret void\n"
    text = f'target triple = "amdgcn-amd-amdhsa"\ndefine void @{ENTRY}() {{\nentry:\n{start}{body}\n{end}}}\n'
    return read(text).function[ENTRY]


def verified(function: Function) -> str:
    """The text of what a transformation made, once LLVM has found it well formed."""
    module = Module((function,))
    for i in function.instructions():
        if i.called:
            module = module.declare(i.called, i.type, tuple(o.type for o in i.operands))
    verify(module)
    return write(module)


def uniformity(function: Function, lanes: LaneLayout) -> Uniformity:
    return Uniformity(Flow(function), UnderlyingObjects(function), lanes, LAYOUT)

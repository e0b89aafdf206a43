"""Ask for rows of a matrix before they are wanted.

A loop down the rows of a matrix finds each in the second cache at best. Processors fetch neighbouring lines ahead,
and lines a short stride apart; rows lie farther, and only as many loads wait side by side as the arithmetic behind
them leaves room for. So a load that moves by a row asks for a later one: as many iterations ahead as it takes to
come, by the arithmetic of an iteration (two registers in a cycle), and no more, since rows a power of two apart share
few places of the first cache. Only where there is arithmetic to wait behind: asking takes the turn of a load.
"""

from __future__ import annotations

from metalloid.analysis.loop_stride import Stride, Strides
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.access.patterns import offset_of
from metalloid.backends.cpu.lower.access.plan import AccessPlan, Spot
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.loops import Loop
from metalloid.ir.types import FloatType

OTHERS = ("fadd", "fsub", "fdiv", "call")


def ask(e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan) -> None:
    """Ask for what the load `i`, which was just written, will load some iterations later."""
    loop = e.u.flow.forest.innermost.get(e.block)
    if loop is None or place.root.kind != "buffer" or e.out.check is not None:
        return
    if loop.header not in e.loops:
        e.loops[loop.header] = Strides(e.function, loop, e.out.layout), _work(e, loop)
    strides, work = e.loops[loop.header]
    if work < e.out.target.work_per_prefetch:
        return
    stride = strides.of(i.operands[0])
    if stride is None or not _far(e, stride) or not all(_same(e, n) for names in stride for n in names):
        return
    lines = _lines(e, plan)
    if work < e.out.target.work_per_prefetch * len(lines):
        return
    rounds = min(e.out.target.prefetch_iterations, -(-e.out.target.prefetch_ahead * 2 // work))
    e.out.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    by = _amount(e, stride, rounds)
    for spot in lines:
        at = e.put(f"add i64 {offset_of(e, place, spot)}, {by}")
        e.do(f"call void @llvm.prefetch.p0(ptr {address(e, place.ptr, at)}, i32 0, i32 3, i32 1)")


def _lines(e: Emitter, plan: AccessPlan) -> list[Spot]:
    """The cache lines that the lanes load from, as far as one can say."""
    line = e.out.target.line
    return list(dict.fromkeys(Spot(s.part, s.offset // line * line) for s in plan.spots))


def _work(e: Emitter, loop: Loop) -> int:
    """Registers of arithmetic in an iteration; products and sums are done together."""
    registers = max(1, 4 * e.width // e.out.target.vector_bytes)
    products = others = 0
    for name in loop.blocks:
        for i in e.function.block[name].body:
            if not isinstance(i.type, FloatType) or e.shape(i.value) is not None:
                continue
            products += i.opcode == "fmul"
            others += i.opcode in OTHERS
    return registers * max(products, others)


def _far(e: Emitter, stride: Stride) -> bool:
    """A stride that is a number in the program is as long as it says; one that is told at the launch is a row."""
    return bool(stride) and (any(stride) or abs(stride[()]) >= e.out.target.prefetch_beyond)


def _same(e: Emitter, name: str) -> bool:
    shape = e.shape(e.function.definitions[name].value)
    return shape is not None and not shape.terms


def _amount(e: Emitter, stride: Stride, rounds: int) -> str:
    """Bytes that so many iterations move."""
    total = "0"
    for names, number in stride.items():
        part = str(number * rounds)
        for name in names:
            part = e.put(f"mul i64 {e.coefficient(name, 'i64')}, {part}")
        total = part if total == "0" else e.put(f"add i64 {total}, {part}")
    return total

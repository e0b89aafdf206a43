"""Ask for memory before it is wanted: for rows of a matrix, and for what a loop goes through in order.

A loop down the rows of a matrix finds each in the second cache at best. Processors fetch neighbouring lines ahead,
and lines a short stride apart; rows lie farther, and only as many loads wait side by side as the arithmetic behind
them leaves room for. So a load that moves by a row asks for a later one: as many iterations ahead as it takes to
come, by the arithmetic of an iteration (two registers in a cycle), and no more, since rows a power of two apart share
few places of the first cache. Only where there is arithmetic to wait behind: asking takes the turn of a load.

A loop that goes through memory line after line is followed by the processor, but to the end of a page only, and no
farther ahead than its loads are: with arithmetic in between, it waits and computes in turns. Asking some lines ahead,
it does both at once (weights of 4 bits from memory: 12 GB/s, and 8 without).
"""

from __future__ import annotations

from metalloid.analysis.loop_stride import Stride, Strides
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.access.patterns import offset_of
from metalloid.backends.cpu.lower.access.plan import AccessPlan, Spot
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.loops import Loop
from metalloid.ir.types import FloatType, IntType

OTHERS = ("fadd", "fsub", "fdiv", "call")
UNCOUNTED = ("load", "phi", "bitcast")


def ask(e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan) -> None:
    """Ask for what the load `i`, which was just written, will load some iterations later."""
    loop = e.u.flow.forest.innermost.get(e.block)
    if loop is None or place.root.kind != "buffer" or e.out.check is not None:
        return
    if loop.header not in e.loops:
        e.loops[loop.header] = Strides(e.function, loop, e.out.layout), _work(e, loop), _arithmetic(e, loop)
    strides, work, all_work = e.loops[loop.header]
    target = e.out.target
    if all_work < target.work_per_prefetch:
        return
    stride = strides.of(i.operands[0])
    if stride is None:
        return
    lines, each = _lines(e, plan), target.work_per_prefetch
    if step := _in_order(e, stride, i):
        if all_work >= each * -(-abs(step) // target.line):
            ahead = target.walk_ahead if step > 0 else -target.walk_ahead
            _fetch(e, place, lines[: max(1, _bytes(e, i) // target.line)], str(ahead))
    elif (
        work >= each * max(1, len(lines))
        and _far(e, stride)
        and all(_same(e, n) for names in stride for n in names)
    ):
        rounds = min(target.prefetch_iterations, -(-target.prefetch_ahead * 2 // work))
        _fetch(e, place, lines, _amount(e, stride, rounds))


def _fetch(e: Emitter, place: MemRef, lines: list[Spot], by: str) -> None:
    """Ask for lines, so many bytes farther on."""
    e.out.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for spot in lines:
        at = e.put(f"add i64 {offset_of(e, place, spot)}, {by}")
        e.do(f"call void @llvm.prefetch.p0(ptr {address(e, place.ptr, at)}, i32 0, i32 3, i32 1)")


def _lines(e: Emitter, plan: AccessPlan) -> list[Spot]:
    """The cache lines that the lanes load from, as far as one can say."""
    line = e.out.target.line
    return list(dict.fromkeys(Spot(s.part, s.offset // line * line) for s in plan.spots))


def _work(e: Emitter, loop: Loop) -> int:
    """Registers of floats in an iteration; products and sums are done together."""
    registers = max(1, 4 * e.width // e.out.target.vector_bytes)
    products = others = 0
    for name in loop.blocks:
        for i in e.function.block[name].body:
            if not isinstance(i.type, FloatType) or e.shape(i.value) is not None:
                continue
            products += i.opcode == "fmul"
            others += i.opcode in OTHERS
    return registers * max(products, others)


def _arithmetic(e: Emitter, loop: Loop) -> int:
    """Registers of anything that is computed in an iteration, of words."""
    registers = max(1, 4 * e.width // e.out.target.vector_bytes)
    body = [i for name in loop.blocks for i in e.function.block[name].body]
    return registers * sum(
        isinstance(i.type, FloatType | IntType) and i.opcode not in UNCOUNTED and e.shape(i.value) is None
        for i in body
    )


def _in_order(e: Emitter, stride: Stride, i: Instruction) -> int:
    """The bytes that a loop goes on by, where line after line, each loaded once; else 0."""
    step = stride.get((), 0) if set(stride) == {()} else 0
    follows = max(e.out.target.line, _bytes(e, i)) <= abs(step) < e.out.target.prefetch_beyond
    return step if follows else 0


def _bytes(e: Emitter, i: Instruction) -> int:
    return e.width * e.out.layout.store_size(i.type)


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

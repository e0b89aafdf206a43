"""After the lowering: parts that can only be one pointer are that pointer, and what nobody reads goes.

A part is meant only where the tag says so. So of `phi [a, left], [-, right]` the part is `a` itself, wherever `a` is
known by then: an access through it is as regular as it was, and its buffer as well known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from metalloid.frontend.spaces.numbers import Parts
from metalloid.ir.build import FunctionBuilder
from metalloid.ir.dominance import dominators
from metalloid.ir.intrinsics import BUFFER, THREADGROUP
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Named, Value
from metalloid.records import replace

_PURE = frozenset(
    "getelementptr phi select freeze icmp ptrtoint inttoptr trunc zext lshr or addrspacecast".split()
)
_STARTS = (BUFFER, THREADGROUP)


def chosen(
    function: Function, choices: set[str], parts: Mapping[str, Parts], names: FunctionBuilder
) -> tuple[Function, dict[str, Parts]]:
    """The function with fewer of these phis and selects, and its parts by then."""
    values: dict[str, Value] = {}

    def final(value: Value) -> Value:
        while isinstance(value, Local) and value.name in values:
            value = values[value.name]
        return value

    dominates = dominators(function).dominates
    open_ = [i for i in function.instructions() if i.name in choices and i.opcode != "freeze"]
    changed = True
    while changed:
        changed = False
        for i in open_:
            if i.name in values:
                continue
            kept = i.operands[1:] if i.opcode == "select" else i.operands
            options = {o for o in map(final, kept) if not _open(o) and o != i.value}
            if len(options) > 1:
                continue
            value = next(iter(options), Named(i.type, "poison"))
            if isinstance(value, Local) and not _there(value, i, function, dominates):
                continue
            values[i.name] = value
            changed = True
    left = function.with_blocks(
        tuple(
            Block(b.name, tuple(i.map_operands(final) for i in b.instructions if i.name not in values))
            for b in function.blocks
        )
    )
    found = {n: Parts(final(p.tag), {s: final(v) for s, v in p.of.items()}) for n, p in parts.items()}
    return _started(left, choices, names), found


def _open(value: Value) -> bool:
    return isinstance(value, Named) and value.word in ("poison", "undef")


def _there(value: Local, i: Instruction, function: Function, dominates: Callable[[str, str], bool]) -> bool:
    """Whether a value is known where a choice is made. Of two phis of a loop's head, one has what the other was a round
    ago, unless that one stays as it is."""
    if i.opcode == "select":
        return True
    above, here = function.home[value.name], function.home[i.name]
    if above == here:
        other = function.definitions[value.name]
        last = {source: case for case, source in other.cases} if other.opcode == "phi" else {}
        return all(_open(case) or last.get(source) == value for case, source in i.cases)
    return dominates(above, here)


def _started(function: Function, choices: set[str], names: FunctionBuilder) -> Function:
    """Where a part is not meant, let it be the start of the memory that it points into elsewhere."""
    head: list[Instruction] = []
    starts: dict[Value | None, Value] = {}

    def start(i: Instruction, value: Value) -> Value:
        if not (_open(value) and i.name in choices and isinstance(i.type, PointerType)):
            return value
        found = set(_origins(function, i.value, set()))
        origin = next(iter(found)) if len(found) == 1 else None
        if origin is None:
            return Named(i.type, "null")
        if origin not in starts:
            starts[origin] = origin
            made = function.definitions[origin.name] if isinstance(origin, Local) else None
            if made is not None and made.opcode == "call":
                head.append(replace(made, name=names.fresh("start"), metadata=()))
                starts[origin] = head[-1].value
        return starts[origin]

    changed = function.map_instructions(lambda i: i.map_operands(lambda o: start(i, o)))
    first = changed.blocks[0]
    at = next(n for n, i in enumerate(first.instructions) if i.opcode != "alloca")
    whole = Block(first.name, (*first.instructions[:at], *head, *first.instructions[at:]))
    return changed.with_blocks((whole, *changed.blocks[1:]))


def _origins(function: Function, value: Value, seen: set[str]) -> Iterator[Value | None]:
    """The variables and buffers that a pointer may come from; None for one that is not known."""
    if isinstance(value, Global):
        yield value
    elif isinstance(value, Expression) and value.opcode == "getelementptr":
        yield from _origins(function, value.operands[0], seen)
    elif isinstance(value, Local) and value.name not in seen:
        seen.add(value.name)
        i = function.definitions[value.name]
        if i.opcode == "alloca" and function.home[i.name] == function.entry.name:
            yield value
        elif i.called in _STARTS and isinstance(i.operands[0], Int):
            yield next(
                s.value for s in function.instructions() if (s.called, s.operands) == (i.called, i.operands)
            )
        elif i.opcode in ("getelementptr", "phi", "select", "freeze"):
            kept = {"getelementptr": i.operands[:1], "select": i.operands[1:]}.get(i.opcode, i.operands)
            for operand in kept:
                yield from _origins(function, operand, seen)
        else:
            yield None
    elif not isinstance(value, Local) and not _open(value):
        yield None


def without_unused(function: Function) -> Function:
    """Less what has no effect and no reader that has one."""
    made = function.definitions
    work = [i for i in function.instructions() if i.opcode not in _PURE]
    live: set[str] = set()
    while work:
        fresh = {name for name in work.pop().uses if name not in live}
        live |= fresh
        work += [made[name] for name in fresh if made[name].opcode in _PURE]

    def kept(i: Instruction) -> bool:
        return i.opcode not in _PURE or i.name in live

    return function.with_blocks(
        tuple(Block(b.name, tuple(filter(kept, b.instructions))) for b in function.blocks)
    )

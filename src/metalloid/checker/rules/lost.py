"""M210: atomics that lose updates: load, compute and store, or a compare-exchange that is not tried again.

Each access is atomic and the three together are not: between load and store another thread has changed the value, and
its change is gone. Threads that run one after the other, as here, show nothing of it, so the code is asked, and the run
only whether several stores went to one place.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.checker.case import Case
from metalloid.checker.code import Code
from metalloid.checker.guards import buffers_of
from metalloid.findings import Finding
from metalloid.ir.intrinsics import BARRIER
from metalloid.ir.loops import loops
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Local, Value

_FETCH = {"add": "add", "sub": "sub", "or": "or", "and": "and", "xor": "xor"}


def lost_updates(case: Case) -> Iterator[Finding]:
    code = case.code
    if not any(i.ordering or i.opcode == "cmpxchg" for i in code.function.instructions()):
        return
    inside = loops(code.function).innermost
    for block in code.function.blocks:
        for instruction in block.instructions:
            if instruction.opcode == "store" and instruction.ordering and _shared(case, instruction, 1):
                yield from _stored(case, block, instruction)
            elif (
                instruction.opcode == "cmpxchg" and block.name not in inside and _shared(case, instruction, 0)
            ):
                yield from _once(case, block, instruction)


def _shared(case: Case, instruction: Instruction, pointer: int) -> bool:
    """Whether it ran more often than it has places: several threads went to one."""
    place = case.code.location(instruction)
    ran = case.observation.stores.get(place, 0) if place else 0
    places = sum(
        int(case.observation.touched(index).sum())
        for index in buffers_of(case.code, instruction.operands[pointer])
        if index in case.observation.writers
    )
    return ran > max(1, places)


def _stored(case: Case, block: Block, store: Instruction) -> Iterator[Finding]:
    """A store of what was computed from the value that was there, or on condition of it."""
    value, pointer = store.operands[0], store.operands[1]
    conditions = [c.value for c in case.code.conditions(block)]
    for n, source in enumerate((value, *conditions)):
        load = _loaded(case.code, source, pointer)
        if load is not None and not (n and _another_turn(case.code, load, store)):
            name = _name(case, pointer)
            yield _finding(
                case,
                store,
                f"load, change and store of {name} are three steps: what another thread stores between them is lost",
                f"let one atomic do it, {_instead(case.code, value)}, or try with"
                " atomic_compare_exchange_weak_explicit until nobody came between",
            )
            return


def _another_turn(code: Code, load: Instruction, store: Instruction) -> bool:
    """Whether a barrier is on every way from a test of threadgroup memory to a store there: `if (!moved) break;` at the
    end of a round, and a flag that the next one clears."""
    if buffers_of(code, store.operands[1]):
        return False  # other threadgroups do not wait at it
    homes = {i: block for block in code.function.blocks for i in block.instructions}
    first = homes[load]
    work = [first.instructions[first.instructions.index(load) + 1 :]]
    seen: set[str] = set()
    while work:
        rest = work.pop()
        stops = next((i for i in rest if i == store or i.called == BARRIER), None)
        if stops is None:
            ahead = [label for label in rest[-1].labels if label not in seen]
            seen.update(ahead)
            work += [code.function.block[label].instructions for label in ahead]
        elif stops == store:
            return False
    return True


def _once(case: Case, block: Block, exchange: Instruction) -> Iterator[Finding]:
    """A compare-exchange of what was there for what becomes of it, or on condition of it, whose outcome nobody looks
    at."""
    code = case.code
    used = any(exchange.name in i.uses for i in code.function.instructions() if not _reads_old(i, code))
    expected, desired = exchange.operands[1], exchange.operands[2]
    sources = (desired, *(condition.value for condition in code.conditions(block)))
    depends = isinstance(expected, Local) and any(_made_of(code, s, expected.name) for s in sources)
    if used or not depends:
        return
    name = _name(case, exchange.operands[0])
    yield _finding(
        case,
        exchange,
        f"a compare-exchange of {name} that is not tried again: where another thread came between, this update is lost",
        "write while (!atomic_compare_exchange_weak_explicit(p, &old, f(old), ...)) {}: a failed one puts the new value"
        f" into old; or let one atomic do it, {_instead(code, desired)}",
    )


def _reads_old(i: Instruction, code: Code) -> bool:
    """Whether an instruction takes a part of the outcome that nothing uses."""
    return i.opcode == "extractvalue" and not any(
        i.name in other.uses for other in code.function.instructions()
    )


def _loaded(code: Code, value: Value, pointer: Value) -> Instruction | None:
    """The atomic load of the same place that a value is computed from."""
    for made in _sources(code, value):
        if made.opcode == "load" and made.ordering and same_place(code, made.operands[0], pointer):
            return made
    return None


def _made_of(code: Code, value: Value, name: str) -> bool:
    return any(made.name == name for made in _sources(code, value))


def _sources(code: Code, value: Value) -> Iterator[Instruction]:
    seen: set[str] = set()
    work = [value]
    while work:
        one = work.pop()
        if isinstance(one, Local) and one.name not in seen and one.name in code.defined:
            seen.add(one.name)
            made = code.defined[one.name]
            yield made
            work += [] if made.opcode == "load" else made.operands


def same_place(code: Code, one: Value, other: Value) -> bool:
    """Whether two pointers are the same, or made alike."""
    if one == other:
        return True
    if not (isinstance(one, Local) and isinstance(other, Local)):
        return False
    a, b = code.defined.get(one.name), code.defined.get(other.name)
    if a is None or b is None or a.opcode != b.opcode or len(a.operands) != len(b.operands):
        return False
    if a.opcode == "call":
        return a.called == b.called and a.operands == b.operands
    return a.opcode == "getelementptr" and all(
        x == y or same_place(code, x, y) for x, y in zip(a.operands, b.operands, strict=True)
    )


def _instead(code: Code, value: Value) -> str:
    """The atomic that does the same, as far as one can tell."""
    made = code.defined.get(value.name) if isinstance(value, Local) else None
    what = _FETCH.get(made.opcode, "") if made is not None else ""
    return (
        f"atomic_fetch_{what}_explicit"
        if what
        else "such as atomic_fetch_add_explicit or atomic_fetch_max_explicit"
    )


def _name(case: Case, pointer: Value) -> str:
    found = sorted(buffers_of(case.code, pointer))
    return f"'{case.parameters[found[0]].name}'" if found and found[0] in case.parameters else "an atomic"


def _finding(case: Case, instruction: Instruction, message: str, hint: str) -> Finding:
    place = case.code.location(instruction)
    return Finding(
        "M210",
        message,
        case.launch.kernel,
        case.place(place),
        buffer=_name(case, instruction.operands[instruction.opcode == "store"]).strip("'"),
        hint=hint,
        count=case.observation.stores.get(place, 1) if place else 1,
        excerpt=case.line(place),
    )

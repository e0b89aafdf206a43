"""M207, M208: what SIMD-groups share among their lanes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from metalloid.backends.base import SIMD_WIDTH
from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.code import (
    DEVICE_LOAD,
    LANE,
    LOCAL_LOAD,
    SIMD_RESULT,
    SIMDGROUP,
    THREAD,
    Code,
    reduces,
)
from metalloid.findings import Finding
from metalloid.ir.intrinsics import SIMD_OPERATIONS, collective
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Int, Local, Value

_POSITIONS = frozenset((THREAD, LANE))
_PASS_ON = frozenset("add sub mul fadd fsub fmul bitcast fpext fptrunc zext sext trunc".split())
_STEPS = 3  # of arithmetic between a shuffle and a choice
_APART = frozenset((THREAD, SIMDGROUP))  # what differs between SIMD-groups


def inactive(case: Case) -> Iterator[Finding]:
    """M207: a shuffle or broadcast from a lane that is not there, or a matrix without all lanes."""
    told: set[object] = set()  # what follows in the same lanes lacks the same one
    for record in case.records("M207"):
        if not record.detail.get("matrix") and _left_aside(case, record):
            continue
        lane, read = record.detail.get("lane", 0), record.detail.get("read", 0)
        if record.detail.get("exists", True):
            why = "which took another branch"
            hint = "do the SIMD-group operation outside the branch, in all lanes"
        else:
            why = "which this SIMD-group does not have"
            hint = "make the threadgroup a multiple of 32 threads"
            hint += "" if record.detail.get("matrix") else ", or read only lanes that exist"
        if record.detail.get("matrix"):
            if (read, record.access.thread) in told:
                continue
            told.add((read, record.access.thread))
            message = f"an operation with SIMD-group matrices lacks lane {read}, {why}: each lane holds two elements"
            yield case.finding(record, f"{message}, and the result is undefined", hint)
            continue
        yield case.finding(record, f"lane {lane} reads lane {read}, {why}: the value is undefined", hint)


def _left_aside(case: Case, record: Record) -> bool:
    """Whether what was read goes nowhere but into choices that ask for the lane: `lane + n < count ? other : 0`."""
    place = record.access.location
    calls = [
        i
        for i in case.code.function.instructions()
        if i.name and collective(i.called) is not None and case.code.location(i) == place
    ]
    return bool(calls) and all(_chosen(case.code, i, _STEPS) for i in calls)


def _chosen(code: Code, value: Instruction, steps: int) -> bool:
    users = code.function.users.get(value.name, ())
    return bool(users) and all(_chooses(code, value, user, steps) for user in users)


def _chooses(code: Code, value: Instruction, user: Instruction, steps: int) -> bool:
    if user.opcode == "select" and isinstance(user.operands[0], Local):
        about = code.of(user.operands[0])
        return user.operands[0].name != value.name and bool(about & _POSITIONS)
    return steps > 0 and user.opcode in _PASS_ON and _chosen(code, user, steps - 1)


def partial_results(case: Case) -> Iterator[Finding]:
    """M208: the result of a SIMD-group is stored as if it were the threadgroup's.

    A threadgroup has several SIMD-groups, all take part in a reduction of their own values, and what comes
    out is put, without going through threadgroup memory, in a place that is the same for all of them.
    """
    groups = -(-prod(case.launch.threadgroup) // SIMD_WIDTH)
    if groups < 2 or SIMD_OPERATIONS not in case.code.text:
        return
    for block in case.code.function.blocks:
        for instruction in block.instructions:
            made = _stored(case.code, block, instruction)
            place = case.code.location(instruction)
            if made is None or place is None or not case.observation.stores.get(place, 0):
                continue
            operation = collective(made.called)
            assert operation is not None
            yield Finding(
                "M208",
                f"the result of {operation.function}, which is of one SIMD-group, is stored as the threadgroup's;"
                f" the threadgroup has {groups} SIMD-groups",
                case.launch.kernel,
                case.place(place),
                hint=(
                    "let the first lane of every SIMD-group add its own: if (thread_index_in_simdgroup == 0)"
                    if instruction.opcode == "atomicrmw"
                    else f"store the {groups} results in threadgroup memory (one per SIMD-group), put a"
                    f" threadgroup_barrier, and combine them; or launch with a threadgroup of {SIMD_WIDTH}"
                ),
                excerpt=case.line(place),
            )


def _stored(code: Code, block: Block, store: Instruction) -> Instruction | None:
    """The reduction whose result this stores in a place that all SIMD-groups share; None where it is fine."""
    if store.opcode == "store":
        value, pointer = store.operands
    elif store.opcode == "atomicrmw" and _chosen_by_thread(code, block):
        pointer, value = store.operands
    else:
        return None
    space = getattr(pointer.type, "space", 0)
    varying = {THREAD, SIMDGROUP, LANE, DEVICE_LOAD, LOCAL_LOAD} & code.of(pointer)
    if space not in (1, 3) or varying or SIMD_RESULT not in code.of(value):
        return None
    found = _reductions(code, value)
    if any(LOCAL_LOAD in code.of(made.operands[0]) for made in found):
        return None  # the other way is for threadgroups of one SIMD-group
    for made in found:
        if _APART & code.of(made.operands[0]) and not _one_group_only(code, made):
            return made
    return None


def _reductions(code: Code, value: Value) -> list[Instruction]:
    """The nearest reductions that a value comes from: several where paths meet."""
    seen: set[str] = set()
    found = []
    work = [value]
    while work:
        item = work.pop()
        if not isinstance(item, Local) or item.name in seen or item.name not in code.defined:
            continue
        seen.add(item.name)
        made = code.defined[item.name]
        if reduces(made):
            found.append(made)
        else:
            work += made.operands
    return found


def _chosen_by_thread(code: Code, block: Block) -> bool:
    """Whether one thread of the threadgroup does it, rather than one lane of each SIMD-group."""
    return any(_against_constant(code, c) and _APART & _compared(code, c) for c in code.conditions(block))


def _one_group_only(code: Code, made: Instruction) -> bool:
    """Whether a condition such as `lid < 32` lets one SIMD-group in."""
    block = next(b for b in code.function.blocks if made in b.instructions)
    return any(_against_constant(code, c) and _APART & _compared(code, c) for c in code.conditions(block))


def _against_constant(code: Code, condition: Instruction) -> bool:
    return condition.opcode == "icmp" and any(isinstance(o, Int) for o in condition.operands)


def _compared(code: Code, condition: Instruction) -> frozenset[str]:
    return frozenset().union(*(code.of(o) for o in condition.operands))

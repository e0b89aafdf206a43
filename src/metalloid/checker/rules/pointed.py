"""M106, M305 for outputs behind pointers in argument buffers, which no parameter names.

Nothing says what a kernel means to write there, so what is said needs evidence: memory that nobody had set before, or a
first part, one element for each thread, of an array as long as another one that the kernel reads; also where there was
a thread for every element, and a condition that looks at no data turned some away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from metalloid.backends.observe import Pointed
from metalloid.checker.case import Case
from metalloid.checker.guards import decided_by_data
from metalloid.checker.pointed import Member
from metalloid.checker.rules import bounds, meant
from metalloid.checker.rules.coverage import Extent, finding_of, short_axes
from metalloid.findings import Finding
from metalloid.findings import launch_words as words
from metalloid.ir.module import Instruction
from metalloid.runtime.argument_encoder import members as argument_members
from metalloid.runtime.arguments import element
from metalloid.types import Scalar, Struct


def behind_pointers(case: Case) -> Iterator[Finding]:
    """M106 and M305 for what pointers inside argument buffers lead to."""
    seen = case.observation
    if seen.stopped or not seen.pointed or not seen.threads:
        return
    told: set[int] = set()
    for member in case.pointed:
        written = _extent(_labelled(case, member), seen.pointed.get(member.resource), "written")
        if written is None or member.pointer.const or member.resource in told:
            continue
        undefined = member.resource in case.launch.undefined_resources
        if not written.count:
            if undefined and _silent(case):
                told.add(member.resource)
                yield _nothing(case, written)
        elif written.count < written.total and (lacking := _lacking(case, member, written)):
            told.add(member.resource)
            yield short_axes(case, written, lacking)
        elif written.count < written.total and (undefined or _short(case, member, written)):
            told.add(member.resource)
            yield _part(case, written, undefined)


def _labelled(case: Case, member: Member) -> Member:
    """A member under the label that the host gave its buffer, where it did."""
    label = case.launch.resource_name(member.resource)
    return member if any(m.name == label for m in case.pointed) else replace(member, name=label)


def _extent(member: Member, seen: Pointed | None, which: str) -> Extent | None:
    """Which elements have a mark, from where the pointer leads to the end of its memory."""
    type = member.pointer.element
    if (
        seen is None
        or type is None
        or not type.size
        or type.size % seen.granule
        or member.offset % seen.granule
    ):
        return None
    marks: np.ndarray[Any, Any] = getattr(seen, which)[member.offset // seen.granule :]
    each = type.size // seen.granule
    total = len(marks) // each
    if not total:
        return None
    parameter = replace(member.parameter, name=member.name, type=type, access="write", reference=False)
    return Extent(parameter, np.asarray(marks[: total * each].reshape(total, each).any(axis=1)))


def _short(case: Case, member: Member, written: Extent) -> bool:
    """Whether threads wrote a first part, one element each, of an output as long as an input."""
    seen, threads = case.observation.pointed[member.resource], prod(case.launch.grid)
    away = threads >= written.total and _by_position(case, member, written)
    if seen.read.any() or not written.prefix or not (written.count == threads or away):
        return False
    if written.count in (*meant.numbers(case), *_numbers(case)):
        return False
    return written.total in meant.inputs(case) or any(
        read.total == written.total and read.count and not case.observation.pointed[m.resource].written.any()
        for m in case.pointed
        if (read := _extent(m, case.observation.pointed.get(m.resource), "read")) is not None
    )


def _lacking(case: Case, member: Member, written: Extent) -> tuple[bounds.Bound, ...]:
    """The conditions that let more threads write than the launch has; none where a part may be meant."""
    if case.observation.pointed[member.resource].read.any() or not _by_position(case, member, written):
        return ()
    lengths = [
        read.total
        for m in case.pointed
        if (read := _extent(m, case.observation.pointed.get(m.resource), "read")) is not None
    ]
    if written.count in (*lengths, *meant.inputs(case), *meant.numbers(case), *_numbers(case)):
        return ()  # a cache that is filled so far
    return bounds.too_few(case, written.count, written.total)


def _by_position(case: Case, member: Member, written: Extent) -> bool:
    """Whether nothing but positions and arguments decided who stores, and what nobody wrote looks fresh."""
    code = case.code
    ran = [place for place, count in case.observation.stores.items() if count]
    blocks = [
        b for b in code.function.blocks if any(code.location(i) in ran for i in b.instructions if _stores(i))
    ]
    memory = next((m for start, m in case.launch.resources if start == member.resource), None)
    if memory is None or any(decided_by_data(case, block) for block in blocks):
        return False
    return meant.fresh(written.touched, memoryview(memory).cast("B")[member.offset :])


def _stores(i: Instruction) -> bool:
    return i.opcode in ("store", "atomicrmw", "cmpxchg")


def _numbers(case: Case) -> Iterator[int]:
    """The whole numbers among the members of argument buffers."""
    for parameter in case.kernel.signature.buffers:
        memory = case.launch.buffers.get(parameter.index)
        if memory is None or not isinstance(parameter.type, Struct):
            continue
        data = bytes(memoryview(memory).cast("B"))
        for _, (type, at) in argument_members(parameter.type):
            kind = element(type) if isinstance(type, Scalar) else None
            if kind is not None and kind.kind in "iu" and len(data) >= at + kind.itemsize:
                yield int(np.frombuffer(data[at : at + kind.itemsize], kind)[0])


def _silent(case: Case) -> bool:
    """Whether no store of the launch ran at all."""
    seen = case.observation
    return bool(seen.stores) and not any(seen.stores.values()) and not case.records("M101", "M102")


def _part(case: Case, written: Extent, undefined: bool) -> Finding:
    threads, name = prod(case.launch.grid), written.parameter.name
    missing = written.total - written.count
    if written.prefix and written.count == threads:
        return finding_of(
            case,
            "M305",
            written,
            f"the grid does not cover '{name}': {threads} threads wrote one element each, and it has {written.total}",
            f"launch {words.threads(case.kernel.source.form, written.total)}, or"
            f" let each thread write {-(-written.total // threads)} elements",
        )
    return finding_of(
        case,
        "M106",
        written,
        f"{missing} of {written.total} elements of '{name}' {'was' if missing == 1 else 'were'} never written:"
        f" {written.missing()}" + ("; what was there before is still there" if undefined else ""),
        "give the output a value first (device.zeros), or let a thread write each of them"
        if undefined
        else "a condition turns their threads away: correct it, or the size that it compares with",
    )


def _nothing(case: Case, written: Extent) -> Finding:
    threads = case.observation.threads
    return finding_of(
        case,
        "M106",
        written,
        f"nothing was written: none of {threads} threads came to a store, and '{written.parameter.name}' is as it was",
        "look at the condition before the store: it turns every thread of this launch away",
    )

"""M101-M105, M107, M109, M110: what a single access does wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from metalloid.backends.observe import Memory, Record, start_of
from metalloid.checker.case import Case, nbytes
from metalloid.checker.rules import mixed
from metalloid.checker.rules.unset import unset
from metalloid.findings import Finding
from metalloid.findings.bounds import Outside
from metalloid.runtime.alive import buffer_at
from metalloid.types import Vector

# A message and what to do; what else is known, for those that put findings together (`fold.py`).
Said = tuple[str, str] | tuple[str, str, Mapping[str, object]]
_NULL = 1 << 16  # bytes around address 0 that nothing but null pointers lead to
_NEAR = 1 << 16  # bytes behind a resource that are told from its end
_TWIN = "mt_s"  # a twin of a private variable (`frontend/unset`): nobody wrote it
_FAR = 1 << 40  # further from a buffer than any index of 32 bits goes


def accesses(case: Case) -> Iterator[Finding]:
    for record in case.observation.records:
        say = _SAY.get(record.rule)
        if say is None or (record.memory is not None and record.memory.name.startswith(_TWIN)):
            continue
        record = _placed(case, record)
        message, hint, *more = say(case, record)
        yield case.finding(_noted(record, *more), message, hint)


def _placed(case: Case, record: Record) -> Record:
    """An address where no memory is as an offset of what it is a little behind of."""
    if record.rule not in ("M101", "M102") or record.memory is None or record.memory.kind != "null":
        return record
    left = _left(case, record.offset or 0)
    return record if left is None else replace(record, memory=left[0], offset=left[1])


def _noted(record: Record, note: Mapping[str, object] | None = None) -> Record:
    """A record with what a rule has found out about it."""
    return replace(record, detail={**record.detail, **note}) if note else record


def _outside(case: Case, record: Record) -> Said:
    assert record.memory is not None and record.offset is not None
    memory, what = record.memory, "write" if record.rule == "M102" else "read"
    if memory.kind == "null" or abs(record.offset) >= _FAR:
        return _nowhere(memory, record.offset, what)
    name = case.called(memory)
    if memory.kind == "buffer" and memory.index not in case.launch.buffers:
        return (
            f"{what} of {name}, which is not bound",
            f"bind a buffer at index {memory.index}, or do not touch '{case.name(memory)}' in this variant",
        )
    if memory.kind == "threadgroup" and memory.index < 0 and not memory.name:
        return (
            f"{what} at threadgroup address {record.offset:#x}, where no threadgroup memory is",
            "take the address of a threadgroup variable or argument instead of making a pointer from a number",
        )
    if memory.kind == "threadgroup" and not memory.bytes:
        return (
            f"{what} of {name}, a threadgroup argument without memory",
            f"pass threadgroup_memory={{{memory.index}: bytes}}",
        )
    outside = Outside(
        record.rule == "M102",
        case.name(memory) or "its memory",
        record.offset,
        record.access.size,
        memory.bytes,
        case.element_size(memory),
        case.launch.grid,
        case.launch.threadgroup,
        record.access.thread,
        memory.kind == "buffer",
        case.line(record.access.location),
        case.kernel.source.form,
        _barrier_follows(case, record),
        _without_gaps(case, memory),
        start_of(case.launch.buffers.get(memory.index)) if memory.kind == "buffer" else 0,
    )
    if by_position := mixed.outside_hint(case, record):
        return outside.message, by_position, {"mixed": True}
    return outside.message, outside.hint


def _left(case: Case, address: int) -> tuple[Memory, int] | None:
    """The resource that an address is a little behind of, and how far from its start. Where another buffer is there, it
    has to be nearer than it is long: an address that nobody told may lie behind anything."""
    known = [
        (at, Memory("resource", name=case.launch.resource_name(at), bytes=nbytes(m)))
        for at, m in case.launch.resources
    ]
    known += [
        (memory.ctypes.data, Memory("buffer", index, bytes=nbytes(memory)))
        for index, memory in case.launch.buffers.items()
        if isinstance(memory, np.ndarray)
    ]
    near = ((address - at - memory.bytes, at, memory) for at, memory in known)
    found = min((one for one in near if 0 <= one[0] < _NEAR), key=lambda one: one[0], default=None)
    if found is None or (found[0] >= found[2].bytes and buffer_at(address) is not None):
        return None
    return found[2], address - found[1]


def _barrier_follows(case: Case, record: Record) -> bool:
    here = record.access.location
    places = (barrier.location for barrier in case.code.barriers)
    return here is not None and any(
        p is not None and p.file == here.file and p.line >= here.line for p in places
    )


def _without_gaps(case: Case, memory: Memory) -> str:
    """The packed type of a buffer of vectors of three."""
    type = (
        case.parameters[memory.index].type
        if memory.kind == "buffer" and memory.index in case.parameters
        else None
    )
    return f"packed_{type}" if isinstance(type, Vector) and type.length == 3 and not type.packed else ""


def _nowhere(memory: Memory, offset: int, what: str) -> tuple[str, str]:
    """A pointer that leads to no buffer."""
    if 0 <= offset < _NULL:
        at = f", {offset} bytes from it" if offset else ""
        return f"{what} through a null pointer{at}", "give the pointer a buffer before it is used"
    address = f", {offset:#x}" if memory.kind == "null" else ""
    if memory.kind == "null" and (buffer := buffer_at(offset)) is not None:
        return (
            f"{what} at {offset:#x}, an address of {buffer}, which the encoder does not know",
            "call use_resource with that buffer: a GPU may not have it at hand otherwise",
        )
    return (
        f"{what} at an address where no buffer is{address}: it left its buffer, or is made of a number",
        "keep the index inside the buffer; as a field of an argument buffer pass the Buffer itself",
    )


def _misaligned(case: Case, record: Record) -> tuple[str, str]:
    assert record.memory is not None and record.offset is not None
    align, base = record.detail["align"], record.detail["base"]
    name = case.called(record.memory)
    what = f"misaligned {record.access.what}"
    if base:
        return (
            f"{what}: the memory bound as {name} does not start at a multiple of {align} bytes",
            f"bind it from an offset that is a multiple of {align}, or pass a copy",
        )
    return (
        f"{what} at offset {record.offset} of {name}, where a multiple of {align} is needed",
        f"{'write' if record.access.what == 'write' else 'read'} the elements one by one, or through a packed_ vector"
        " type, which needs no alignment",
    )


def _element(case: Case, record: Record) -> str:
    """Where an access went, as its author counts."""
    assert record.memory is not None and record.offset is not None
    each = case.element_size(record.memory) or record.access.size
    if not each or record.offset % each:
        return f"offset {record.offset}"
    return f"element {record.offset // each}"


def _threadgroup_undefined(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    return (
        f"{name} is read before any thread of the threadgroup has written there ({_element(case, record)})",
        f"write every element of {name} that is read, then threadgroup_barrier(mem_flags::mem_threadgroup)",
    )


def _device_undefined(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    return (
        f"{name} is read before anything was written there ({_element(case, record)}); its memory starts undefined",
        f"fill {name} before the launch (device.zeros, or init_value in MLX), or do not read it before it is written",
    )


def _input(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    return (
        f"write to {name}, which the kernel declares as an input",
        f"write to an output instead, or declare {name} without const and let callers know that it changes",
    )


def _array(case: Case, record: Record) -> Said:
    index, size, place = record.detail["index"], record.detail["size"], case.place(record.access.location)
    name, axes = _subscripted(case.line(place), place.column if place else 0)
    room = f", which has {size} element{'s' * (size != 1)}" if size else ""
    last = f"the last index is {size - 1}: " if size else ""
    where = "before the start" if index < 0 else "past the end"
    if axes == 1:
        what, more = f"'{name}'", f", or make '{name}' larger; what lies past an array is anything"
    elif size and _rows(case, name) == size:
        what, room = f"the rows of '{name}'", f", of which there are {size}"
        more = f", or give '{name}' more rows; is it divided by the length of a row?"
    else:
        named = f"'{name}'" if name else "an array"
        what = f"{named}, or of one of its rows"
        more = ", or make the rows longer. Past a row lies the next row, past a private array lies anything"
    return (
        f"index {index} is {where} of {what}{room}",
        f"{last}keep the index inside{more}",
        {"axes": axes},
    )


def _rows(case: Case, name: str) -> int:
    """How many rows an array of two axes is declared with, where its rows have another length; 0 of anything else."""
    last = re.escape(re.split(r"\.|->", name)[-1])
    found = re.findall(rf"\b{last}\s*\[\s*(\d+)\s*\]\s*\[\s*(\d+)\s*\]\s*[;,=]", case.kernel.source.text)
    return int(found[0][0]) if len(found) == 1 and found[0][0] != found[0][1] else 0


def _subscripted(line: str, column: int) -> tuple[str, int]:
    """The array that stands at a column, and how many subscripts it has there: `tile[y][x]` is tile, 2."""
    found = _SUBSCRIPTS.match(line, column - 1) if 0 < column <= len(line) else None
    if found is None:
        return "", 0
    depth = axes = 0
    for letter in found["rest"] + line[found.end() :]:
        depth += letter == "["
        axes += letter == "[" and depth == 1
        depth -= letter == "]"
        if depth == 0 and letter not in "]" and not letter.isspace():
            break
    return found["name"], axes


_SUBSCRIPTS = re.compile(r"(?P<name>[A-Za-z_]\w*(?:(?:\.|->)\w+)*)(?P<rest>\s*\[)")


_SAY: dict[str, Callable[[Case, Record], Said]] = {
    "M101": _outside,
    "M102": _outside,
    "M103": _misaligned,
    "M104": _threadgroup_undefined,
    "M105": _device_undefined,
    "M107": _input,
    "M109": _array,
    "M110": unset,
}

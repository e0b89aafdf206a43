"""What pointers inside argument buffers lead to: a name such as `args.out` for each, its type, and where it lies.

The names come from the argument buffers as they are before the launch; a label that the host gave goes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from metalloid.backends.base import Launch
from metalloid.types import Array, Parameter, Pointer, Signature, Struct, Type

_DEEPEST = 4  # argument buffers that lead to argument buffers
_MOST = 256  # elements of an array of argument buffers, and pointers in all


@dataclass(frozen=True)
class Member:
    """A pointer in an argument buffer, and the resource that it points into."""

    name: str  # as the kernel's author would write it
    parameter: Parameter  # the argument buffer
    pointer: Pointer
    resource: int  # the address at which the resource starts
    offset: int  # bytes from there


def members(signature: Signature, launch: Launch) -> tuple[Member, ...]:
    """All that pointers of bound argument buffers lead to, each once."""
    found: dict[tuple[str, int], Member] = {}
    ranges = {start: np.frombuffer(memoryview(m).cast("B"), np.uint8) for start, m in _flat(launch)}
    for parameter in signature.buffers:
        memory = launch.buffers.get(parameter.index)
        if memory is None or not isinstance(parameter.type, Struct):
            continue
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        mark = "." if parameter.reference else "->"
        size = max(1, parameter.type.size)
        many = len(data) // size > 1
        for n in range(min(len(data) // size, _MOST)):
            start = f"{parameter.name}[{n}]." if many else f"{parameter.name}{mark}"
            part = data[n * size : (n + 1) * size]
            for member in _inside(parameter, parameter.type, part, start, ranges, 0):
                found.setdefault((member.name, member.resource), member)
                if len(found) >= _MOST:
                    return tuple(found.values())
    return tuple(found.values())


def with_names(signature: Signature, launch: Launch) -> Launch:
    """The launch with names for its resources that have no label."""
    if not launch.resources:
        return launch
    names: dict[int, str] = {}
    for member in members(signature, launch):
        names.setdefault(member.resource, member.name)
    return replace(launch, resource_names={**names, **launch.resource_names})


def _flat(launch: Launch) -> Iterator[tuple[int, memoryview]]:
    for start, memory in launch.resources:
        view = memoryview(memory)
        if view.contiguous and view.nbytes:
            yield start, view


def _inside(
    parameter: Parameter,
    type: Type,
    data: np.ndarray[tuple[int], np.dtype[np.uint8]],
    name: str,
    ranges: Mapping[int, np.ndarray[tuple[int], np.dtype[np.uint8]]],
    depth: int,
) -> Iterator[Member]:
    """The pointers of a struct, an array or a pointer, in bytes that hold it."""
    if isinstance(type, Struct):
        for field in type.fields:
            part = data[field.offset : field.offset + field.type.size]
            yield from _inside(parameter, field.type, part, f"{name}{field.name}.", ranges, depth)
    elif isinstance(type, Array):
        size = type.element.size
        for n in range(min(type.length, _MOST)):
            part = data[n * size : (n + 1) * size]
            yield from _inside(parameter, type.element, part, f"{name.rstrip('.')}[{n}].", ranges, depth)
    elif isinstance(type, Pointer) and len(data) == 8:
        address = int.from_bytes(data.tobytes(), "little")
        start = next((s for s, m in ranges.items() if s <= address < s + len(m)), None)
        if start is None:
            return
        yield Member(name.rstrip("."), parameter, type, start, address - start)
        if isinstance(type.element, Struct) and depth < _DEEPEST:
            behind = ranges[start][address - start :][: type.element.size]
            if len(behind) == type.element.size:
                yield from _inside(
                    parameter, type.element, behind, f"{name.rstrip('.')}->", ranges, depth + 1
                )

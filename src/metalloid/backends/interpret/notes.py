"""What an observer writes down: places of the code, and records folded by kind and place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.thread import Thread
from metalloid.backends.observe import Access, Memory, Record
from metalloid.backends.races import Event
from metalloid.ir.debug import Location, location
from metalloid.ir.intrinsics import ENTRY, is_matrix_store, matrix_access
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Instruction, Module, copy_alignments
from metalloid.ir.types import PointerType, Type
from metalloid.ir.values import Value

_ATOMIC = ("atomicrmw", "cmpxchg")
_SHARED = (1, 3)  # address spaces: device, threadgroup
_WORD = 4  # bytes; no granule is larger


@dataclass(frozen=True)
class Site:
    """An instruction that touches memory."""

    number: int
    location: Location | None
    atomic: bool = False
    changes: bool = False  # reads and writes at once
    copies: bool = False  # memcpy: bytes of any meaning
    align: int = 0  # of a copy that of its target
    source_align: int = 0  # of a copy


class Notes:
    """Records so far, and the sites of a module."""

    def __init__(self, module: Module, launch: Launch) -> None:
        self.module, self.launch = module, launch
        self._sites: dict[int, Site] = {}
        self._by_number: dict[int, Site] = {}
        self._stores: dict[Location, int] = {}
        self._records: dict[object, Record] = {}
        layout, sizes = data_layout(module.datalayout), [_WORD]
        for number, instruction in enumerate(module.function[ENTRY].instructions()):
            site = _site(module, instruction, number)
            self._sites[id(instruction)] = self._by_number[number] = site
            space, size = _access(instruction, layout.store_size)
            if space in _SHARED and size:
                sizes.append(size)
            if space in _SHARED and _stores(instruction) and site.location:
                self._stores.setdefault(site.location, 0)
        self.granule = 1 if 3 in sizes else min(sizes)

    def site(self, thread: Thread) -> Site:
        return self._sites[id(thread.current)]

    def stored(self, site: Site) -> None:
        if site.location in self._stores:
            self._stores[site.location] += 1

    def access(self, thread: Thread, instruction: Instruction | None, what: str, size: int = 0) -> Access:
        place = self._sites[id(instruction)].location if instruction is not None else None
        return Access(place, thread.position, thread.group.position, what, size)

    def access_at(self, instruction: Instruction, thread: Triple, threadgroup: Triple, what: str) -> Access:
        return Access(self._sites[id(instruction)].location, thread, threadgroup, what)

    def wrong(
        self,
        kind: str,
        thread: Thread,
        site: Site,
        pointer: Pointer,
        size: int,
        write: bool,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Something wrong with one access."""
        access = Access(site.location, thread.position, thread.group.position, _what(site, write), size)
        self.add(kind, access, None, pointer.object.memory, pointer.offset, detail)

    def race(self, kind: str, event: Event, other: Event, pointer: Pointer, size: int) -> None:
        """Two accesses that collide, the later one first."""
        access, before = self._side(event, size), self._side(other, size)
        self.add(kind, access, before, pointer.object.memory, pointer.offset)

    def _side(self, event: Event, size: int) -> Access:
        site = self._by_number[event.site]
        thread = unflattened(event.thread, self.launch.grid)
        group = unflattened(event.group, self.launch.threadgroups)
        return Access(site.location, thread, group, _what(site, event.write), size)

    def add(
        self,
        kind: str,
        access: Access,
        other: Access | None = None,
        memory: Memory | None = None,
        offset: int | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        key = kind, access.location, other.location if other else None, memory
        had, made = self._records.get(key), Record(kind, access, other, memory, offset, 1, detail or {})
        self._records[key] = made if had is None else had.with_another(made)

    def records(self) -> tuple[Record, ...]:
        return tuple(self._records.values())

    def stores(self) -> dict[Location, int]:
        return dict(self._stores)


def unflattened(number: int, size: Triple) -> Triple:
    """The position that has this number, x fastest."""
    x, y, _ = size
    return number % x, number // x % y, number // (x * y)


def _what(site: Site, write: bool) -> str:
    return "atomic" if site.atomic else "write" if write else "read"


def _site(module: Module, instruction: Instruction, number: int) -> Site:
    changes = instruction.opcode in _ATOMIC
    place = location(module, instruction)
    if instruction.called.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
        target, *source = copy_alignments(instruction)
        return Site(number, place, copies=True, align=target, source_align=(*source, 0)[0])
    align = instruction.align if instruction.opcode in ("load", "store", *_ATOMIC) else 0
    return Site(number, place, changes or bool(instruction.ordering), changes, align=align)


def _stores(instruction: Instruction) -> bool:
    copies = ("llvm.memcpy", "llvm.memmove", "llvm.memset")
    if instruction.called.startswith(copies) or is_matrix_store(instruction.called):
        return True
    return instruction.opcode in ("store", *_ATOMIC)


def _access(instruction: Instruction, size_of: Callable[[Type], int]) -> tuple[int, int]:
    """The address space an instruction touches, and how many bytes at once; (0, 0) for none."""
    name, operands = instruction.called, instruction.operands
    match instruction.opcode:
        case "load":
            return _space(operands[0]), size_of(instruction.type)
        case "store":
            return _space(operands[1]), size_of(operands[0].type)
        case "atomicrmw" | "cmpxchg":
            return _space(operands[0]), size_of(operands[1].type)
        case "call" if moved := matrix_access(name):
            return _space(operands[0]), moved.size
        case "call" if _stores(instruction):
            return _space(operands[0]), 1
        case _:
            return 0, 0


def _space(pointer: Value) -> int:
    return pointer.type.space if isinstance(pointer.type, PointerType) else 0

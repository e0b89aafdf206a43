"""One launch that was checked, as the rules see it: the kernel, the launch, what was observed, the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.observe import Access, Memory, Observation, Record
from metalloid.checker.code import Code
from metalloid.checker.pointed import Member, members
from metalloid.findings import Finding, Side
from metalloid.findings.places import pointed, python_line
from metalloid.frontend.diagnose import Texts
from metalloid.ir import Module, read
from metalloid.ir.debug import Location
from metalloid.types import Parameter, Vector

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode


@dataclass(frozen=True)
class Case:
    """What a rule is given."""

    kernel: KernelCode
    launch: Launch
    observation: Observation
    before: Mapping[int, Any] = field(default_factory=dict)  # what small outputs held before the launch

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.kernel.source)

    @cached_property
    def code(self) -> Code:
        return Code(self.kernel.checked_ir)

    def line(self, location: Location | None) -> str:
        """The source line at a place."""
        return self.texts.line(location.file, location.line) if location else ""

    def place(self, location: Location | None) -> Location | None:
        """A place with its column where a reader looks."""
        return pointed(location, self.line(location))

    @cached_property
    def parameters(self) -> Mapping[int, Parameter]:
        """Buffer parameters by index."""
        return {p.index: p for p in self.kernel.signature.buffers}

    @cached_property
    def pointed(self) -> tuple[Member, ...]:
        """What pointers inside argument buffers lead to."""
        return members(self.kernel.signature, self.launch) if self.launch.resources else ()

    @cached_property
    def module(self) -> Module:
        """The kernel's scalar IR."""
        return _module(self.kernel.ir)

    def called(self, memory: Memory | None) -> str:
        """What the user calls a piece of memory."""
        if memory is None:
            return "its memory"
        return f"'{self.name(memory)}'" if self.name(memory) else f"{memory.kind} {memory.index}"

    def name(self, memory: Memory | None) -> str:
        if memory is None:
            return ""
        if memory.kind == "buffer" and memory.index in self.parameters:
            return self.parameters[memory.index].name
        if memory.kind == "threadgroup" and not memory.name:
            found = (p for p in self.kernel.parameters if p.kind == "threadgroup" and p.index == memory.index)
            return next((p.name for p in found), "")
        if memory.name.startswith("__const."):  # a table inside a function: __const.function.table
            return memory.name.split(".")[2] if memory.name.count(".") > 1 else memory.name
        # LLVM adds to the names of what it inlines: s.i, s.i.i
        return memory.name.split(".")[0] if memory.kind == "private" else memory.name

    def element_size(self, memory: Memory | None) -> int:
        """Bytes of one element, 0 where it is not known."""
        if memory is None:
            return 0
        for p in self.kernel.parameters:
            if p.kind == memory.kind and p.index == memory.index:
                return p.type.size
        for member in self.pointed if memory.kind == "resource" else ():
            if self.launch.resource_name(member.resource) == memory.name and member.pointer.element:
                return member.pointer.element.size
        return 0

    def elements(self, index: int) -> int:
        """How many elements the buffer at an index has."""
        memory = self.launch.buffers.get(index)
        return 0 if memory is None else nbytes(memory) // self.unit(index)

    def unit(self, index: int) -> int:
        """Bytes of an element; of a number where a buffer of vectors ends in the middle of one."""
        type, memory = self.parameters[index].type, self.launch.buffers.get(index)
        cut = memory is not None and type.size and nbytes(memory) % type.size
        if cut and isinstance(type, Vector) and type.length != 3:  # those have a gap
            return type.element.size
        return max(1, type.size)

    def finding(self, record: Record, message: str, hint: str = "", **more: Any) -> Finding:
        """A finding at a record's place."""
        side = self.side(record.other) if record.other else None
        settings: dict[str, Any] = {
            "kernel": self.launch.kernel,
            "location": self.place(record.access.location),
            "thread": record.access.thread,
            "threadgroup": record.access.threadgroup,
            "buffer": self.name(record.memory),
            "count": record.count,
            "other": side,
            "excerpt": self.line(record.access.location),
            "detail": {"offset": record.offset, "what": record.access.what, **record.detail},
        }
        return Finding(record.rule, message, hint=hint, **{**settings, **more})

    def side(self, access: Access) -> Side:
        words = f"{access.what} by" if access.what in ("read", "write") else access.what
        return Side(
            words, self.place(access.location), access.thread, access.threadgroup, self.line(access.location)
        )

    def at_launch(self, rule: str, message: str, hint: str) -> Finding:
        """A finding about the launch, at the line that made it; at the kernel's where nobody knows."""
        place, excerpt = python_line(self.launch.place)
        if place is None:
            signature = self.kernel.signature
            place = Location(signature.file, signature.line, 0, signature.name)
            excerpt = self.line(place)
        return Finding(rule, message, self.launch.kernel, place, hint=hint, excerpt=excerpt)

    def records(self, *rules: str) -> tuple[Record, ...]:
        return tuple(r for r in self.observation.records if r.rule in rules)


@lru_cache(maxsize=64)
def _module(ir: str) -> Module:
    return read(ir)


def nbytes(memory: Any) -> int:
    return int(memory.nbytes) if isinstance(memory, np.ndarray) else memoryview(memory).nbytes

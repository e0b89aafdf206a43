"""What a kernel is, before anybody calls it: its signature and its code, made when they are asked for.

Whoever watches a launch or speaks of one needs this much; `Kernel` adds arguments and launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metalloid.backends.base import Fault, Launch, LogMessage
from metalloid.backends.clock import compiling
from metalloid.errors import KernelFault
from metalloid.runtime.processor import Processor
from metalloid.runtime.sizes import thread_limit
from metalloid.runtime.unit import TranslationUnit
from metalloid.source import Constant, Source
from metalloid.types import Parameter, Signature

if TYPE_CHECKING:
    from metalloid.backends.backend import Checked, Program


class KernelCode:
    """One kernel of a text, with values for its function constants, for one device."""

    def __init__(
        self, device: Processor, unit: TranslationUnit, name: str, constants: Mapping[str | int, Constant]
    ) -> None:
        self.device, self.unit, self.name, self.constants = device, unit, name, dict(constants)
        self.on_log: Callable[[LogMessage], None] | None = None

    @property
    def source(self) -> Source:
        return self.unit.source

    @cached_property
    def _scalar(self) -> tuple[str, Signature]:
        return self.unit.scalar(self.name, self.constants, self.device.backend.warm_up)

    @property
    def ir(self) -> str:
        """The scalar LLVM IR."""
        return self._scalar[0]

    @cached_property
    def signature(self) -> Signature:
        return self._scalar[1]

    @cached_property
    def checked_ir(self) -> str:
        """The scalar IR with every access that the user wrote, for runs that watch them."""
        return self.unit.checked(self.name, self.constants, self.device.backend.warm_up)

    @cached_property
    def checked_program(self) -> Checked:
        """This kernel under observation, on its device."""
        return self.device.backend.checked(self.checked_ir, self.signature)

    @cached_property
    def program(self) -> Program:
        backend = self.device.backend
        with compiling():
            own = backend.from_source(self.source, self.name, self.constants, self.signature)
            made = own or backend.program(self.ir, self.signature)
        made.told, made.noted = self._told, self._noted
        return made

    def _told(self, fault: Fault, launch: Launch) -> KernelFault:
        from metalloid.runtime.faults import told, too_deep

        return told(self.source, self.signature, too_deep(fault, self.ir), launch)

    def _noted(self, fault: Fault, launch: Launch) -> None:
        """What a launch went on after; whoever launches tells the caller."""

    @cached_property
    def inputs(self) -> frozenset[int]:
        """Buffers that the kernel declares const."""
        return frozenset(p.index for p in self.signature.buffers if p.const or p.space == "constant")

    @cached_property
    def bound_indices(self) -> tuple[int, ...]:
        """The indices of its buffers, in the order of its arguments."""
        return tuple(p.index for p in self.signature.buffers)

    @cached_property
    def local_indices(self) -> frozenset[int]:
        """The indices of threadgroup memory that the caller sizes."""
        return frozenset(p.index for p in self.parameters if p.kind == "threadgroup")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.signature.parameters

    @cached_property
    def loops(self) -> bool:
        """Whether a thread may go over the same code twice."""
        from metalloid.ir import read
        from metalloid.ir.intrinsics import ENTRY
        from metalloid.ir.loops import loops

        forest = loops(read(self.ir).function[ENTRY])
        return bool(forest.loops or forest.irreducible)

    @cached_property
    def scatters(self) -> frozenset[int]:
        """The buffers that it writes at places read from memory."""
        from metalloid.analysis.scattered_stores import scattered_stores
        from metalloid.ir import read
        from metalloid.ir.intrinsics import ENTRY

        return scattered_stores(read(self.ir).function[ENTRY])

    @cached_property
    def stored_bytes(self) -> dict[int, int]:
        """How many bytes a thread stores in each buffer, where it goes over its code once."""
        from metalloid.analysis.scattered_stores import stored_bytes
        from metalloid.ir import read
        from metalloid.ir.intrinsics import ENTRY

        return stored_bytes(read(self.ir).function[ENTRY])

    @property
    def max_threads_per_threadgroup(self) -> int:
        return thread_limit(self.signature, self.device.backend.limits)

    @property
    def thread_execution_width(self) -> int:
        return self.device.backend.limits.simd_width

    @property
    def threadgroup_memory_length(self) -> int:
        return self.signature.threadgroup_memory

    def __repr__(self) -> str:
        """The name and what a caller binds; code that is not made yet is not made for this."""
        if "_scalar" not in self.__dict__ and "signature" not in self.__dict__:
            return f"<kernel {self.name}>"
        return f"<kernel {self.name}({', '.join(p.name for p in self.signature.buffers)})>"

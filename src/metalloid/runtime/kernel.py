"""A kernel that can be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metalloid import config
from metalloid.backends.base import Launch, LogMessage, Triple
from metalloid.errors import LaunchError
from metalloid.runtime.arguments import bound
from metalloid.source import Constant
from metalloid.types import Parameter, Signature

if TYPE_CHECKING:
    from metalloid.backends.cpu.program import Program
    from metalloid.runtime.device import Library

Size = int | tuple[int, ...]
DEFAULT_THREADS = 256
LOCAL_LIMIT = 32768  # bytes of threadgroup memory


class Kernel:
    """One kernel of a library. Call it with its arguments in the order of their buffer indices, or by name."""

    def __init__(self, library: Library, name: str, constants: Mapping[str | int, Constant]) -> None:
        self.library, self.name, self.constants = library, name, dict(constants)
        self.on_log: Callable[[LogMessage], None] | None = None

    @cached_property
    def _scalar(self) -> tuple[str, Signature]:
        from metalloid.compile import scalar

        return scalar(self.library.source, self.name, self.constants)

    @property
    def ir(self) -> str:
        """The scalar LLVM IR."""
        return self._scalar[0]

    @cached_property
    def signature(self) -> Signature:
        return self._scalar[1]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.signature.parameters

    @cached_property
    def program(self) -> Program:
        from metalloid.compile import cpu_program

        return cpu_program(self.ir, self.signature)

    @property
    def max_threads_per_threadgroup(self) -> int:
        return min(1024, self.signature.max_total_threads)

    @property
    def thread_execution_width(self) -> int:
        return 32

    @property
    def threadgroup_memory_length(self) -> int:
        return self.signature.threadgroup_memory

    def __call__(
        self,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Mapping[int, int] | None = None,
        guard: bool = True,
        timeout: float | None = None,
        **named: object,
    ) -> None:
        """Run it and wait. `grid` counts threads; `threadgroups` counts threadgroups instead."""
        launch = self.launch(
            *arguments,
            grid=grid,
            threadgroup=threadgroup,
            threadgroups=threadgroups,
            threadgroup_memory=threadgroup_memory,
            **named,
        )
        self.program.run(launch, guard=guard, timeout=timeout, threads=config.threads(), on_log=self.on_log)

    def launch(
        self,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Mapping[int, int] | None = None,
        **named: object,
    ) -> Launch:
        """The launch that a call with these arguments makes."""
        memory, resources = bound(self.signature, arguments, named)
        threads, size = self._sizes(grid, threadgroup, threadgroups)
        local = dict(threadgroup_memory or {})
        total = self.threadgroup_memory_length + sum(local.values())
        if total > LOCAL_LIMIT:
            raise LaunchError(
                f"[launch {self.name}] threadgroup memory is {total} bytes; this device allows {LOCAL_LIMIT}."
            )
        return Launch(threads, size, memory, local, resources=resources, kernel=self.name)

    def _sizes(
        self, grid: Size | None, threadgroup: Size | None, threadgroups: Size | None
    ) -> tuple[Triple, Triple]:
        if (grid is None) == (threadgroups is None):
            raise LaunchError(
                f"[launch {self.name}] needs either grid= (threads in all) or threadgroups= (how many threadgroups)."
            )
        wanted = self._triple(
            "grid" if threadgroups is None else "threadgroups", grid if grid is not None else threadgroups
        )
        if threadgroup is None:
            if threadgroups is not None:
                raise LaunchError(
                    f"[launch {self.name}] threadgroups= needs threadgroup= as well: threads in each."
                )
            size: Triple = (min(max(1, wanted[0]), DEFAULT_THREADS, self.max_threads_per_threadgroup), 1, 1)
        else:
            size = self._triple("threadgroup", threadgroup)
        count = size[0] * size[1] * size[2]
        if count > self.max_threads_per_threadgroup:
            raise LaunchError(
                f"[launch {self.name}] threadgroup is {count} threads; this kernel allows"
                f" {self.max_threads_per_threadgroup}.\nPass a smaller threadgroup."
            )
        if threadgroups is not None:
            x, y, z = (a * b for a, b in zip(wanted, size, strict=True))
            return (x, y, z), size
        return wanted, size

    def _triple(self, what: str, size: Size | None) -> Triple:
        parts = (size,) if isinstance(size, int) or not hasattr(size, "__len__") else tuple(size)  # type: ignore[arg-type]
        if not 1 <= len(parts) <= 3 or not all(hasattr(p, "__index__") for p in parts):
            raise LaunchError(f"[launch {self.name}] {what} is {size!r}; pass 1 to 3 whole numbers.")
        x, y, z = (*(p.__index__() for p in parts if p is not None), 1, 1)[:3]
        if max(x, y, z) >= 1 << 32:
            raise LaunchError(
                f"[launch {self.name}] {what} is {size!r}; an axis holds fewer than 2^32 threads."
            )
        return x, y, z

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

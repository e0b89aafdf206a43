"""The compute encoder: says what a command buffer will do. Launches are validated here, at the line that asks.

Bindings are compared with what the kernel declares. A `raw` encoder takes them as Metal does: bytes, of which there
may be more than the kernel needs, or none; what a kernel does outside of them is for its guards to see.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from metalloid import config
from metalloid.backends.base import Guard, Launch
from metalloid.errors import LaunchError
from metalloid.runtime.arguments import matched, refuse
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.encoding import Commands, Encoder
from metalloid.runtime.heap import Heap
from metalloid.runtime.indirect import threadgroups_in
from metalloid.runtime.indirect_commands import IndirectCommands
from metalloid.runtime.kernel import Kernel, Local, kinds
from metalloid.runtime.plan import Bound, Plan
from metalloid.runtime.processor import Processor
from metalloid.runtime.raw import raw_launch
from metalloid.runtime.sizes import Size
from metalloid.runtime.steps import tell
from metalloid.runtime.watch import refusals, watchers
from metalloid.runtime.whole import whole

Later = Callable[[Launch], Launch]  # changes a launch just before it runs
_NOTHING: Any = MappingProxyType({})  # most encoders have none, and one is made for each few launches


class ComputeCommands(Commands, Protocol):
    """Takes launches with their arguments, and how they are guarded."""

    def _encoded(
        self,
        kernel: Kernel,
        launch: Launch,
        arguments: list[object],
        guard: Guard,
        later: Later | None,
        key: object,
    ) -> None:
        """`arguments` are held until it has run; those behind the kernel's own are only held."""
        ...

    def _encoded_quick(self, kernel: Kernel, plan: Plan, bound: Bound, guard: Guard) -> None: ...

    def _encoded_again(
        self, kernel: Kernel, plan: Plan, arguments: tuple[Any, ...], held: tuple[Any, ...], guard: Guard
    ) -> None:
        """One that has run before; `held` are the arguments with the arrays of buffers."""
        ...


class ComputeEncoder(Encoder):
    """Bindings stay from dispatch to dispatch, as in Metal. Each dispatch is handed to the command buffer."""

    kind = "compute encoder"
    _pipeline: Kernel | None = None
    _commands: ComputeCommands

    def __init__(
        self, device: Processor, commands: ComputeCommands, label: str = "", raw: bool = False
    ) -> None:
        Encoder.__init__(self, device, commands, label)
        self.raw = raw
        self._bound: dict[int, object] = {}
        self._below: dict[int, int] = {}  # offsets: what lies before them is of the same allocation
        self._local: dict[int, int] = _NOTHING
        self._used: dict[int, Buffer] = _NOTHING  # by address: buffers that kernels reach by address only
        self.guard: Guard = config.guard()

    def __repr__(self) -> str:
        state = "ended" if self._ended else "open"
        return f"<compute encoder, {state}, {self._pipeline or 'no pipeline'}, {len(self._bound)} bound>"

    def set_pipeline(self, kernel: Kernel) -> None:
        self._open("set_pipeline")
        self._belongs(kernel)
        self._pipeline = kernel
        tell("pipeline", self.kind, kernel.name)

    def set_buffer(
        self, buffer: Buffer | np.ndarray[Any, Any] | None, offset: int = 0, index: int = 0
    ) -> None:
        """Bind a buffer from a byte offset on; None unbinds."""
        self._open("set_buffer")
        at = _index(index)
        if buffer is None:
            self._bound.pop(at, None)
            self._below.pop(at, None)
            return
        if type(buffer) is Buffer and type(offset) is int and not offset:
            buffer.memory()  # refuses one that was released
            self._bound[at] = buffer
            self._below.pop(at, None)
            if watchers:
                tell("bind", self.kind, f"index {at}, {buffer} from 0")
            return
        if isinstance(buffer, Buffer):
            array = buffer.memory()
        elif isinstance(buffer, np.ndarray):
            array = buffer
        else:
            raise LaunchError(
                f"[encoder] M306 set_buffer takes a Buffer; got {buffer!r}.\nUse set_bytes for values."
            )
        start = whole("encoder", "offset", offset, -(1 << 63))
        if not 0 <= start <= array.nbytes:
            raise LaunchError(
                f"[encoder] M306 offset {start} is outside the buffer of {array.nbytes} bytes.\n"
                f"Offsets count bytes, from 0 to {array.nbytes}."
            )
        if start % array.itemsize:
            raise LaunchError(
                f"[encoder] M103 offset {start} is in the middle of an element of {array.itemsize} bytes.\n"
                f"Offsets count bytes: element n starts at n * {array.itemsize}."
            )
        self._below.pop(at, None)
        if start:
            self._below[at] = start
        if not start:
            self._bound[at] = buffer
        elif isinstance(buffer, Buffer):
            self._bound[at] = buffer.view(array.dtype, start)
        else:
            self._bound[at] = array.reshape(-1)[start // array.itemsize :]
        if watchers:
            tell("bind", self.kind, f"index {at}, {buffer} from {start}")

    def set_bytes(self, value: object, index: int = 0) -> None:
        """Bind a copy of a value: a number, a tuple, a struct as dict, bytes, an array."""
        self._open("set_bytes")
        at = _index(index)
        if isinstance(value, Buffer):
            raise LaunchError(
                "[encoder] M306 set_bytes copies values; got a Buffer.\nBind it with set_buffer."
            )
        self._below.pop(at, None)
        self._bound[at] = bytes(value) if isinstance(value, bytearray | memoryview) else _copied(value)
        if watchers:
            tell("bind", self.kind, f"index {at}, {value!r}")

    def set_threadgroup_memory(self, length: int, index: int = 0) -> None:
        self._open("set_threadgroup_memory")
        at = _index(index)
        self._local = {**self._local, at: whole("encoder", "length of threadgroup memory", length)}

    def use_resource(self, buffer: Buffer, usage: str = "read write") -> None:
        """Say that kernels reach this buffer by its `gpu_address`: guards and findings then know it by its label."""
        self._open("use_resource")
        if not isinstance(buffer, Buffer):
            raise LaunchError(f"[encoder] M306 use_resource takes a Buffer; got {buffer!r}.")
        if self._used is _NOTHING:
            self._used = {}
        self._used[buffer.address] = buffer
        tell("use", self.kind, f"{buffer} to {usage}")

    def use_heap(self, heap: Heap) -> None:
        """Say that kernels reach the buffers of a heap by their addresses."""
        for buffer in heap.buffers:
            self.use_resource(buffer)

    def memory_barrier(self) -> None:
        """Dispatches after it see what those before it wrote: here they always do."""
        self._open("memory_barrier")

    def dispatch_threads(self, grid: Size, threadgroup: Size) -> None:
        """Launch this many threads; the last threadgroup of an axis may be smaller."""
        self._dispatch(grid=grid, threadgroup=threadgroup)

    def dispatch_threadgroups(self, threadgroups: Size, threadgroup: Size) -> None:
        """Launch this many threadgroups."""
        self._dispatch(threadgroups=threadgroups, threadgroup=threadgroup)

    def dispatch_threadgroups_indirect(self, counts: Buffer, threadgroup: Size, offset: int = 0) -> None:
        """Launch as many threadgroups as three uint32 of a buffer say at the time it runs; none where one is 0."""
        self._open("dispatch")
        read = threadgroups_in(counts, offset)
        self._dispatch(threadgroups=1, threadgroup=threadgroup, later=read)

    def execute(self, commands: IndirectCommands, first: int = 0, count: int | None = None) -> None:
        """Run commands that were encoded into an indirect command buffer, in their order."""
        self._open("execute")
        before = self._pipeline, dict(self._bound), dict(self._below), dict(self._local)
        for command in commands.chosen(first, count):
            command.encode(self, commands)
            self._pipeline, bound, below, local = before
            self._bound, self._below, self._local = dict(bound), dict(below), dict(local)

    def dispatch(
        self,
        kernel: Kernel,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Local | None = None,
        overlap: bool = False,
        **named: object,
    ) -> None:
        """Pipeline, arguments and sizes at once, as in calling the kernel; other bindings stay as they are."""
        if self._ended:
            self._open("dispatch")
        if type(kernel) is not Kernel or kernel.device is not self.device:
            self._belongs(kernel)
        key = self._key(threadgroup_memory, grid, threadgroup, threadgroups, overlap)
        given = None if key is None else kernel.in_order(arguments, named) if named else arguments
        if given is not None and self._quickly(kernel, key, given, overlap, {}, False):
            return
        launch = kernel.launch(
            *arguments,
            grid=grid,
            threadgroup=threadgroup,
            threadgroups=threadgroups,
            threadgroup_memory=threadgroup_memory,
            overlap=overlap,
            **named,
        )
        values = matched(kernel.signature, arguments, named)
        ordered = [values[p.index] for p in kernel.signature.buffers]
        self._hand_over(kernel, launch, ordered, {}, None, key)

    def _dispatch(
        self,
        later: Later | None = None,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
    ) -> None:
        self._open("dispatch")
        kernel = self._pipeline
        if kernel is None:
            raise LaunchError(
                "[encoder] M306 dispatch without a pipeline: there is no kernel to run.\n"
                "Call set_pipeline(library['name']) first."
            )
        wanted = kernel.local_indices
        local = {i: n for i, n in self._local.items() if i in wanted} if wanted else {}
        key = (
            None
            if later is not None
            else self._key(local, grid, threadgroup, threadgroups, ("bound", self.raw))
        )
        if key is not None:
            given = tuple([self._bound.get(index) for index in kernel.bound_indices])
            if self._quickly(kernel, key, given, True, self._below, self.raw):
                return
        size = {"grid": grid, "threadgroup": threadgroup, "threadgroups": threadgroups}
        if self.raw:
            arguments = [self._bound.get(index) for index in kernel.bound_indices]
            launch = raw_launch(kernel, arguments, local, **{k: v for k, v in size.items() if v is not None})
        else:
            arguments = self._all_bound(kernel)
            launch = kernel.launch(*arguments, threadgroup_memory=local, overlap=True, **size)
        self._hand_over(kernel, launch, arguments, self._below, later, key)

    def _key(
        self,
        local: Local | None,
        grid: Size | None,
        threadgroup: Size | None,
        threadgroups: Size | None,
        how: object,
    ) -> object:
        """What dispatches have to share for the short way; None where this one has to go the long way."""
        if watchers or self._used or self._named or self._commands._named:
            return None
        if type(grid) is int and type(threadgroup) is int and threadgroups is None and not local:
            return how, grid, threadgroup, self.guard
        types = kinds(grid), kinds(threadgroup), kinds(threadgroups)
        try:
            key = (
                how,
                grid,
                threadgroup,
                threadgroups,
                types,
                tuple(local.items()) if local else (),
                self.guard,
            )
            hash(key)
        except TypeError:  # a list, for example
            return None
        return key

    def _quickly(
        self,
        kernel: Kernel,
        key: object,
        arguments: tuple[Any, ...],
        shared: bool,
        below: dict[int, int],
        raw: bool,
    ) -> bool:
        """The short way, for a dispatch like one that has run; False where the long one has to look at it."""
        plan = kernel.plans.get(key)
        if plan is None:
            return False
        held = None if below else plan.repeats(arguments)
        if held is not None:
            self._commands._encoded_again(kernel, plan, arguments, held, self.guard)
            return True
        bound = plan.bind(arguments, kernel, shared, below, raw)
        if bound is None:
            return False
        self._commands._encoded_quick(kernel, plan, bound, self.guard)
        return True

    def _all_bound(self, kernel: Kernel) -> list[object]:
        with refusals(kernel):
            for parameter in kernel.signature.buffers:
                if parameter.index not in self._bound:
                    refuse(
                        kernel.signature,
                        f"index {parameter.index} ('{parameter.name}') was never set.\n"
                        f"Call set_buffer(..., index={parameter.index}) or set_bytes(..., index={parameter.index})"
                        " before the dispatch.",
                    )
        return [self._bound[p.index] for p in kernel.signature.buffers]

    def _hand_over(
        self,
        kernel: Kernel,
        launch: Launch,
        arguments: list[object],
        offsets: dict[int, int],
        later: Later | None,
        key: object = None,
    ) -> None:
        """A launch with all that the encoder knows of it; `key` names the short way that others may go after it."""
        below = {index: n for index, n in offsets.items() if n and index in launch.buffers}
        during = self.during
        if below or during or self._used:
            used = [(at, buffer.memory()) for at, buffer in self._used.items()]
            names = {at: buffer.label for at, buffer in self._used.items() if buffer.label}
            undefined = {at for at, buffer in self._used.items() if buffer.fresh}
            for at in undefined:
                self._used[at].fresh = False
            launch = replace(
                launch,
                undefined_resources=launch.undefined_resources | undefined,
                below=below,
                during=during,
                resources=(*launch.resources, *used),
                resource_names={**launch.resource_names, **names},
            )
        if watchers:
            sizes = "in threadgroups of".join(f" {size} " for size in (launch.grid, launch.threadgroup))
            tell("dispatch", self.kind, f"{kernel.name},{sizes}".rstrip())
        held = [*arguments, *self._used.values()]
        self._commands._encoded(kernel, launch, held, self.guard, later, key)

    def _belongs(self, kernel: object) -> None:
        if not isinstance(kernel, Kernel):
            raise LaunchError(
                f"[encoder] M306 a pipeline is a kernel; got {kernel!r}.\nPass library['name']."
            )
        if kernel.device is not self.device:
            raise LaunchError(
                f"[encoder] M306 {kernel} is of {kernel.device}; this queue is of"
                f" {self.device}.\nMake the library and the queue from one device."
            )


def _copied(value: object) -> object:
    """What the caller may change afterwards; arrays inside a struct stay, since a pointer may lead to them."""
    if isinstance(value, dict):
        return {name: _part(part) for name, part in value.items()}
    return [_part(part) for part in value] if isinstance(value, list) else copy(value)


def _part(value: object) -> object:
    return _copied(value) if isinstance(value, dict | list) else value


def _index(index: object) -> int:
    if type(index) is int and 0 <= index < 31:
        return index
    number = whole("encoder", "buffer index", index, -(1 << 63))
    if not 0 <= number < 31:
        raise LaunchError(
            f"[encoder] M306 buffer index {number}; there are 31, from 0 to 30.\n"
            "Pass the number in the kernel's [[buffer(n)]]."
        )
    return number

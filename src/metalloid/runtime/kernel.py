"""A kernel that can be called: arguments become a launch, which runs under the eyes of all watchers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid import config, deadline
from metalloid.backends.base import Fault, Guard, Launch
from metalloid.errors import KernelFault, LaunchError, NotVectorised, OutOfTime
from metalloid.runtime.arguments import WRITES, bound, labels, unshared, untouched, untouched_inside
from metalloid.runtime.guarding import GUARDS, refuse_guard, warn_outside
from metalloid.runtime.guess import warn_about_grid
from metalloid.runtime.kernel_code import KernelCode
from metalloid.runtime.places import place, warn_slow
from metalloid.runtime.processor import Processor
from metalloid.runtime.reflection import Binding, bindings
from metalloid.runtime.sizes import Size, local_memory, shown, sizes
from metalloid.runtime.steps import step
from metalloid.runtime.unit import TranslationUnit
from metalloid.runtime.watch import refusals, watchers
from metalloid.source import Constant

if TYPE_CHECKING:
    from metalloid.runtime.argument_encoder import ArgumentEncoder
    from metalloid.runtime.plan import Plan

Local = Mapping[Any, int]  # bytes of threadgroup memory by index or name
_MOST_PLANS = 64


class Kernel(KernelCode):
    """One kernel of a library. Call it with its arguments in the order of their buffer indices, or by name."""

    def __init__(
        self, device: Processor, unit: TranslationUnit, name: str, constants: Mapping[str | int, Constant]
    ) -> None:
        super().__init__(device, unit, name, constants)
        self.interpreted = ""  # why there is no vector code
        self.plans: dict[object, Plan] = {}  # what `keep_plan` kept

    def __call__(
        self,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Local | None = None,
        guard: Guard | None = None,
        timeout: float | None = None,
        overlap: bool = False,
        **named: object,
    ) -> None:
        """Run it and wait. `grid` counts threads; `threadgroups` counts threadgroups instead.

        `guard` says what becomes of an access outside its memory: True stops the launch there, "robust" goes on (a
        read gives 0, a write is dropped, one warning), False does not look; see METALLOID_GUARD. `overlap` allows
        memory that is written to be bound twice; `timeout` is in seconds.
        """
        if guard is None:
            guard = config.guard()
        elif guard not in GUARDS:
            refuse_guard(self.name, guard)
        key: object = None
        ordered = self.in_order(arguments, named) if named else arguments
        if ordered is not None and not (watchers or timeout or overlap):
            try:
                local = tuple(threadgroup_memory.items()) if threadgroup_memory else None
                if type(grid) is int and type(threadgroup) is int and threadgroups is None:
                    key = grid, threadgroup, local, guard
                else:  # the types as well: 8.0 is not 8
                    types = kinds(grid), kinds(threadgroup), kinds(threadgroups)
                    key = grid, threadgroup, threadgroups, local, guard, types
                plan = self.plans.get(key)
            except TypeError:  # a list, for example
                key = plan = None
            if plan is not None and plan.go(ordered, self):
                return
        launch = self.launch(
            *arguments,
            grid=grid,
            threadgroup=threadgroup,
            threadgroups=threadgroups,
            threadgroup_memory=threadgroup_memory,
            overlap=overlap,
            **named,
        )
        self.run(launch, guard, timeout)
        if key is not None and key not in self.plans:
            self.keep_plan(key, launch, guard)

    def launch(
        self,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Local | None = None,
        overlap: bool = False,
        sized_by: Any = None,
        **named: object,
    ) -> Launch:
        """The launch that a call with these arguments makes; raises LaunchError where it would make none.

        `sized_by` is the index of the buffer whose elements `grid` counts, where the caller did not say how many run.
        """
        with refusals(self):
            self.refuse_undefined()
            limits = self.device.backend.limits
            threads, size = sizes(self.signature, limits, grid, threadgroup, threadgroups)
            local = local_memory(self.signature, limits, threadgroup_memory)
            memory, resources = bound(self.signature, arguments, named, self.device, overlap)
        if grid is not None and threadgroup is not None and sized_by is None:
            warn_about_grid(self, threads, size, memory)
        written_by = untouched(self.signature, arguments, named)
        return Launch(
            threads,
            size,
            memory,
            local,
            resources=resources,
            kernel=self.name,
            undefined=frozenset(i for i, launches in written_by.items() if not launches),
            launched={i: launches for i, launches in written_by.items() if launches},
            undefined_resources=untouched_inside(arguments, named.values()) if resources else frozenset(),
            inputs=unshared(self.inputs, memory) if overlap else self.inputs,
            sized_by=sized_by,
            place=place() if watchers else "",
            labels=labels(self.signature, arguments, named) if watchers else {},
        )

    @property
    def reflection(self) -> tuple[Binding, ...]:
        """What it takes: names, indices, accesses, sizes and members."""
        return bindings(self.signature)

    def argument_encoder(self, index: int) -> ArgumentEncoder:
        """What writes the argument buffer at this buffer index."""
        from metalloid.runtime.argument_encoder import ArgumentEncoder

        found = [p for p in self.signature.buffers if p.index == index]
        if not found:
            raise LaunchError(
                f"[argument encoder] M306 {self} has no buffer at index {index}.\n{self.signature}"
            )
        return ArgumentEncoder(found[0])

    def refuse_undefined(self) -> None:
        """Metal makes no pipeline of a function whose constants are not all known; it would compute with zeros."""
        if missing := self.signature.undefined_constants:
            values = ", ".join(f'"{name}": ...' for name in missing)
            raise LaunchError(
                f"[launch {self.name}] function constant {', '.join(map(repr, missing))} has no value.\n"
                f'Ask for the kernel with library.kernel("{self.name}", constants={{{values}}}).'
            )

    def run(self, launch: Launch, guard: Guard | None = None, timeout: float | None = None) -> None:
        """Run a launch that has been validated, under the eyes of all watchers."""
        guard = config.guard() if guard is None else guard
        done = False
        if watchers:
            self._show(launch)
            for watcher in tuple(watchers):
                done = watcher.before(self, launch) or done
            if not done:
                what = f"machine code for threadgroups of {shown(launch.threadgroup)}"
                with step("pipeline", self.name, what), deadline.within(timeout):
                    self._compile(launch, guard)
        error: BaseException | None = None
        start = time.perf_counter()
        try:
            if not done:
                self._execute(launch, guard, timeout)
        except BaseException as caught:
            error = caught
            raise
        finally:
            if watchers:
                self._show(launch)
            for watcher in tuple(watchers):
                watcher.after(self, launch, time.perf_counter() - start, error)

    def _execute(self, launch: Launch, guard: Guard, timeout: float | None) -> None:
        if not self.interpreted:
            try:
                self.program.run(
                    launch, guard=guard, timeout=timeout, threads=config.threads(), on_log=self.on_log
                )
                return
            except NotVectorised as error:  # found out while compiling: nothing has run
                self._go_slowly(error)
        from metalloid.backends.slow_way import run_interpreted

        self._show(launch)
        try:
            run_interpreted(self.ir, launch, timeout, self.on_log, self._noted if guard == "robust" else None)
        except KernelFault as error:
            if isinstance(error.finding, Fault):  # in the words of every other launch
                raise self._told(error.finding, launch) from None
            raise

    def _noted(self, fault: Fault, launch: Launch) -> None:
        warn_outside(self._told(fault, launch))

    def _show(self, launch: Launch) -> None:
        """Somebody other than the device looks at a launch's memory, or writes it."""
        for memory in (*launch.buffers.values(), *(memory for _, memory in launch.resources)):
            if isinstance(memory, np.ndarray):
                self.device.backend.host(memory)

    def _compile(self, launch: Launch, guard: Guard) -> None:
        if not self.interpreted:
            try:
                self.program.prepare(launch, guard, config.threads())
            except NotVectorised as error:
                self._go_slowly(error)

    def _go_slowly(self, error: NotVectorised) -> None:
        why = " ".join(str(error).removeprefix("[engine] ").split())[:200]
        if not isinstance(error, OutOfTime):  # another launch may have more
            self.interpreted = why
        warn_slow(
            f"[launch {self.name}] there is no vector code for this kernel ({why}): "
            "it is interpreted, one thread after the other, slowly."
        )

    @cached_property
    def outputs(self) -> tuple[tuple[int, str], ...]:
        """Which of its arguments it writes, and what messages call them."""
        return tuple(
            (n, f"the buffer bound as '{p.name}'")
            for n, p in enumerate(self.signature.buffers)
            if p.access in WRITES
        )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.signature.buffers)

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """All arguments by position; None where they are not what the kernel takes."""
        rest = self._names[len(arguments) :]
        if len(rest) != len(named):
            return None
        try:
            return (*arguments, *[named[name] for name in rest])
        except KeyError:
            return None

    def known_plan(self, key: object) -> Plan | None:
        """What `keep_plan` kept."""
        return self.plans.get(key)

    def keep_plan(self, key: object, launch: Launch, guard: Guard) -> None:
        """Make later launches like this one quick."""
        if plan := self.plan(launch, guard):
            if len(self.plans) >= _MOST_PLANS:
                self.plans.clear()
            self.plans[key] = plan

    def plan(self, launch: Launch, guard: Guard) -> Plan | None:
        """The short road for launches like this one; none for those that search for their pointers' buffers."""
        from metalloid.runtime.plan import Plan

        threads = config.threads()
        quick = None if self.interpreted else self.program.quick(launch, guard, threads)
        return Plan(self, launch, quick) if quick is not None else None


def kinds(size: object) -> object:
    """The types of a size: 8.0 is not 8."""
    return tuple(map(type, size)) if type(size) is tuple else type(size)

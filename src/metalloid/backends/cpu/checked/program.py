"""A checked run on the vector engine: the same launch with shadow memory, and what it saw.

It starts hopeful: vector accesses, narrow words. Where a lane is outside, or the words run out of serials, the
buffers are put back and the launch runs again, with care or with wide words. Where the words would take more than
three times the buffers, these are divided into windows, and the launch runs once for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from metalloid import deadline
from metalloid.backends import interpret
from metalloid.backends.base import Launch, LogMessage, Triple
from metalloid.backends.behind import size_behind, unchanged_behind
from metalloid.backends.cpu import native
from metalloid.backends.cpu.checked.arena import ARENA, Piece
from metalloid.backends.cpu.checked.attempt import CheckedRun
from metalloid.backends.cpu.checked.findings import Findings
from metalloid.backends.cpu.checked.joined import Joined
from metalloid.backends.cpu.checked.mode import bytes_of, checks_of, overlapping, range_of
from metalloid.backends.cpu.program import Program
from metalloid.backends.interpret.scheduler import Schedule
from metalloid.backends.observe import Observation, start_of
from metalloid.errors import DeviceError, NotWatched
from metalloid.transforms.check_sites import Checks, Options

T = TypeVar("T")
REDO_CAREFUL, REDO_WIDE = 5, 6
GOES_ROUND = (
    30_000  # instructions of a thread after which the oracle takes a loop for the one that does not end
)
MOST_COPIED = 1 << 26  # bytes of buffers that are copied to find out


class CheckedProgram:
    """One kernel under observation. `make` gives the program for a mode, `names` what users call variables;
    `once` are buffers that are read outside loops only, by the bytes of a read."""

    def __init__(
        self,
        ir: str,
        make: Callable[[Options], Program],
        names: Mapping[str, str],
        once: Mapping[int, int],
    ) -> None:
        self.ir, self._make, self._names, self._once = ir, make, names, once
        self._programs: dict[Options, Program] = {}

    def program(self, mode: Options) -> Program:
        if mode not in self._programs:
            self._programs[mode] = self._make(mode)
        return self._programs[mode]

    def run(
        self,
        launch: Launch,
        timeout: float | None = None,
        backwards: bool = False,
        on_log: Callable[[LogMessage], None] | None = None,
        seed: int | None = None,
        compiling: float | None = None,
    ) -> Observation:
        """Run to the end; the launch's buffers are changed in place, as by any run.

        `backwards` runs threadgroups and SIMD-groups from the last to the first; a `seed` shuffles the
        threadgroups, and an odd one turns the SIMD-groups round. `compiling` are seconds that its code is given.
        """
        if seed is not None:
            backwards = bool(seed & 1)
        if 0 in launch.grid:
            return Observation()
        mode = Options(
            undefined=_undefined(launch),
            aliased=overlapping(launch),
            marked=self._marked(launch),
            starts=tuple((i, far) for i, m in sorted(launch.buffers.items()) if (far := start_of(m) % 16)),
        )
        clock = _Clock(timeout, compiling)
        with clock.compiling():
            launch = self._writable(launch, mode, backwards)

        def prepared(mode: Options, window: tuple[int, int] = (0, 1)) -> CheckedRun:
            with clock.compiling():
                return CheckedRun(launch, self.program(mode), backwards, mode, self._names, seed, window)

        run = prepared(mode)
        backup = _Backup(launch, run)
        try:
            while True:
                if run.windows > 1:
                    run.end()
                    mode = replace(mode, windowed=True)
                    backup.keep(launch, run.checks)
                seen = self._passes(partial(prepared, mode), run, backup, clock, on_log)
                if isinstance(seen, Observation):
                    return seen
                mode = seen
                backup.restore()
                run = prepared(mode)
        finally:
            backup.end()

    def _passes(
        self,
        prepared: Callable[[tuple[int, int]], CheckedRun],
        run: CheckedRun,
        backup: _Backup,
        clock: _Clock,
        on_log: Callable[[LogMessage], None] | None,
    ) -> Observation | Options:
        """The launch, once for each window of its buffers; how to run again where it has to."""
        count = run.windows
        joined = Joined(run) if count > 1 else None
        for number in range(count):
            if number:
                backup.restore()
            if count > 1:
                run = prepared((number, count))
            status = run.start(clock.left())
            better = self._better(run, status)
            if better is not None:
                run.end()
                return better
            seen = self._end(run, status, clock.seconds, None if number else on_log)
            if status == native.FAULT:
                return _told(seen, run, self.ir)
            if status == native.TIMEOUT:
                return _located(seen, run, self.ir)
            if joined is None or seen.stopped:
                return seen
            joined.add(run, seen)
            del seen  # with its shadow, before the next one is made
            run.forget()
        assert joined is not None
        return joined.observation()

    def _marked(self, launch: Launch) -> frozenset[int]:
        """Buffers whose reads are wanted: those with holes, and inputs of more elements than there are threads (did
        these read one each, and leave the rest?)."""
        x, y, z = launch.grid
        return frozenset(
            i
            for i, size in self._once.items()
            if i in launch.buffers and bytes_of(launch.buffers[i]).nbytes // size > x * y * z
        ) | frozenset(launch.launched)

    def _writable(self, launch: Launch, mode: Options, backwards: bool) -> Launch:
        """Kernels that write to arrays which cannot be written get copies of them."""
        fixed = [i for i, m in launch.buffers.items() if not bytes_of(m).flags.writeable]
        if not fixed:
            return launch
        checks = checks_of(self.program(mode).prepared(launch, True, backwards, 1))
        copied = [i for i in fixed if i in checks.written or checks.unknown]
        if not copied:
            return launch
        buffers = {**launch.buffers, **{i: bytes_of(launch.buffers[i]).copy() for i in copied}}
        return replace(launch, buffers=buffers, inputs=launch.inputs | frozenset(copied))

    def _better(self, run: CheckedRun, status: int) -> Options | None:
        """How to run again; None where this was the last word."""
        mode = run.mode
        if status == REDO_WIDE:
            if run.began:
                ARENA.clear()  # new arrays start from the first serial
                return mode
            return replace(mode, wide=True)
        if status == REDO_CAREFUL or (status == native.FAULT and not run.at_barrier()):
            if mode.continue_after_fault:
                raise NotWatched(f"[check {run.launch.kernel}] stopped by an access that is not watched")
            return replace(mode, continue_after_fault=True)
        return None

    def _end(
        self,
        run: CheckedRun,
        status: int,
        timeout: float | None,
        on_log: Callable[[LogMessage], None] | None,
    ) -> Observation:
        if run.record.log_count:
            self.program(run.mode).finish(run.prepared, run.record, run.launch, 0, timeout, on_log)
        if status == native.INTERRUPTED:
            raise KeyboardInterrupt
        if status == native.NO_MEMORY:
            raise DeviceError(f"[launch {run.launch.kernel}] no memory for threadgroup memory and scratch")
        stopped = ""
        if status == native.TIMEOUT:
            stopped = f"still running after {timeout:g} s under the checker"
        elif status == native.FAULT:
            stopped = "a barrier was not reached by all threads of a threadgroup"
        return Findings(run).observation(stopped)


class _Clock:
    """What a launch has left of its seconds. Compiling has its own."""

    def __init__(self, seconds: float | None, compiling: float | None) -> None:
        self.seconds, self._compiling = seconds, compiling
        self._end = time.monotonic() + (seconds or 0.0)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        begun = time.monotonic()
        with deadline.within(self._compiling):
            yield
        self._end += time.monotonic() - begun

    def left(self) -> float | None:
        return max(1e-3, self._end - time.monotonic()) if self.seconds else None


class _Backup:
    """The bytes of buffers that a kernel may change, as they were; none where it will not run again."""

    def __init__(self, launch: Launch, run: CheckedRun) -> None:
        self._kept: list[tuple[np.ndarray[Any, Any], Piece]] = []
        if not run.sure:
            self.keep(launch, run.checks)

    def keep(self, launch: Launch, checks: Checks) -> None:
        if self._kept:
            return
        indices = launch.buffers.keys() if checks.unknown else checks.written & launch.buffers.keys()
        memories = [launch.buffers[i] for i in indices]
        if checks.unknown:
            memories += [m for _, m in launch.resources]
        self._kept = [(view, _copied(view)) for view in map(bytes_of, memories) if view.flags.writeable]

    def restore(self) -> None:
        for view, copy in self._kept:
            view[...] = copy.array[: len(view)]

    def end(self) -> None:
        ARENA.give([copy for _, copy in self._kept], 0)


@dataclass(frozen=True)
class _First(Schedule):
    """One threadgroup before all others."""

    group: Triple = (0, 0, 0)

    def arranger(self) -> Callable[[list[T]], list[T]]:
        return lambda items: sorted(items, key=lambda item: item != self.group)


def _told(seen: Observation, run: CheckedRun, ir: str) -> Observation:
    """With what the oracle says of the threadgroup whose threads are not all at a barrier: it knows where each
    of them went. It starts with that threadgroup, and that ends it."""
    launch, fault = run.launch, run.record.fault
    if _copied_bytes(launch) > MOST_COPIED:
        return seen
    buffers: dict[int, Any] = {i: bytes_of(m).copy() for i, m in launch.buffers.items()}
    schedule = _First(group=(fault.x, fault.y, fault.z))
    with unchanged_behind(launch):
        one = interpret.observe(ir, replace(launch, buffers=buffers), schedule, seconds=10.0)
    better = [r for r in one.records if r.rule == "M204"]
    if not better:
        return seen
    kept = [r for r in seen.records if r.rule != "M204"]
    return replace(seen, records=(*kept, *better), stopped=one.stopped)


def _located(seen: Observation, run: CheckedRun, ir: str) -> Observation:
    """With the place where the threadgroup that ran last goes round: the oracle starts with it, from what memory holds
    now, and gives up soon."""
    launch, count = run.launch, int(run.check.group_count)
    if not count or _copied_bytes(launch) > MOST_COPIED:
        return seen
    last = run.groups[count - 1]
    buffers: dict[int, Any] = {i: bytes_of(m).copy() for i, m in launch.buffers.items()}
    first = _First(group=(int(last["x"]), int(last["y"]), int(last["z"])))
    again = replace(launch, buffers=buffers)
    with unchanged_behind(launch):
        one = interpret.observe(ir, again, first, step_limit=GOES_ROUND, seconds=5.0)
    return replace(seen, records=(*seen.records, *(r for r in one.records if r.rule == "M209")))


def _copied_bytes(launch: Launch) -> int:
    return sum(range_of(m)[1] for m in launch.buffers.values()) + size_behind(launch)


def _copied(view: np.ndarray[Any, Any]) -> Piece:
    piece = ARENA.take(len(view), np.uint8)
    piece.array[: len(view)] = view
    return piece


__all__ = ["CheckedProgram", "CheckedRun", "NotWatched", "Options"]


def _undefined(launch: Launch) -> frozenset[int]:
    """Buffers whose bytes nobody has set; -1 stands for what only pointers lead to."""
    behind = {-1} if launch.undefined_resources else set()
    return frozenset(launch.undefined & launch.buffers.keys()) | behind

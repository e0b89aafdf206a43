"""A kernel on the CPU: compiled for each size of threadgroup when first asked for, then launched."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from math import prod

from metalloid import deadline
from metalloid.backends.base import MOST_PRIVATE, Fault, Guard, Launch, LogMessage, Triple
from metalloid.backends.clock import compiling
from metalloid.backends.cpu import codegen, native
from metalloid.backends.cpu.binding import bind, bind_copies, bind_local, memory_of
from metalloid.backends.cpu.code import Compile, Compiled, Loaded, Prepared, Variant
from metalloid.backends.cpu.group_shape import GroupShapes
from metalloid.backends.cpu.outcome import fault_of, note_of, report_logs
from metalloid.backends.cpu.proofs import LazyProof
from metalloid.backends.cpu.quick import CpuQuick
from metalloid.backends.patience import Patience
from metalloid.backends.proof_budget import ProofBudget
from metalloid.backends.specialize import ParameterSnapshot, Prover, Specializer, may_copy
from metalloid.errors import DeviceError, KernelFault

SOON = 1 << 13  # threads of straight code that one call may run: they are done in less than a millisecond
LEAST = 16  # threadgroups that a call runs in any case (runtime.cpp)
GRIDS = 2  # of a kernel that get code of their own at once: Specializer says why
MOST_SCRATCH = 64 * MOST_PRIVATE  # of one threadgroup
CONSTANTS = "mt_constants"  # see backends/cpu/abi.py
NEAR = 4  # of the second cache, what lies in it whatever else is there
ANYWHERE = (1 << 32) - 1
_MAIN = threading.main_thread()


class Program:
    """One kernel, all its variants. `compile` turns a variant into vector code; `copies`: whether all of that may rest
    on memory that is bound once, `rests`: whether proved code is better where it may."""

    def __init__(
        self,
        name: str,
        compile: Compile,
        names: Mapping[int, str],
        target: codegen.Target | None = None,
        prover: Callable[[], Prover | None] = lambda: None,
        shapes: GroupShapes | None = None,
        patience: Patience | None = None,
        copies: Callable[[], bool] = lambda: False,
        rests: Callable[[], bool] = lambda: False,
    ) -> None:
        self._copies, self._rests = copies, rests
        self.name, self._compile, self.names, self._prover = name, compile, names, prover
        self.target, self._shapes, self._patience = target or codegen.host(), shapes, patience
        self._budget = ProofBudget()
        self._variants: dict[Variant, Loaded] = {}
        self._choices: dict[object, Specializer[Prepared]] = {}
        self._lock = threading.RLock()
        # Makes the error of a fault; whoever has the source says more.
        self.told: Callable[[Fault, Launch], KernelFault] = _told
        self.noted: Callable[[Fault, Launch], None] = lambda fault, launch: None
        self._noted: set[object] = set()

    def variant(self, key: Variant, baseline: bool = False) -> Loaded:
        """Code in this process: good code, or such as is there where `baseline` code will do."""
        found = self._variants.get(key)
        if found is None or (found.compiled.baseline and not baseline):
            with self._lock:
                native.runtime()  # kernels refer to its functions
                begun = time.thread_time()
                compiled = self._compile(key, baseline)
                if compiled.baseline and self._patience is not None:
                    self._patience.made(time.thread_time() - begun)
                found = self._variants[key] = self._there(compiled) or self._load(compiled)
        return found

    def _there(self, compiled: Compiled) -> Loaded | None:
        """The same code under another proof."""
        same = (v for v in self._variants.values() if v.compiled.object_key == compiled.object_key)
        return next((v for v in same if v.compiled.baseline == compiled.baseline), None)

    def _load(self, compiled: Compiled) -> Loaded:
        code = codegen.Code(compiled.code, self.target)
        return Loaded(compiled, code, code.address(compiled.entry))

    def run(
        self,
        launch: Launch,
        guard: Guard = True,
        timeout: float | None = None,
        threads: int = 1,
        backwards: bool = False,
        on_log: Callable[[LogMessage], None] | None = None,
    ) -> None:
        """Run to the end; the launch's buffers are changed in place."""
        if 0 in launch.grid:
            return
        keep: list[object] = []
        addresses, lengths = memory_of(launch, keep)
        if timeout is not None and self._patience is not None:
            self._patience.limited()
        with deadline.within(timeout):
            choice = self.choice(launch, guard, backwards, threads)
            prepared = self._picked(choice, addresses, lengths, keep, launch.below)
        record = native.LaunchRecord.from_buffer_copy(prepared.record)
        bind(record, launch, addresses, lengths, prepared, keep)
        main = threading.current_thread() is _MAIN
        begun = time.perf_counter()
        status = native.runtime().run(
            ctypes.addressof(record), threads, int(timeout * 1e9) if timeout else 0, int(main)
        )
        del keep
        self.ran(prepared, time.perf_counter() - begun)
        if status or record.log_count:
            self.finish(prepared, record, launch, status, timeout, on_log)

    def ran(self, code: Prepared, seconds: float) -> None:
        """A launch took so long."""
        if code.baseline and self._patience is not None:
            self._patience.ran(seconds)
        if not code.proved:
            self._budget.ran(seconds)

    def prepare(self, launch: Launch, guard: Guard, threads: int) -> None:
        """Compile what a launch needs, and do not run it."""
        self.prepared(launch, guard, False, threads)

    def quick(self, launch: Launch, guard: Guard, threads: int) -> CpuQuick | None:
        """The short way for launches like this one; none for those that search for their pointers' buffers."""
        choice = self.choice(launch, guard, False, threads)
        # Not asked for anew where the launch has run already: that would count as a second one.
        if (choice.last or self.prepared(launch, guard, False, threads)).searches:
            return None
        return CpuQuick(self.finish, choice, threads, list(self.names), self.ran)

    def prepared(self, launch: Launch, guard: Guard, backwards: bool, threads: int) -> Prepared:
        """A launch without its memory, made once for each size and proof."""
        keep: list[object] = []
        choice = self.choice(launch, guard, backwards, threads)
        return self._picked(choice, *memory_of(launch, keep), keep, launch.below)

    def placed(
        self, launch: Launch, backwards: bool, keep: list[object]
    ) -> tuple[Prepared, list[int], list[int]]:
        """A guarded launch for one thread, with the addresses and lengths of its buffers."""
        addresses, lengths = memory_of(launch, keep)
        prepared = self._picked(
            self.choice(launch, True, backwards, 1), addresses, lengths, keep, launch.below
        )
        return prepared, addresses, lengths

    def fill(
        self,
        record: native.LaunchRecord,
        launch: Launch,
        guard: Guard,
        threads: int,
        live: Collection[int],
        keep: list[object],
    ) -> Prepared:
        """Fill in a record that is to run many times. `live` are buffers whose contents may change between runs."""
        addresses, lengths = memory_of(launch, keep)
        choice = self.choice(launch, guard, False, threads)
        choice.improve()
        if any(index in live for index in choice.parameters):
            prepared = choice.pick(tuple(lengths), None, addresses)
        else:
            self._picked(
                choice, list(addresses), lengths, keep, launch.below
            )  # what comes a second time is worth a proof
            prepared = self._picked(choice, addresses, lengths, keep, launch.below)
        ctypes.memmove(ctypes.addressof(record), prepared.address, ctypes.sizeof(record))
        bind(record, launch, addresses, lengths, prepared, keep)
        return prepared

    def _picked(
        self,
        choice: Specializer[Prepared],
        addresses: list[int],
        lengths: list[int],
        keep: list[object],
        below: Mapping[int, int],
    ) -> Prepared:
        contents: bytes | None = b""
        if choice.parameters:
            contents = None
            if may_copy(choice.parameters, addresses, lengths, below.get):
                area = ParameterSnapshot()
                keep.append(area)
                contents = area.take(choice.parameters, addresses, lengths)
        return choice.pick(tuple(lengths), contents, addresses)

    def choice(self, launch: Launch, guard: Guard, backwards: bool, threads: int) -> Specializer[Prepared]:
        """The code for launches of this size."""
        key = (
            launch.grid,
            launch.threadgroup,
            tuple(launch.threadgroup_memory.items()),
            guard,
            backwards,
            threads,
        )
        found = self._choices.get(key)
        if found is None:
            launch.refuse_too_many_threads()
            with compiling():
                prover, group = self._prover(), self._group(launch, backwards)
            small = Launch(launch.grid, group, {}, launch.threadgroup_memory, kernel=launch.kernel)
            found = Specializer(
                small,
                guard,
                prover,
                self.target.info,
                lambda proof, baseline: self._prepare(small, guard, backwards, threads, proof, baseline),
                self._ready(small, guard, backwards),
                self._patience,
                self._budget,
                self._copies(),
                self._rests() or self._may_overlap(small),
            )
            if len(self._choices) > 64:
                self._choices.clear()
            self._choices[key] = found
        return found

    def _group(self, launch: Launch, backwards: bool) -> Triple:
        """The threadgroup to run in; the first launch of a grid decides for others."""
        given = launch.threadgroup
        if self._shapes is None or backwards:
            return given
        far = max(memory_of(launch, [])[1], default=0) > self.target.info.second_cache // NEAR
        return self._shapes.shape(launch.grid, given, far)

    def _may_overlap(self, launch: Launch) -> bool:
        """Whether tall threadgroups at an edge may overlap others, where no memory is bound twice."""
        return self._shapes is not None and self._shapes.may_overlap(launch.grid, launch.threadgroup)

    def _overlaps(self, launch: Launch, proof: Hashable) -> bool:
        """Whether they do."""
        if not (isinstance(proof, LazyProof) and proof.apart and self._may_overlap(launch)):
            return False
        return all(g >= s for g, s in zip(launch.grid, launch.threadgroup, strict=True))

    def finish(
        self,
        prepared: Prepared,
        record: native.LaunchRecord,
        launch: Launch,
        status: int,
        timeout: float | None,
        on_log: Callable[[LogMessage], None] | None,
    ) -> None:
        """Pass on what a launch logged; raise what stopped it; tell what it went on after, once for each place."""
        if record.log_count:
            formats = next(v for v in prepared.variants if v is not None).compiled.formats
            report_logs(record, launch, formats, on_log)
        if record.note.state:
            noted = note_of(record, launch, prepared.variants, self.names)
            if (key := (noted.rule, noted.location, noted.buffer)) not in self._noted:
                self._noted.add(key)
                self.noted(noted, launch)
        if status and status != native.NOTED:
            fault = fault_of(record, launch, status, prepared.variants, timeout, self.names)
            raise self.told(fault, launch)

    def _prepare(
        self, launch: Launch, guard: Guard, backwards: bool, threads: int, proof: Hashable, baseline: bool
    ) -> Prepared:
        """Everything about a launch that is not its memory."""
        record = native.LaunchRecord()
        keys = self._keys(launch, guard, backwards, proof)
        pairs = list(zip(launch.grid, launch.threadgroup, strict=True))
        record.overlaps = int(self._overlaps(launch, proof))
        record.latest[:] = [g - s if record.overlaps else ANYWHERE for g, s in pairs]
        variants = [self.variant(key, baseline) if key is not None else None for key in keys]
        present = [v for v in variants if v is not None]
        record.grid[:], record.threadgroup[:] = launch.grid, launch.threadgroup
        record.groups[:] = launch.threadgroups
        bind_local(record, launch, max(v.compiled.local for v in present))
        for n, v in enumerate(variants):
            if v is not None:
                if v.compiled.scratch > MOST_SCRATCH:
                    raise DeviceError(
                        f"[launch {launch.kernel}] private arrays take {v.compiled.scratch} bytes for the threads that"
                        f" run side by side; {MOST_SCRATCH} are the most"
                    )
                record.kernels[n], record.scratch[n] = v.address, v.compiled.scratch
                record.tables[n] = int(v.compiled.tables)
        across, down, deep = launch.threadgroups
        record.backwards = int(backwards)
        record.total = across * down * deep
        record.chunk = max(1, record.total // (threads * 16))
        straight = all(v.compiled.straight for v in present)
        record.together = max(LEAST, SOON // prod(launch.threadgroup)) if straight else 0
        record.parts = 1 if any(v.compiled.watches for v in present) else min(threads, native.PARTS)
        bind_copies(record, present)
        constants = [c for v in present if v.compiled.searches for c in v.code.table(CONSTANTS)]
        searches, early = (any(getattr(v.compiled, w) for v in present) for w in ("searches", "baseline"))
        return Prepared(record, variants, searches, constants, early, proof is not None)

    def _ready(self, launch: Launch, guard: Guard, backwards: bool) -> Callable[[Hashable | None], bool]:
        """Whether code with a proof, or without, is there; or this grid is one of the first, which get their own."""
        first = len(self._choices) < GRIDS

        def ready(proof: Hashable | None) -> bool:
            keys = self._keys(launch, guard, backwards, proof)
            return (first and proof is not None) or all(key is None or key in self._variants for key in keys)

        return ready

    def _keys(self, launch: Launch, guard: Guard, backwards: bool, proof: Hashable) -> list[Variant | None]:
        """Code for whole threadgroups, for those at the last edge, and for others at an edge."""
        size, grid, how = launch.threadgroup, launch.grid, (guard, backwards, proof)
        if self._overlaps(launch, proof):
            return [(size, False, False, *how), None, None]
        outer = 2 if size[2] > 1 else 1 if size[1] > 1 else 0
        ragged = [g % s != 0 for g, s in zip(grid, size, strict=True)]
        whole = all(g >= s for g, s in zip(grid, size, strict=True))
        others = any(ragged[a] for a in range(3) if a != outer)
        inner_whole = all(grid[a] >= size[a] for a in range(3) if a != outer)
        return [
            (size, False, False, *how) if whole else None,
            (size, True, False, *how) if ragged[outer] and inner_whole else None,
            (size, False, True, *how) if others else None,
        ]


def _told(fault: Fault, launch: Launch) -> KernelFault:
    return KernelFault(fault.text(), fault)

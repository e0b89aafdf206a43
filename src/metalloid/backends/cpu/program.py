"""A kernel on the CPU: compiled for each size of threadgroup when first asked for, then launched."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from metalloid.backends.base import MOST_PRIVATE, Fault, Launch, LogMessage, Triple
from metalloid.backends.cpu import machine, native
from metalloid.backends.cpu.choice import Area, Choice, Prover
from metalloid.errors import DeviceError, KernelFault, LaunchError
from metalloid.location import Location, plain_name

MAX_THREADS = 1024
MOST_SCRATCH = 64 * MOST_PRIVATE  # of one threadgroup
CONSTANTS = "mt_constants"  # see passes/abi.py
_MAIN = threading.main_thread()


class RootLike(Protocol):
    """The memory that an access was meant for."""

    @property
    def kind(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def space(self) -> int: ...


class SiteLike(Protocol):
    """A place that can fault; passes make them."""

    @property
    def location(self) -> Location | None: ...
    @property
    def size(self) -> int: ...
    @property
    def write(self) -> bool: ...
    @property
    def rule(self) -> str: ...
    @property
    def root(self) -> RootLike | None: ...


@dataclass(frozen=True)
class Details:
    """What messages and checked runs want to know of vector code."""

    sites: Sequence[SiteLike]
    barriers: Sequence[SiteLike]
    checks: Any = None  # of a checked run: see cpu/checked.py
    check_lengths: Mapping[int, int] = field(default_factory=dict)
    local_places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Compiled:
    """Machine code of one variant, and what its launches need."""

    object_key: str  # what the cache calls the code
    code: bytes
    entry: str
    formats: Sequence[str]
    local: int
    scratch: int
    tables: bool
    searches: bool
    look_up: Callable[[], Details]
    shared: dict[str, Any] = field(default_factory=dict)  # what checked launches of this code have in common

    @cached_property
    def details(self) -> Details:
        return self.look_up()


# A variant of a kernel: size of the threadgroup; fewer threads in the outermost axis; any size; guarded; backwards;
# what need not be guarded because it was proved.
Variant = tuple[Triple, bool, bool, bool, bool, Hashable]
Compile = Callable[[Variant], Compiled]


@dataclass(frozen=True)
class Loaded:
    compiled: Compiled
    code: machine.Code
    address: int


@dataclass(frozen=True)
class Prepared:
    """A launch without its memory: compiled, sized, ready to be copied."""

    record: native.LaunchRecord
    variants: list[Loaded | None]
    searches: bool  # whether the kernel looks for the buffers of its pointers
    constants: list[tuple[int, int]]  # where tables of the kernel lie, for such pointers

    @cached_property
    def address(self) -> int:
        return ctypes.addressof(self.record)


class Program:
    """One kernel, all its variants. `compile` turns a variant into vector code."""

    def __init__(
        self,
        name: str,
        compile: Compile,
        names: Mapping[int, str],
        target: machine.Target | None = None,
        prover: Callable[[], Prover | None] = lambda: None,
    ) -> None:
        self.name, self._compile, self.names, self._prover = name, compile, names, prover
        self.target = target or machine.host()
        self._variants: dict[Variant, Loaded] = {}
        self._choices: dict[object, Choice[Prepared]] = {}
        self._lock = threading.RLock()
        self.told = _told  # makes the error of a fault; whoever has the source says more

    def variant(self, key: Variant) -> Loaded:
        found = self._variants.get(key)
        if found is None:
            with self._lock:
                native.runtime()  # kernels refer to its functions
                compiled = self._compile(key)
                code = machine.Code(compiled.code, self.target)
                found = Loaded(compiled, code, code.address(compiled.entry))
                self._variants[key] = found
        return found

    def run(
        self,
        launch: Launch,
        guard: bool = True,
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
        choice = self.choice(launch, guard, backwards, threads)
        prepared = self._picked(choice, addresses, lengths, keep)
        record = native.LaunchRecord.from_buffer_copy(prepared.record)
        bind(record, launch, addresses, lengths, prepared, keep)
        main = threading.current_thread() is _MAIN
        status = native.runtime().run(
            ctypes.addressof(record), threads, int(timeout * 1e9) if timeout else 0, int(main)
        )
        del keep
        if status or record.log_count:
            self.finish(prepared, record, launch, status, timeout, on_log)

    def prepared(self, launch: Launch, guard: bool, backwards: bool, threads: int) -> Prepared:
        """A launch without its memory, made once for each size and proof."""
        keep: list[object] = []
        choice = self.choice(launch, guard, backwards, threads)
        return self._picked(choice, *memory_of(launch, keep), keep)

    def placed(
        self, launch: Launch, backwards: bool, keep: list[object]
    ) -> tuple[Prepared, list[int], list[int]]:
        """A guarded launch for one thread, with the addresses and lengths of its buffers."""
        addresses, lengths = memory_of(launch, keep)
        prepared = self._picked(self.choice(launch, True, backwards, 1), addresses, lengths, keep)
        return prepared, addresses, lengths

    def fill(
        self,
        record: native.LaunchRecord,
        launch: Launch,
        guard: bool,
        threads: int,
        live: Collection[int],
        keep: list[object],
    ) -> Prepared:
        """Fill in a record that is to run many times. `live` are buffers whose contents may change between runs."""
        addresses, lengths = memory_of(launch, keep)
        choice = self.choice(launch, guard, False, threads)
        if any(index in live for index in choice.parameters):
            prepared = choice.plain()
        else:
            self._picked(choice, list(addresses), lengths, keep)  # what comes a second time is worth a proof
            prepared = self._picked(choice, addresses, lengths, keep)
        ctypes.memmove(ctypes.addressof(record), prepared.address, ctypes.sizeof(record))
        bind(record, launch, addresses, lengths, prepared, keep)
        return prepared

    def _picked(
        self, choice: Choice[Prepared], addresses: list[int], lengths: list[int], keep: list[object]
    ) -> Prepared:
        contents: bytes | None = b""
        if choice.parameters:
            contents = None
            if not _overlap(choice.parameters, addresses, lengths):
                area = Area()
                keep.append(area)
                contents = area.take(choice.parameters, addresses, lengths)
        return choice.pick(tuple(lengths), contents, addresses)

    def choice(self, launch: Launch, guard: bool, backwards: bool, threads: int) -> Choice[Prepared]:
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
            prover = self._prover()
            small = Launch(
                launch.grid, launch.threadgroup, {}, launch.threadgroup_memory, kernel=launch.kernel
            )
            found = Choice(
                small, guard, prover, lambda proof: self._prepare(small, guard, backwards, threads, proof)
            )
            if len(self._choices) > 64:
                self._choices.clear()
            self._choices[key] = found
        return found

    def finish(
        self,
        prepared: Prepared,
        record: native.LaunchRecord,
        launch: Launch,
        status: int,
        timeout: float | None,
        on_log: Callable[[LogMessage], None] | None,
    ) -> None:
        """Pass on what a launch logged; raise what stopped it."""
        if record.log_count:
            formats = next(v for v in prepared.variants if v is not None).compiled.formats
            self._report_logs(record, launch, formats, on_log)
        if status:
            self._raise(record, launch, status, prepared.variants, timeout)

    def _prepare(
        self, launch: Launch, guard: bool, backwards: bool, threads: int, proof: Hashable
    ) -> Prepared:
        """Everything about a launch that is not its memory."""
        x, y, z = launch.threadgroup
        if x * y * z > MAX_THREADS:
            raise LaunchError(
                f"[launch {launch.kernel}] threadgroup is {x * y * z} threads; this device allows {MAX_THREADS}.\n"
                f"Pass a threadgroup of {MAX_THREADS} threads or fewer."
            )
        record = native.LaunchRecord()
        variants = self._variants_for(launch, guard, backwards, proof)
        present = [v for v in variants if v is not None]
        record.grid[:], record.threadgroup[:] = launch.grid, launch.threadgroup
        record.groups[:] = launch.threadgroups
        _bind_local(record, launch, present[0].compiled.local)
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
        constants = [c for v in present if v.compiled.searches for c in v.code.table(CONSTANTS)]
        return Prepared(record, variants, any(v.compiled.searches for v in present), constants)

    def _variants_for(
        self, launch: Launch, guard: bool, backwards: bool, proof: Hashable
    ) -> list[Loaded | None]:
        size, grid, how = launch.threadgroup, launch.grid, (guard, backwards, proof)
        outer = 2 if size[2] > 1 else 1 if size[1] > 1 else 0
        ragged = [g % s != 0 for g, s in zip(grid, size, strict=True)]
        whole = all(g >= s for g, s in zip(grid, size, strict=True))
        others = any(ragged[a] for a in range(3) if a != outer)
        inner_whole = all(grid[a] >= size[a] for a in range(3) if a != outer)
        return [
            self.variant((size, False, False, *how)) if whole else None,
            self.variant((size, True, False, *how)) if ragged[outer] and inner_whole else None,
            self.variant((size, False, True, *how)) if others else None,
        ]

    def _raise(
        self,
        record: native.LaunchRecord,
        launch: Launch,
        status: int,
        variants: list[Loaded | None],
        timeout: float | None,
    ) -> None:
        if record.fault.state:
            loaded = variants[record.fault.variant]
            assert loaded is not None
            fault = self._fault(record.fault, launch, loaded.compiled)
            raise self.told(fault, launch)
        if status == native.INTERRUPTED:
            raise KeyboardInterrupt
        if status == native.TIMEOUT:
            message = f"still running after {timeout:g} s and stopped"
            fault = Fault("", message, launch.kernel)
            raise self.told(fault, launch)
        raise DeviceError(f"[launch {launch.kernel}] no memory for threadgroup memory and scratch")

    def _fault(self, record: native.FaultRecord, launch: Launch, compiled: Compiled) -> Fault:
        site = compiled.details.sites[record.site]
        group = (record.x, record.y, record.z)
        sx, sy, _ = launch.size_of(group)
        n = record.index
        local = (n % sx, n // sx % sy, n // (sx * sy))
        axes = zip(group, launch.threadgroup, local, strict=True)
        px, py, pz = (g * t + p for g, t, p in axes)
        rule = site.rule
        if rule == "M204":
            number = record.offset
            chosen = compiled.details.barriers[number - 1] if number else site
            message = (
                "barrier not reached by all threads of the threadgroup in one iteration; this one is missing"
            )
            return Fault(rule, message, launch.kernel, chosen.location, (px, py, pz), group)
        return self._access_fault(site, record.offset, launch, (px, py, pz), group)

    def _access_fault(
        self, site: SiteLike, offset: int, launch: Launch, thread: Triple, group: Triple
    ) -> Fault:
        root, size, write = site.root, site.size, site.write
        assert root is not None
        what = "write" if write else "read"
        index = None
        if root.kind == "buffer":
            index = root.index
            name = self.names.get(index, "")
            label = f"buffer {index}" + (f" '{name}'" if name else "")
            memory = launch.buffers.get(index)
            total = memoryview(memory).nbytes if memory is not None else 0
            label += f" ({total} bytes)" if memory is not None else ", which is not bound"
        elif root.kind == "threadgroup":
            label = f"threadgroup memory {root.index} ({launch.threadgroup_memory.get(root.index, 0)} bytes)"
        elif root.kind == "variable":
            label = f"threadgroup variable '{plain_name(root.name)}'"
        elif root.kind == "private":
            label = "a private variable"
        else:
            label = "memory that is not bound" if root.space == 1 else "its memory"
        message = f"out-of-bounds {what} of {size} bytes at offset {offset} of {label}"
        rule = "M102" if write else "M101"
        return Fault(rule, message, launch.kernel, site.location, thread, group, index, offset, size)

    def _report_logs(
        self,
        record: native.LaunchRecord,
        launch: Launch,
        formats: Sequence[str],
        on_log: Callable[[LogMessage], None] | None,
    ) -> None:
        if not record.log_count:
            return
        open_logs: dict[tuple[int, ...], list[object]] = {}
        try:
            for n in range(record.log_count):
                r = record.logs[n]
                who = (r.index, r.x, r.y, r.z)
                if r.what == 0:
                    open_logs[who] = [formats[r.value // 16], r.value % 16]
                elif r.what == 1:
                    open_logs[who].append(ctypes.c_int64(r.value).value)
                elif r.what == 2:
                    open_logs[who].append(struct.unpack("<f", struct.pack("<I", r.value))[0])
                elif on_log is not None:
                    text, level, *values = open_logs.pop(who)
                    sx, sy, _ = launch.size_of((r.x, r.y, r.z))
                    local = (r.index % sx, r.index // sx % sy, r.index // (sx * sy))
                    axes = zip((r.x, r.y, r.z), launch.threadgroup, local, strict=True)
                    px, py, pz = (g * t + p for g, t, p in axes)
                    on_log(LogMessage(text, level, tuple(values), (px, py, pz)))  # type: ignore[arg-type]
        finally:
            native.runtime().free(ctypes.cast(record.logs, ctypes.c_void_p))


def memory_of(launch: Launch, keep: list[object]) -> tuple[list[int], list[int]]:
    """Addresses and lengths of a launch's buffers, by index; `keep` gets what has to stay alive."""
    count = 1 + max(launch.buffers, default=-1)
    addresses, lengths = [0] * count, [0] * count
    for index, memory in launch.buffers.items():
        addresses[index], lengths[index] = _address(memory, keep)
    return addresses, lengths


def _overlap(parameters: tuple[int, ...], addresses: list[int], lengths: list[int]) -> bool:
    """Whether another buffer has bytes of a parameter, and might be written."""
    for p in parameters:
        if p < len(addresses):
            start, end = addresses[p], addresses[p] + lengths[p]
            for n, (at, size) in enumerate(zip(addresses, lengths, strict=True)):
                if n not in parameters and at < end and start < at + size:
                    return True
    return False


def _told(fault: Fault, launch: Launch) -> KernelFault:
    return KernelFault(fault.text(), fault)


def bind(
    record: native.LaunchRecord,
    launch: Launch,
    addresses: list[int],
    lengths: list[int],
    prepared: Prepared,
    keep: list[object],
) -> None:
    """Put a launch's memory into its record; `keep` gets what has to stay alive."""
    record.buffers[: len(addresses)] = addresses
    record.lengths[: len(lengths)] = lengths
    if prepared.searches:
        ranges = [(at, size) for at, size in zip(addresses, lengths, strict=True) if size]
        ranges += [(address, memoryview(memory).nbytes) for address, memory in launch.resources]
        joined = merged([*ranges, *prepared.constants])
        table = (native.Range * max(1, len(joined)))(*(native.Range(*r) for r in joined))
        record.ranges, record.range_count = ctypes.addressof(table), len(joined)
        keep.append(table)


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order; those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if found and start <= found[-1][0] + found[-1][1]:
            first, had = found[-1]
            found[-1] = (first, max(had, start + length - first))
        else:
            found.append((start, length))
    return found


def _address(memory: object, keep: list[object]) -> tuple[int, int]:
    if isinstance(memory, np.ndarray):
        return memory.ctypes.data, memory.nbytes
    view = memoryview(memory).cast("B")  # type: ignore[arg-type]
    if not view.nbytes:
        return 0, 0
    if view.readonly:
        array = np.frombuffer(view, np.uint8)
        keep.append(array)
        return int(array.__array_interface__["data"][0]), array.nbytes
    raw = (ctypes.c_char * view.nbytes).from_buffer(view)
    keep.append(raw)
    return ctypes.addressof(raw), view.nbytes


def _bind_local(record: native.LaunchRecord, launch: Launch, static: int) -> None:
    """Host-sized threadgroup memory lies behind the kernel's own."""
    at = -(-static // 16) * 16
    for index, length in sorted(launch.threadgroup_memory.items()):
        record.local_offsets[index], record.local_lengths[index] = at, length
        at += -(-length // 16) * 16
    record.local_total = at

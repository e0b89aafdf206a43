"""A kernel on a GPU: which code a launch runs, and the launch."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from metalloid.backends.base import Fault, Guard, Launch, LogMessage, Triple
from metalloid.backends.cuda.coarse import straight
from metalloid.backends.cuda.code import KernelCode, Loaded
from metalloid.backends.cuda.driver import Gpu, Told
from metalloid.backends.cuda.launch import Bound, Resource, Room, Shape, fill, start, wait
from metalloid.backends.cuda.memory import Memory, Newer
from metalloid.backends.cuda.messages import Messages
from metalloid.backends.cuda.proofs import LaunchProof, Proofs
from metalloid.backends.cuda.ptx import GuardedTogether
from metalloid.backends.cuda.quick import CudaQuick
from metalloid.backends.cuda.record import SLOTS, FaultRecord
from metalloid.backends.cuda.span import CudaSpan
from metalloid.backends.cuda.tile_size import tile_sizes
from metalloid.backends.cuda.variant import Variant, layout
from metalloid.backends.sites import access_fault
from metalloid.backends.specialize import ParameterSnapshot, Specializer
from metalloid.errors import KernelFault, LaunchError
from metalloid.once import once
from metalloid.targets import TargetInfo
from metalloid.types import Signature

MISALIGNED = 3  # what a fault is called in runtime/device.cpp
MOST_GROUPS = 65535  # of a grid's second and third axis
_TARGET = TargetInfo("nvptx", 4, 255, stream_from=1 << 62)  # a GPU's caches need no hints
Choice = Specializer[Loaded]


@once
def memory(number: int = 0) -> Memory:
    return Memory(Gpu(number))


class CudaProgram:
    """One kernel, all its variants."""

    def __init__(self, ir: str, signature: Signature) -> None:
        self._signature = signature
        self.memory = memory()
        self.code = KernelCode(ir, signature, self.memory.gpu)
        self.names: Mapping[int, str] = {p.index: p.name for p in signature.buffers}
        self.count = 1 + max(self.names, default=-1)
        access = {p.index: p.access in ("write", "read_write") for p in signature.buffers}
        self.written = [
            access.get(n, n >= self.count) for n in range(SLOTS)
        ]  # more may be bound, to count in
        self.only_written = frozenset(p.index for p in signature.buffers if p.access == "write")
        self._choices: dict[object, Choice] = {}
        self._shapes: dict[object, Shape] = {}
        self._lock = threading.RLock()
        self._noted: set[object] = set()  # places that were told
        self.told: Callable[[Fault, Launch], KernelFault] = _told
        self.noted: Callable[[Fault, Launch], None] = lambda fault, launch: None

    def run(
        self,
        launch: Launch,
        guard: Guard = True,
        timeout: float | None = None,
        threads: int = 1,
        backwards: bool = False,
        on_log: Callable[[LogMessage], None] | None = None,
    ) -> None:
        """Run to the end. `threads` and `backwards` say nothing to a GPU: it has its own number and order."""
        if 0 in launch.grid:
            return
        gpu = self.memory.gpu
        gpu.enter()
        keep: list[object] = []
        addresses, lengths = places(launch, self.count, keep)
        code = self.pick(launch, guard, addresses, lengths)
        shape = self.shape(launch)
        if timeout is None and self._held(launch, guard, code, shape, addresses, lengths):
            return
        told = gpu.told()
        room = Room(told, shape)
        bound = Bound(self.memory)
        messages = Messages(self.memory) if code.formats else None
        try:
            if guard == "robust":
                room.goes_on(self.memory.spare)
            if messages is not None:
                room.says(messages.device)
            bound.bind(room, code, addresses, lengths, self.written, _resources(launch, keep))
            start(self.memory, code, shape, room)
            ended = wait(self.memory, told, timeout, launch.kernel)
            bound.finish()
            if messages is not None and on_log is not None:
                messages.tell(code.formats, on_log)
            self.finish(told, code, launch, None if ended else timeout)
        except KernelFault:
            gpu.untold(told)
            raise
        finally:
            bound.free()
            if messages is not None:
                messages.free()
        gpu.untold(told)

    def _held(
        self,
        launch: Launch,
        guard: Guard,
        code: Loaded,
        shape: Shape,
        addresses: list[int],
        lengths: list[int],
    ) -> bool:
        """Whether a launch was handed to the span of this thread, which waits for it later."""
        span = self.memory.gpu.span
        if not isinstance(span, CudaSpan) or not self.plain(launch, guard):
            return False
        found = self.memory.resident(addresses, lengths, self.written, code.variant.inlined)
        if found is None:
            return False
        room = Room(span.told, shape)
        fill(room, code, found, addresses, lengths)
        span.start(room, shape, code, lambda: launch, self.finish)
        return True

    def finish(self, told: Told, code: Loaded, launch: Launch, timeout: float | None) -> None:
        """Raise what stopped a launch, if something did; what comes next finds its place clean."""
        record = told.fault
        if not record.taken and timeout is None:
            return
        if record.taken and code.variant.robust:
            self._note(self.fault(record, code, launch), launch)
            self.memory.gpu.forgive(told)
            if timeout is None:
                return
            record.taken = 0
        fault = (
            self.fault(record, code, launch)
            if record.taken
            else Fault("", f"still running after {timeout:g} s and stopped", launch.kernel)
        )
        self.memory.gpu.forgive(told)
        raise self.told(fault, launch)

    def _note(self, fault: Fault, launch: Launch) -> None:
        """Tell what a launch went on after, once for each place."""
        if (key := (fault.rule, fault.location, fault.buffer)) not in self._noted:
            self._noted.add(key)
            self.noted(fault, launch)

    def pick(
        self,
        launch: Launch,
        guard: Guard,
        addresses: list[int],
        lengths: Sequence[int],
        live: Sequence[int] = (),
        early: frozenset[int] | None = None,
    ) -> Loaded:
        """The code for a launch. `live` are arguments whose contents may be others at the next run, `early` those that
        are not written while the launch before it still runs."""
        choice = self.choice(launch, guard, addresses, lengths, live, early)
        return choice.pick(tuple(lengths), _contents(choice, addresses, lengths), addresses)

    def choice(
        self,
        launch: Launch,
        guard: Guard,
        addresses: Sequence[int],
        lengths: Sequence[int],
        live: Sequence[int] = (),
        early: frozenset[int] | None = None,
    ) -> Choice:
        """The code for launches of this size whose memory lies alike."""
        most = {i: n for i, n in self.code.inlinable.items() if i not in live}
        there = [self.memory.lies(a) if n else 0 for a, n in zip(addresses, lengths, strict=True)]
        if most:
            written = [
                (at, at + n) for at, n, w in zip(there, lengths, self.written, strict=False) if w and n
            ]
            for one in _resources(launch, []):  # pointers may lead there, and kernels may write
                at = self.memory.lies(one.host)
                written.append((at, at + one.size))
            most = {i: n for i, n in most.items() if not _in_any(written, there, lengths, i)}
        inlined = layout(most, lengths)
        for index in inlined:
            self._reveal(addresses[index])
        apart = not self._overlap(there, lengths, inlined)
        local = tuple(launch.threadgroup_memory.items())
        even = all(
            self._even(a, lengths[i]) for i, a in enumerate(addresses) if lengths[i] and i not in inlined
        )
        key = (launch.grid, launch.threadgroup, local, guard, apart, even, tuple(inlined.items()), early)
        with self._lock:
            found = self._choices.get(key)
            if found is None:
                found = self._chosen(launch, guard, apart, even, inlined, early)
                if len(self._choices) > 64:
                    self._choices.clear()
                self._choices[key] = found
        return found

    def _chosen(
        self,
        launch: Launch,
        guard: Guard,
        apart: bool,
        even: bool,
        inlined: Mapping[int, tuple[int, int]],
        early: frozenset[int] | None,
    ) -> Choice:
        _refuse_size(launch)
        flat = any(g % s for g, s in zip(launch.grid, launch.threadgroup, strict=True))
        size = (
            launch.threadgroup
        )  # the launch itself would keep its memory alive for as long as there is code for it

        def load(proof: Hashable | None, baseline: bool) -> Loaded:
            known = proof if isinstance(proof, LaunchProof) else None
            bounds, aligned = (known.bounds, known.aligned) if known is not None else (None, frozenset())
            proved = (inlined, bounds, aligned, even)
            plain = Variant(size, flat, bool(guard), apart, *proved, guard == "robust", early)
            made = self._large(plain, known, small) if known is not None and apart and not flat else None
            return made or self.code.load(plain)

        small = Launch(launch.grid, launch.threadgroup, {}, launch.threadgroup_memory, kernel=launch.kernel)
        prover = self.code.prover if guard else None
        return Specializer(
            small, bool(guard), Proofs(prover, inlined) if prover is not None else None, _TARGET, load
        )

    def _large(self, plain: Variant, proof: LaunchProof, launch: Launch) -> Loaded | None:
        """Code for several threadgroups as one, where that has no guards and spills no registers."""
        try:
            for one in self._together(plain, proof, launch):
                made = self.code.load(one)
                if not made.local:
                    return made
        except GuardedTogether:
            pass
        return None

    def _together(self, plain: Variant, proof: LaunchProof, launch: Launch) -> Iterator[Variant]:
        """Variants that work on several threadgroups as one, the best first."""
        if plain.robust or self._signature.logs:
            return
        x, y, z = launch.threadgroups
        *edges, (places, inside) = proof.parts or ((((0, x), (0, y), (0, z)), proof),)
        local, processors = self.shape(launch).local, self.memory.gpu.processors
        alone = straight(inside.bounds.mark(self.code.module), inside.bounds.dead)
        (a, b), (c, d), (e, f) = places
        around = tuple(
            replace(plain, proof=one.bounds, aligned=one.aligned, known=one.known, local=local, places=at)
            for at, one in edges
        )
        for factors in tile_sizes(
            alone, plain.size, (b - a, d - c, f - e), local, processors, dict(inside.known)
        ):
            most = replace(plain, proof=inside.bounds, aligned=inside.aligned, coarse=factors)
            most = replace(most, known=inside.known, local=local, places=places)
            yield replace(plain, parts=(*around, most)) if around else most

    def _even(self, address: int, size: int) -> bool:
        """Whether memory starts at a multiple of 16 on the GPU, or of what can be read of it at once. Copies of the
        caller's arrays lie there as on the host: those that overlap are one."""
        mirror = self.memory.find(address)
        most = min(16, 1 << size.bit_length() - 1)
        return (address if mirror is None else mirror.device + address - mirror.host) % most == 0

    def _reveal(self, address: int) -> None:
        """An argument that travels in the launch is read on the host."""
        mirror = self.memory.find(address)
        if mirror is not None and mirror.newer is Newer.DEVICE:
            self.memory.reveal(mirror)

    def _overlap(
        self, addresses: Sequence[int], lengths: Sequence[int], inlined: Mapping[int, tuple[int, int]]
    ) -> bool:
        """Whether memory that is written is bound a second time."""
        end = end_written = 0
        for at, size, index in sorted(zip(addresses, lengths, range(len(lengths)), strict=True)):
            if not size or index in inlined:
                continue
            if at < end_written or (self.written[index] and at < end):
                return True
            end = max(end, at + size)
            if self.written[index]:
                end_written = max(end_written, at + size)
        return False

    def shape(self, launch: Launch) -> Shape:
        key = (launch.grid, launch.threadgroup, tuple(launch.threadgroup_memory.items()))
        found = self._shapes.get(key)
        if found is None:
            flat = any(g % s for g, s in zip(launch.grid, launch.threadgroup, strict=True))
            local = dict(launch.threadgroup_memory)
            found = Shape(launch.grid, launch.threadgroups, launch.threadgroup, flat, local)
            if len(self._shapes) > 64:
                self._shapes.clear()
            self._shapes[key] = found
        return found

    def prepare(self, launch: Launch, guard: Guard, threads: int) -> None:
        keep: list[object] = []
        self.pick(launch, guard, *places(launch, self.count, keep))

    def quick(self, launch: Launch, guard: Guard, threads: int) -> CudaQuick | None:
        """The short way for launches like this one; none for those that have more to say than a fault."""
        if not self.plain(launch, guard):
            return None
        small = Launch(launch.grid, launch.threadgroup, {}, launch.threadgroup_memory, kernel=launch.kernel)

        def pick(addresses: list[int], lengths: Sequence[int]) -> tuple[Loaded, bool]:
            choice = self.choice(small, guard, addresses, lengths)
            key = choice.key(tuple(lengths), _contents(choice, addresses, lengths), addresses)
            return choice.code(key), choice.settled(key)

        prover = self.code.prover if guard else None
        parameters = Proofs(prover, self.code.inlinable).parameters if prover is not None else ()
        return CudaQuick(self.memory, self.shape(launch), self.written, parameters, pick, self.finish)

    def plain(self, launch: Launch, guard: Guard) -> bool:
        """Whether a launch brings no more than its buffers, and has no more to say than a fault."""
        return not (launch.resources or guard == "robust" or self._signature.logs)

    def fault(self, record: FaultRecord, code: Loaded, launch: Launch) -> Fault:
        thread = (record.thread[0], record.thread[1], record.thread[2])
        group = (record.group[0], record.group[1], record.group[2])
        offset = ctypes.c_int64(record.offset).value
        site = code.sites()[record.site]
        if record.kind == MISALIGNED:
            site = replace(site, rule="M103")
        return access_fault(site, offset, launch, thread, group, self.names)


def _in_any(
    memory: Sequence[tuple[int, int]], addresses: Sequence[int], lengths: Sequence[int], index: int
) -> bool:
    """Whether an argument has bytes of some memory: what the kernel writes under another name does not travel."""
    if index >= len(addresses):
        return False
    first, behind = addresses[index], addresses[index] + lengths[index]
    return any(begin < behind and first < end for begin, end in memory)


def _refuse_size(launch: Launch) -> None:
    launch.refuse_too_many_threads()
    groups: Triple = launch.threadgroups
    if max(groups[1:]) > MOST_GROUPS:
        raise LaunchError(
            f"[launch {launch.kernel}] {groups} threadgroups; this device allows {MOST_GROUPS} along y and z.\n"
            "Make the threadgroups larger along that axis, or put it first."
        )


def _contents(choice: Choice, addresses: Sequence[int], lengths: Sequence[int]) -> bytes | None:
    """What the parameters of a proof hold."""
    if not choice.parameters:
        return b""
    return ParameterSnapshot().take(choice.parameters, list(addresses), lengths)


def places(launch: Launch, count: int, keep: list[object]) -> tuple[list[int], list[int]]:
    """Addresses and lengths of a launch's buffers on the host, by index."""
    count = max(count, 1 + max(launch.buffers, default=-1))
    addresses, lengths = [0] * count, [0] * count
    for index, memory in launch.buffers.items():
        array = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
        keep.append(array)
        addresses[index], lengths[index] = array.ctypes.data, array.nbytes
    return addresses, lengths


def _resources(launch: Launch, keep: list[object]) -> list[Resource]:
    """Memory behind pointers. `known` is what the kernel finds in them."""
    found = []
    for known, memory in launch.resources:
        array = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
        keep.append(array)
        if array.nbytes:
            found.append(Resource(known, array.ctypes.data, array.nbytes))
    return found


def _told(fault: Fault, launch: Launch) -> KernelFault:
    return KernelFault(fault.text(), fault)

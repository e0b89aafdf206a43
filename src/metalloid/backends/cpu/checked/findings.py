"""What a checked launch says after it has run."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.base import SIMD_WIDTH, Triple
from metalloid.backends.cpu.checked.arena import ARENA
from metalloid.backends.cpu.checked.attempt import CheckedRun
from metalloid.backends.cpu.checked.mode import range_of
from metalloid.backends.cpu.checked.records import KINDS, LOCAL, Cover, FindingRecord, Writers, thread_at
from metalloid.backends.observe import Access, Memory, Observation, Pointed, Record, told_kind
from metalloid.ir.intrinsics import BOUNDS, MATRICES
from metalloid.location import Location
from metalloid.records import replace
from metalloid.transforms.check_sites import CheckSite

_NOBODY = 0xFFFFFFFF


class Findings:
    """Of one run, in the words of the checker."""

    def __init__(self, run: CheckedRun) -> None:
        self.run, self.launch, self.checks = run, run.launch, run.checks
        self.groups = run.groups[: int(run.check.group_count)]

    def observation(self, stopped: str) -> Observation:
        run = self.run
        records = [*self._records(), *self._input_writes()]
        if run.record.fault.state:
            records.append(self._missed())
        granules = dict(self.checks.granules)
        unwatched: dict[int, int] = {}
        for index, (_, length) in run.places.items():
            granules.setdefault(index, 4)
            if index not in run.words:
                unwatched[index] = -(-length // granules[index])
        writers = Writers(run.words, unwatched, run.decoder())
        weakref.finalize(writers, ARENA.give, run.pieces(), run.top())
        return Observation(
            tuple(records),
            writers,
            granules,
            frozenset(i for i in self.launch.buffers if i < LOCAL and run.check.touched[i]),
            self._stores(),
            self._threads(),
            stopped,
            {i: run.read_words[i] >= run.check.start for i in run.mode.marked & run.read_words.keys()},
            {at: self._pointed(made) for at, made in run.resources.items()},
        )

    def _pointed(self, made: Cover) -> Pointed:
        """What happened to a resource."""
        count, start = -(-made.length // made.granule), self.run.check.start
        written, first, other = (made.words(n)[:count] >= start for n in range(3))
        return Pointed(made.granule, written, first | other)

    def _threads(self) -> int:
        if len(self.groups) == self.run.record.total:
            x, y, z = self.launch.grid
            return x * y * z
        sizes = (self.launch.size_of((int(g["x"]), int(g["y"]), int(g["z"]))) for g in self.groups)
        return sum(x * y * z for x, y, z in sizes)

    def _stores(self) -> dict[Location, int]:
        found: dict[Location, int] = {}
        for site, count in zip(self.checks.sites, self.run.counts, strict=False):
            if site.write and site.location and site.root.space in (1, 3):
                found[site.location] = found.get(site.location, 0) + int(count)
        return found

    def _records(self) -> list[Record]:
        """In the order they were found, as far as that is known; folded by place."""
        found: dict[object, Record] = {}
        for raw in self.run.check.records if self.run.check.record_count else ():
            if raw.count:
                made = self._record(raw)
                other = made.other.location if made.other else None
                key = made.kind, made.access.location, other, made.memory
                had = found.get(key)
                found[key] = made if had is None else had.with_another(made)
        return list(found.values())

    def _record(self, raw: FindingRecord) -> Record:
        site = self.checks.sites[raw.site]
        group = (raw.x, raw.y, raw.z)
        access = self._side(site, group, raw.thread)
        other = None
        if raw.other_site != _NOBODY:
            n = int(np.searchsorted(self.groups["serial"], raw.other_serial, side="right")) - 1
            before = (int(self.groups[n]["x"]), int(self.groups[n]["y"]), int(self.groups[n]["z"]))
            other = self._side(self.checks.sites[raw.other_site], before, raw.other_thread)
        if site.operation == BOUNDS:
            detail = {"index": int(raw.offset), "size": site.size}
            return Record(
                told_kind(site.size),
                replace(access, what="access", size=0),
                count=int(raw.count),
                detail=detail,
            )
        if site.operation:
            return self._inactive(site, group, raw)
        memory, offset = self._memory(site.root), int(raw.offset)
        if memory.kind in ("private", "constant"):
            memory = replace(memory, bytes=self.run.compiled.details.check_lengths.get(raw.site, 0))
        if site.root.kind == "unknown" and site.root.space != 3:
            memory, offset = self._found(offset)
        detail = {}
        if KINDS[raw.kind] == "misaligned":
            detail = {"align": site.align, "base": site.bias % site.align}
        return Record(KINDS[raw.kind], access, other, memory, offset, int(raw.count), detail)

    def _inactive(self, site: CheckSite, group: Triple, raw: FindingRecord) -> Record:
        """A lane that reads one which does not take part."""
        width = 4 if "_quad_" in site.operation else SIMD_WIDTH
        lane, x, y, z = raw.thread % SIMD_WIDTH, *self.launch.size_of(group)
        read = lane - lane % width + ctypes.c_int32(raw.offset & 0xFFFFFFFF).value
        exists = read < SIMD_WIDTH and raw.thread - lane + read < x * y * z
        access = Access(site.location, thread_at(self.launch, group, raw.thread), group, "read")
        matrix = site.operation.startswith(MATRICES)
        detail = {"lane": lane, "read": read, "exists": exists, "matrix": matrix}
        return Record("inactive lane", access, count=int(raw.count), detail=detail)

    def _input_writes(self) -> list[Record]:
        """Writes to buffers that the kernel or the host declares const: the words of the shadow tell."""
        found = []
        word_parts = self.run.word
        for index in sorted(self.launch.inputs & self.run.words.keys() & self.checks.written):
            words = self.run.words[index].astype(np.uint64)
            written = np.flatnonzero(words >= np.uint64(self.run.check.start))
            sites = words[written] >> np.uint64(word_parts.site_shift) & np.uint64(
                (1 << word_parts.site_bits) - 1
            )
            for number in np.unique(sites):
                mine = written[sites == number]
                word, site = int(words[mine[0]]), self.checks.sites[int(number)]
                n = int(np.searchsorted(self.groups["serial"], word >> word_parts.serial_shift, "right")) - 1
                group = (int(self.groups[n]["x"]), int(self.groups[n]["y"]), int(self.groups[n]["z"]))
                access = self._side(site, group, word & (1 << word_parts.thread_bits) - 1)
                granule = int(mine[0]) + self.run.firsts[index]
                memory, offset = (
                    self._memory(UnderlyingObject("buffer", index)),
                    granule * self.checks.granules[index],
                )
                found.append(Record("write to an input", access, None, memory, offset, len(mine)))
        return found

    def _side(self, site: CheckSite, group: Triple, thread: int) -> Access:
        what = "atomic" if site.atomic else "write" if site.write else "read"
        return Access(site.location, thread_at(self.launch, group, thread), group, what, site.size)

    def _memory(self, root: UnderlyingObject) -> Memory:
        match root.kind:
            case "buffer":
                memory = self.launch.buffers.get(root.index)
                return Memory("buffer", root.index, bytes=range_of(memory)[1] if memory is not None else 0)
            case "threadgroup":
                return Memory(
                    "threadgroup", root.index, bytes=self.launch.threadgroup_memory.get(root.index, 0)
                )
            case "variable":
                size = self.run.compiled.details.local_places[root.name][1]
                return Memory("variable", name=self.run.names.get(root.name, root.name), bytes=size)
            case "constant":
                return Memory("constant", name=self.run.names.get(root.name, root.name))
            case "private":
                return Memory("private", name=self.checks.privates[root.index])
        return Memory("private" if root.space == 5 else "threadgroup" if root.space == 3 else "null")

    def _found(self, address: int) -> tuple[Memory, int]:
        """The buffer around an address."""
        for index, (start, length) in self.run.places.items():
            if start <= address < start + length:
                return Memory("buffer", index, bytes=length), address - start
        for start, memory in self.launch.resources:
            length = range_of(memory)[1]
            if start <= address < start + length:
                return Memory(
                    "resource", name=self.launch.resource_name(start), bytes=length
                ), address - start
        return Memory("null"), address

    def _missed(self) -> Record:
        """A barrier that one thread has not reached."""
        fault = self.run.record.fault
        loaded = self.run.prepared.variants[fault.variant]
        assert loaded is not None
        number = fault.offset
        site = loaded.compiled.details.barriers[number - 1] if number else self.run.fault_site()
        group = (fault.x, fault.y, fault.z)
        access = Access(site.location, thread_at(self.launch, group, fault.index), group, "barrier")
        return Record("barrier not reached", access)

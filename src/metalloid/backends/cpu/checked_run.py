"""One attempt at a checked launch: its shadow memory before, what it says after."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from metalloid.backends.base import SIMD_WIDTH, Launch, Triple
from metalloid.backends.cpu import native
from metalloid.backends.cpu.arena import ARENA, Piece, address_of
from metalloid.backends.cpu.binding import bind
from metalloid.backends.cpu.code import Compiled, Prepared, RootLike
from metalloid.backends.cpu.program import Program
from metalloid.backends.cpu.shadow import (
    GROUPS,
    KINDS,
    LOCAL,
    LOCALS,
    CheckRecord,
    Cover,
    Decoder,
    FindingRecord,
    SiteRecord,
    Word,
    Writers,
    cover,
    new_check,
    shadow_bytes,
    thread_at,
)
from metalloid.backends.observe import Access, Memory, Observation, Record
from metalloid.errors import DeviceError
from metalloid.location import Location

_NOBODY = 0xFFFFFFFF
# enum RootKind.
_ROOT_KINDS = {"buffer": 0, "threadgroup": 1, "variable": 2, "constant": 3, "private": 4}
_WHAT = {"write": 1, "atomic": 2, "writer": 4, "defined": 8, "readers": 16, "reads": 32, "races": 64}
_MAIN = threading.main_thread()
MOST_SHADOW = 3  # times the buffers
SMALL = 1 << 20  # bytes of shadow that are never too much
MOST_GROUPS = 1 << 26  # 2 GiB of addresses for what is known of each


class NotWatched(DeviceError):
    """A launch that the vector engine cannot watch; the oracle can."""


@dataclass(frozen=True)
class Mode:
    """What the code of a checked launch is made for."""

    careful: bool = False  # lanes outside are left out, one by one
    undefined: frozenset[int] = frozenset()  # buffers nobody has set
    aliased: bool = False  # buffers share memory
    wide: bool = False  # words of 64 bits
    marked: frozenset[int] = frozenset()  # buffers of which every read is remembered
    starts: tuple[tuple[int, int], ...] = ()  # buffers that start off a multiple of 16 bytes, and how far
    windowed: bool = False  # only a window of each buffer has words, and the launch runs once for each


class CheckSiteLike(Protocol):
    """A marked access; passes make them."""

    @property
    def location(self) -> Location | None: ...
    @property
    def root(self) -> RootLike: ...
    @property
    def size(self) -> int: ...
    @property
    def align(self) -> int: ...
    @property
    def write(self) -> bool: ...
    @property
    def atomic(self) -> bool: ...
    @property
    def operation(self) -> str: ...
    @property
    def bias(self) -> int: ...


class ChecksLike(Protocol):
    """What code and launch agree on."""

    @property
    def sites(self) -> Sequence[CheckSiteLike]: ...
    @property
    def granules(self) -> Mapping[int, int]: ...
    @property
    def local_granule(self) -> int: ...
    @property
    def written(self) -> frozenset[int]: ...
    @property
    def followed(self) -> frozenset[int]: ...
    @property
    def unknown(self) -> bool: ...
    @property
    def locals(self) -> Sequence[RootLike]: ...
    @property
    def site_bits(self) -> int: ...
    @property
    def privates(self) -> Sequence[str]: ...
    @property
    def proved(self) -> bool: ...
    @property
    def steps(self) -> int: ...


def checks_of(prepared: Prepared) -> ChecksLike:
    """What the code of a checked launch agreed on."""
    found: ChecksLike = next(v.compiled.details.checks for v in prepared.variants if v is not None)
    return found


def bytes_of(memory: object) -> np.ndarray[Any, Any]:
    if isinstance(memory, np.ndarray):
        return memory.reshape(-1).view(np.uint8)
    return np.frombuffer(memory, np.uint8)  # type: ignore[call-overload, no-any-return]


def range_of(memory: object) -> tuple[int, int]:
    view = memory if isinstance(memory, np.ndarray) else bytes_of(memory)
    return address_of(view), view.nbytes


def overlapping(launch: Launch) -> bool:
    """Whether two buffers share memory."""
    places = {i: place for i, m in launch.buffers.items() if (place := range_of(m))[1]}
    return len(clusters(places)) < len(places)


def clusters(places: Mapping[int, tuple[int, int]]) -> list[list[int]]:
    """Buffers that share memory, together."""
    found: list[list[int]] = []
    end = -1
    for index, (start, length) in sorted(places.items(), key=lambda item: item[1]):
        if found and start < end:
            found[-1].append(index)
        else:
            found.append([index])
        end = max(end, start + length)
    return found


@dataclass(frozen=True)
class _Buffer:
    index: int
    kind: str = "buffer"
    name: str = ""
    space: int = 1


class CheckedRun:
    """One attempt at a launch."""

    def __init__(
        self,
        launch: Launch,
        program: Program,
        backwards: bool,
        mode: Mode,
        names: Mapping[str, str],
        seed: int | None = None,
        window: tuple[int, int] = (0, 1),
    ) -> None:
        self.launch, self.mode, self.names, self.window = launch, mode, names, window
        self.keep: list[object] = []
        self.prepared, addresses, lengths = program.placed(launch, backwards, self.keep)
        self.places = {i: (addresses[i], lengths[i]) for i in launch.buffers}
        prepared = self.prepared
        self.compiled: Compiled = next(v.compiled for v in prepared.variants if v is not None)
        self.checks = checks_of(prepared)
        x, y, z = launch.threadgroup
        self.word = Word(max(1, (x * y * z - 1).bit_length()), self.checks.site_bits, mode.wide)
        self.check: CheckRecord = new_check()
        self.record = native.LaunchRecord.from_buffer_copy(prepared.record)
        bind(self.record, launch, addresses, lengths, prepared, self.keep)
        self.covers: list[Cover] = []  # of buffers; the last is that of threadgroup memory
        self.words: dict[int, np.ndarray[Any, Any]] = {}
        self.firsts: dict[int, int] = {}  # granules of a buffer before its first word
        self.windows = 1  # that the buffers have to be divided into
        self.read_words: dict[int, np.ndarray[Any, Any]] = {}
        self._fill()
        if seed is not None:
            order = np.random.default_rng(seed).permutation(int(self.record.total)).astype(np.uint32)
            self.keep.append(order)
            self.record.order = address_of(order)

    # ---- before ---------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        c, checks, sites = self.check, self.checks, max(1, len(self.checks.sites))
        tables = np.zeros(13 * sites, np.uint8)  # of each site: u64 counts, u32 events, u8 muted
        self.counts = tables[: 8 * sites].view(np.uint64)
        self.keep.append(tables)
        if self.record.total > MOST_GROUPS:
            raise NotWatched("[check] more threadgroups than a checked run can follow")
        self.groups = np.empty(self.record.total, GROUPS)
        self.sites = self.compiled.shared.get("sites") or self._sites()
        c.counts = address_of(tables)
        c.events, c.muted = c.counts + 8 * sites, c.counts + 12 * sites
        c.groups, c.sites = address_of(self.groups), ctypes.addressof(self.sites)
        c.thread_bits, c.site_bits = self.word.thread_bits, self.word.site_bits
        c.site_count, c.wide, c.careful = len(checks.sites), int(self.mode.wide), int(self.mode.careful)
        c.last_serial = self.word.serials - 1
        self._cover_buffers()
        self._cover_local()
        self._begin()
        self.record.check = ctypes.addressof(c)

    def _begin(self) -> None:
        """Serials go on from the last launch that used these arrays."""
        shift = self.word.thread_bits + self.word.site_bits
        serial = -(-max(p.top for p in self.pieces()) >> shift)
        if serial > self.word.serials // 2:
            for p in self.pieces():
                p.array[...] = 0
                p.top = 0
            serial = 0
        self.began = serial
        self.check.serial, self.check.start = serial, serial + 1 << shift

    @property
    def sure(self) -> bool:
        """Whether this attempt will be the last."""
        needed = self.checks.steps * int(self.record.total)
        return self.checks.proved and 0 < needed < self.word.serials - self.began - 2

    def pieces(self) -> list[Piece]:
        return [p for made in self.covers for p in made.pieces]

    def top(self) -> int:
        """No word is larger."""
        return int(self.check.now) | (1 << self.word.thread_bits + self.word.site_bits) - 1

    def end(self) -> None:
        """Give the shadows back."""
        ARENA.give(self.pieces(), self.top())

    def _sites(self) -> Any:
        """The table of sites, made once for the code."""
        count = len(self.checks.sites)
        table = (SiteRecord * max(1, count))(*(self._site(n) for n in range(count)))
        self.compiled.shared["sites"] = table
        return table

    def _site(self, number: int) -> SiteRecord:
        site = self.checks.sites[number]
        what = sum(bit for name, bit in _WHAT.items() if getattr(site, name))
        root, made = site.root, SiteRecord(what, site.size, site.align)
        made.bias = site.bias
        made.root, made.index, made.local = LOCAL if root.space == 3 else root.index, root.index, LOCALS
        made.root_kind = _ROOT_KINDS.get(root.kind, 6 if root.space == 3 else 4 if root.space == 5 else 5)
        made.length = self.compiled.details.check_lengths.get(number, 0)
        if root in self.checks.locals:
            made.local = min(LOCALS, list(self.checks.locals).index(root))
        if root.kind == "variable":
            made.start, made.length = self.compiled.details.local_places[root.name]
        return made

    def _cover_buffers(self) -> None:
        """Shadows of the buffers; those that share memory share theirs."""
        checks, c = self.checks, self.check
        places = {i: place for i, place in self.places.items() if i < LOCAL}
        wanting = (checks.written | self.mode.undefined | self.mode.marked) & checks.granules.keys()
        watched = [i for i, (_, length) in places.items() if length and i in wanting]
        wanted: list[tuple[list[int], int, int, int, bool]] = []
        for group in clusters({i: places[i] for i in watched}):
            start = min(places[i][0] for i in group)
            end = max(sum(places[i]) for i in group)
            readers = any(i in checks.followed for i in group)
            granule = min(checks.granules[i] for i in group)
            if any((places[i][0] - start) % granule for i in group):
                raise NotWatched("[check] buffers overlap by less than an element")
            wanted.append((group, start, end - start, granule, readers))
        needed = sum(shadow_bytes(length, granule, self.word, r) for _, _, length, granule, r in wanted)
        allowed = max(SMALL, MOST_SHADOW * sum(length for _, length in places.values()))
        self.windows = max(1, -(-needed // allowed))
        if self.windows > 1 and self.window[1] == 1:
            return  # to be made again, for one window after the other
        for group, start, length, granule, readers in wanted:
            made = cover(start, length, granule, self.word, readers, self.window)
            self.covers.append(made)
            for i in group:
                made.fill(c.shadows[i], *places[i], i in self.mode.undefined)
                part, self.firsts[i] = made.part(*places[i])
                self.words[i] = made.writer[part]
                if readers:
                    self.read_words[i] = made.pieces[1].array[part]
        for i, (start, length) in places.items():
            c.shadows[i].start, c.shadows[i].length = start, length
        c.shadow_count = LOCAL + 1
        if checks.unknown:
            self._cover_resources()

    def _cover_resources(self) -> None:
        """What pointers inside argument buffers lead to."""
        granule = min(self.checks.granules.values(), default=1)
        for n, (address, memory) in enumerate(self.launch.resources):
            number = LOCAL + 1 + n
            if number >= len(self.check.shadows):
                raise NotWatched("[check] more resources than a checked run can follow")
            made = cover(address, range_of(memory)[1], granule, self.word, True)
            self.covers.append(made)
            made.fill(self.check.shadows[number], address, made.length, False)
            self.check.shadow_count = number + 1

    def _cover_local(self) -> None:
        checks, c = self.checks, self.check
        total = int(self.record.local_total)
        made = cover(0, total, checks.local_granule, self.word, True)
        made.fill(c.shadows[LOCAL], 0, total, True)
        self.covers.append(made)
        c.local_count = min(LOCALS, len(checks.locals))
        for n, root in enumerate(checks.locals[:LOCALS]):
            length = (
                self.compiled.details.local_places[root.name][1]
                if root.kind == "variable"
                else self.launch.threadgroup_memory.get(root.index, 0)
            )
            c.local_sizes[n] = -(-length // checks.local_granule)

    @property
    def shadow_bytes(self) -> int:
        """Of buffers: threadgroup memory has the same few kilobytes whatever the launch."""
        return sum(made.bytes for made in self.covers[:-1])

    # ---- the run ----------------------------------------------------------------------------------------------

    def start(self, timeout: float | None) -> int:
        main = threading.current_thread() is _MAIN
        nanoseconds = int(timeout * 1e9) if timeout else 0
        return int(native.runtime().run(ctypes.addressof(self.record), 1, nanoseconds, int(main)))

    def at_barrier(self) -> bool:
        """Whether a fault is about a barrier."""
        return bool(self.record.fault.state) and self._fault_site().rule == "M204"

    def _fault_site(self) -> Any:
        loaded = self.prepared.variants[self.record.fault.variant]
        assert loaded is not None
        return loaded.compiled.details.sites[self.record.fault.site]

    # ---- after ---------------------------------------------------------------------------------------------------

    def observation(self, stopped: str) -> Observation:
        count = int(self.check.group_count)
        groups = self.groups[:count]
        records = self._records(groups)
        records += self._input_writes(groups)
        if self.record.fault.state:
            records.append(self._missed())
        granules = dict(self.checks.granules)
        unwatched: dict[int, int] = {}
        for index, (_, length) in self.places.items():
            granules.setdefault(index, 4)
            if index not in self.words:
                unwatched[index] = -(-length // granules[index])
        writers = Writers(self.words, unwatched, self.decoder())
        weakref.finalize(writers, ARENA.give, self.pieces(), self.top())
        return Observation(
            tuple(records),
            writers,
            granules,
            frozenset(i for i in self.launch.buffers if i < LOCAL and self.check.touched[i]),
            self._stores(),
            self._threads(groups),
            stopped,
            {i: self.read_words[i] >= self.check.start for i in self.mode.marked & self.read_words.keys()},
        )

    def decoder(self) -> Decoder:
        """How the words of this run are read."""
        groups = self.groups[: int(self.check.group_count)]
        return Decoder(self.launch, self.word, groups, int(self.check.start))

    def _threads(self, groups: np.ndarray[Any, Any]) -> int:
        if len(groups) == self.record.total:
            x, y, z = self.launch.grid
            return x * y * z
        sizes = (self.launch.size_of((int(g["x"]), int(g["y"]), int(g["z"]))) for g in groups)
        return sum(x * y * z for x, y, z in sizes)

    def _stores(self) -> dict[Location, int]:
        found: dict[Location, int] = {}
        for site, count in zip(self.checks.sites, self.counts, strict=False):
            if site.write and site.location and site.root.space in (1, 3):
                found[site.location] = found.get(site.location, 0) + int(count)
        return found

    def _records(self, groups: np.ndarray[Any, Any]) -> list[Record]:
        """In the order they were found, as far as that is known; folded by place."""
        found: dict[object, Record] = {}
        for raw in self.check.records if self.check.record_count else ():
            if raw.count:
                made = self._record(raw, groups)
                other = made.other.location if made.other else None
                key = made.kind, made.access.location, other, made.memory
                had = found.get(key)
                found[key] = made if had is None else replace(had, count=had.count + made.count)
        return list(found.values())

    def _record(self, raw: FindingRecord, groups: np.ndarray[Any, Any]) -> Record:
        site = self.checks.sites[raw.site]
        group = (raw.x, raw.y, raw.z)
        access = self._side(site, group, raw.thread)
        other = None
        if raw.other_site != _NOBODY:
            n = int(np.searchsorted(groups["serial"], raw.other_serial, side="right")) - 1
            before = (int(groups[n]["x"]), int(groups[n]["y"]), int(groups[n]["z"]))
            other = self._side(self.checks.sites[raw.other_site], before, raw.other_thread)
        if site.operation:
            return self._inactive(site, group, raw)
        memory, offset = self._memory(site.root), int(raw.offset)
        if memory.kind == "private":
            memory = replace(memory, bytes=self.compiled.details.check_lengths.get(raw.site, 0))
        if site.root.kind == "unknown" and site.root.space != 3:
            memory, offset = self._found(offset)
        detail = {}
        if KINDS[raw.kind] == "misaligned":
            detail = {"align": site.align, "base": site.bias % site.align}
        return Record(KINDS[raw.kind], access, other, memory, offset, int(raw.count), detail)

    def _inactive(self, site: CheckSiteLike, group: Triple, raw: FindingRecord) -> Record:
        """A lane that reads one which does not take part."""
        width = 4 if "_quad_" in site.operation else SIMD_WIDTH
        lane, x, y, z = raw.thread % SIMD_WIDTH, *self.launch.size_of(group)
        read = lane - lane % width + ctypes.c_int32(raw.offset & 0xFFFFFFFF).value
        exists = read < SIMD_WIDTH and raw.thread - lane + read < x * y * z
        access = Access(site.location, thread_at(self.launch, group, raw.thread), group, "read")
        detail = {"lane": lane, "read": read, "exists": exists}
        return Record("inactive lane", access, count=int(raw.count), detail=detail)

    def _input_writes(self, groups: np.ndarray[Any, Any]) -> list[Record]:
        """Writes to buffers that the kernel or the host declares const: the words of the shadow tell."""
        found = []
        shift = self.word.thread_bits
        for index in sorted(self.launch.inputs & self.words.keys() & self.checks.written):
            words = self.words[index].astype(np.uint64)
            written = np.flatnonzero(words >= np.uint64(self.check.start))
            sites = words[written] >> np.uint64(shift) & np.uint64((1 << self.word.site_bits) - 1)
            for number in np.unique(sites):
                mine = written[sites == number]
                word, site = int(words[mine[0]]), self.checks.sites[int(number)]
                n = int(np.searchsorted(groups["serial"], word >> shift + self.word.site_bits, "right")) - 1
                group = (int(groups[n]["x"]), int(groups[n]["y"]), int(groups[n]["z"]))
                access = self._side(site, group, word & (1 << shift) - 1)
                granule = int(mine[0]) + self.firsts[index]
                memory, offset = self._memory(_Buffer(index)), granule * self.checks.granules[index]
                found.append(Record("write to an input", access, None, memory, offset, len(mine)))
        return found

    def _side(self, site: CheckSiteLike, group: Triple, thread: int) -> Access:
        what = "atomic" if site.atomic else "write" if site.write else "read"
        return Access(site.location, thread_at(self.launch, group, thread), group, what, site.size)

    def _memory(self, root: RootLike) -> Memory:
        match root.kind:
            case "buffer":
                memory = self.launch.buffers.get(root.index)
                return Memory("buffer", root.index, bytes=range_of(memory)[1] if memory is not None else 0)
            case "threadgroup":
                return Memory(
                    "threadgroup", root.index, bytes=self.launch.threadgroup_memory.get(root.index, 0)
                )
            case "variable":
                size = self.compiled.details.local_places[root.name][1]
                return Memory("variable", name=self.names.get(root.name, root.name), bytes=size)
            case "constant":
                return Memory("constant", name=self.names.get(root.name, root.name))
            case "private":
                return Memory("private", name=self.checks.privates[root.index])
        return Memory("private" if root.space == 5 else "threadgroup" if root.space == 3 else "null")

    def _found(self, address: int) -> tuple[Memory, int]:
        """The buffer around an address."""
        for index, (start, length) in self.places.items():
            if start <= address < start + length:
                return Memory("buffer", index, bytes=length), address - start
        for start, memory in self.launch.resources:
            length = range_of(memory)[1]
            if start <= address < start + length:
                return Memory("resource", name=f"the resource at {start:#x}", bytes=length), address - start
        return Memory("null"), address

    def _missed(self) -> Record:
        """A barrier that one thread has not reached."""
        fault = self.record.fault
        loaded = self.prepared.variants[fault.variant]
        assert loaded is not None
        number = fault.offset
        site = loaded.compiled.details.barriers[number - 1] if number else self._fault_site()
        group = (fault.x, fault.y, fault.z)
        access = Access(site.location, thread_at(self.launch, group, fault.index), group, "barrier")
        return Record("barrier not reached", access)

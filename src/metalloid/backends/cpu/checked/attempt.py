"""One attempt at a checked launch, and its shadow memory; see `findings` for what it says after."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.cpu import native
from metalloid.backends.cpu.binding import bind
from metalloid.backends.cpu.checked.arena import ARENA, Piece, address_of
from metalloid.backends.cpu.checked.mode import checks_of, clusters, range_of
from metalloid.backends.cpu.checked.records import (
    AGREEMENT,
    AGREEMENTS,
    GROUPS,
    LOCAL,
    LOCALS,
    CheckRecord,
    Cover,
    Decoder,
    SiteRecord,
    Word,
    cover,
    new_check,
    shadow_bytes,
)
from metalloid.backends.cpu.code import Compiled
from metalloid.backends.cpu.program import Program
from metalloid.errors import NotWatched
from metalloid.transforms.check_sites import Options

# enum RootKind.
_ROOT_KINDS = {"buffer": 0, "threadgroup": 1, "variable": 2, "constant": 3, "private": 4}
_WHAT = {"write": 1, "atomic": 2, "writer": 4, "defined": 8, "readers": 16, "reads": 32, "races": 64}
_MAIN = threading.main_thread()
MOST_SHADOW = (
    1  # times the buffers: with a copy of them to start again from, a check takes twice what it checks
)
SMALL = 1 << 27  # bytes of shadow beside that
MOST_GROUPS = 1 << 26  # 2 GiB of addresses for what is known of each


class CheckedRun:
    """One attempt at a launch."""

    def __init__(
        self,
        launch: Launch,
        program: Program,
        backwards: bool,
        mode: Options,
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
        self.resources: dict[int, Cover] = {}  # shadows of what pointers lead to, by address
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
        groups = np.empty(int(self.record.total) * GROUPS.itemsize, np.uint8)
        self.groups = groups.view(GROUPS)
        self.agreed = ARENA.take(AGREEMENTS, AGREEMENT)  # pages that nobody touches take no memory
        self.sites = self.compiled.shared.get("sites") or self._sites()
        c.counts = address_of(tables)
        c.events, c.muted = c.counts + 8 * sites, c.counts + 12 * sites
        c.groups, c.sites = address_of(groups), ctypes.addressof(self.sites)
        c.agreed = self.agreed.address
        c.thread_bits, c.site_bits = self.word.thread_bits, self.word.site_bits
        c.site_count, c.wide, c.continue_after_fault = (
            len(checks.sites),
            int(self.mode.wide),
            int(self.mode.continue_after_fault),
        )
        c.last_serial = self.word.serials - 1
        self._cover_buffers()
        self._cover_local()
        self._begin()
        self.record.check = ctypes.addressof(c)

    def _begin(self) -> None:
        """Serials go on from the last launch that used these arrays."""
        shift = self.word.serial_shift
        serial = -(-max(p.top for p in self.pieces()) >> shift)
        if serial > self.word.serials // 2:
            for p in self.pieces():
                p.clear()
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
        return int(self.check.now) | (1 << self.word.serial_shift) - 1

    def end(self) -> None:
        """Give the shadows back."""
        ARENA.give(self.pieces(), self.top())

    def forget(self) -> None:
        """Let go of the shadows; who reads them from now on has what is needed."""
        self.covers.clear()
        self.words.clear()
        self.read_words.clear()

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
        allowed = max(1, SMALL + MOST_SHADOW * sum(length for _, length in places.values()))
        self.windows = max(1, -(-needed // allowed))
        if self.windows > 1 and self.window[1] == 1:
            return  # to be made again, for one window after the other
        for group, start, length, granule, readers in wanted:
            made = cover(start, length, granule, self.word, readers, self.window)
            self.covers.append(made)
            for i in group:
                made.fill(c.shadows[i], *places[i], i in self.mode.undefined)
                part, self.firsts[i] = made.part(*places[i])
                self.words[i] = made.words(0)[part]
                if readers:
                    self.read_words[i] = made.words(1)[part]
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
            made.fill(
                self.check.shadows[number], address, made.length, address in self.launch.undefined_resources
            )
            self.resources[address] = made
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
        status = int(native.runtime().run(ctypes.addressof(self.record), 1, nanoseconds, int(main)))
        if not self.check.agreements:  # else it is full of what counts for this launch alone
            ARENA.give([self.agreed], 0)
        return status

    def at_barrier(self) -> bool:
        """Whether a fault is about a barrier."""
        return bool(self.record.fault.state) and self.fault_site().rule == "M204"

    def fault_site(self) -> Any:
        loaded = self.prepared.variants[self.record.fault.variant]
        assert loaded is not None
        return loaded.compiled.details.sites[self.record.fault.site]

    def decoder(self) -> Decoder:
        """How the words of this run are read."""
        groups = self.groups[: int(self.check.group_count)]
        return Decoder(self.launch, self.word, groups, int(self.check.start))

"""What several runs of one launch saw, each with shadow for one window of its buffers, as one observation."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalloid.backends.cpu.checked.attempt import CheckedRun
from metalloid.backends.cpu.checked.mode import range_of
from metalloid.backends.cpu.checked.records import Decoder
from metalloid.backends.observe import Observation, Record

_AT_ONCE = 1 << 15  # words
_SHORT = 16  # words of a run that is hardly worth it

_SHARED = ("buffer", "resource")  # memory that is divided; of the rest every run sees all
_EACH = ("read outside", "write outside", "misaligned")  # and these need no shadow


@dataclass(frozen=True)
class Packed:
    """Words, small while nobody asks for them: mostly runs in which each is one more than the one before it."""

    count: int
    starts: np.ndarray[Any, Any]  # of the runs
    firsts: np.ndarray[Any, Any]  # their first words
    step: int
    data: bytes = b""  # all words, where runs are short

    @classmethod
    def of(cls, words: np.ndarray[Any, Any]) -> Packed:
        step = int(np.median(np.diff(words[:_AT_ONCE]))) if len(words) > 1 else 1
        breaks = [np.zeros(min(1, len(words)), np.int64)]
        for first in range(0, len(words), _AT_ONCE):  # pieces that stay in the cache
            part = words[max(0, first - 1) : first + _AT_ONCE]
            found = np.flatnonzero(part[1:] - part[:-1] != part.dtype.type(step))
            breaks.append(found + max(1, first))
        starts = np.concatenate(breaks)
        if len(starts) * _SHORT > len(words):
            return cls(len(words), words[:0], words[:0], 0, zlib.compress(words.tobytes(), 1))
        return cls(len(words), starts, words[starts], step)

    def array(self) -> np.ndarray[Any, Any]:
        if self.data:
            return np.frombuffer(zlib.decompress(self.data), self.firsts.dtype)
        lengths = np.diff(self.starts, append=self.count)
        since = np.arange(self.count, dtype=np.int64) - np.repeat(self.starts, lengths)
        kind = self.firsts.dtype
        words: np.ndarray[Any, Any] = np.repeat(self.firsts, lengths) + since.astype(kind) * kind.type(
            self.step
        )
        return words

    def at_least(self, least: int) -> np.ndarray[Any, Any]:
        """Which words are not below a number."""
        if self.data or not self.count:
            every: np.ndarray[Any, Any] = self.array() >= least if self.count else np.zeros(0, bool)
            return every
        lengths = np.diff(self.starts, append=self.count)
        firsts = self.firsts.astype(np.int64)
        flags: np.ndarray[Any, Any] = np.repeat(firsts >= least, lengths)
        for n in np.flatnonzero((firsts < least) & (firsts + (lengths - 1) * self.step >= least)):
            words = firsts[n] + np.arange(lengths[n]) * self.step
            flags[self.starts[n] : self.starts[n] + lengths[n]] = words >= least
        return flags

    def at(self, places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Some of the words."""
        words: np.ndarray[Any, Any]
        if self.data:
            words = self.array()[places]
            return words
        run = np.searchsorted(self.starts, places, side="right") - 1
        words = (self.firsts[run].astype(np.int64) + (places - self.starts[run]) * self.step).astype(
            self.firsts.dtype
        )
        return words


class Windows(Mapping[int, np.ndarray[Any, Any]]):
    """Who wrote each granule last, by buffer, put together from the windows when it is asked for."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self.sizes = dict(sizes)  # granules, by buffer
        self.parts: dict[int, list[tuple[int, Packed, Decoder]]] = {i: [] for i in sizes}

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        whole = np.zeros(self.sizes[index], np.uint32)
        for first, packed, decoder in self.parts[index]:
            if packed.count:
                whole[first : first + packed.count] = decoder.threads(packed.array())
        return whole

    def touched(self, index: int) -> np.ndarray[Any, Any]:
        """Whether anybody wrote each granule of a buffer."""
        whole = np.zeros(self.sizes[index], bool)
        for first, packed, decoder in self.parts[index]:
            whole[first : first + packed.count] = packed.at_least(decoder.start)
        return whole

    def who(self, index: int, granules: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Who wrote some granules."""
        found = np.zeros(len(granules), np.uint32)
        for first, packed, decoder in self.parts[index]:
            here = np.flatnonzero((granules >= first) & (granules < first + packed.count))
            if len(here):
                found[here] = decoder.threads(packed.at(granules[here] - first))
        return found

    def __contains__(self, index: object) -> bool:
        """Without putting anything together, which Mapping's own would do."""
        return index in self.sizes

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


class Joined:
    """Collects what each run saw."""

    def __init__(self, run: CheckedRun) -> None:
        lengths = {i: range_of(memory)[1] for i, memory in run.launch.buffers.items()}
        sizes = {i: -(-length // run.checks.granules.get(i, 4)) for i, length in lengths.items()}
        self._writers = Windows(sizes)
        self._reads: dict[int, np.ndarray[Any, Any]] = {}
        self._seen: Observation | None = None
        self._records: dict[object, Record] = {}

    def add(self, run: CheckedRun, seen: Observation) -> None:
        for index, first in run.firsts.items():
            self._writers.parts[index].append((first, Packed.of(run.words[index]), run.decoder()))
        for index, marks in seen.reads.items():
            whole = self._reads.setdefault(index, np.zeros(self._writers.sizes[index], bool))
            whole[run.firsts[index] : run.firsts[index] + len(marks)] |= marks
        for record in seen.records:
            self._add(record)
        self._seen = self._seen or replace(seen, writers={}, reads={})

    def _add(self, record: Record) -> None:
        other = record.other.location if record.other else None
        key = record.kind, record.access.location, other, record.memory
        had = self._records.get(key)
        if had is None:
            self._records[key] = record
        elif record.memory is not None and record.memory.kind in _SHARED and record.kind not in _EACH:
            self._records[key] = had.with_another(record)

    def observation(self) -> Observation:
        assert self._seen is not None
        records = tuple(self._records.values())
        return replace(self._seen, records=records, writers=self._writers, reads=self._reads)

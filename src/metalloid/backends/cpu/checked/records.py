"""The memory of a checked launch: struct Check of runtime/check.cpp, its shadows, and what is read out of them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.backends.base import Launch, Triple
from metalloid.backends.cpu import native
from metalloid.backends.cpu.abi import SHADOW_ROOM
from metalloid.backends.cpu.checked.arena import ARENA, Piece
from metalloid.errors import DeviceError

LOCAL, SHADOWS, LOCALS, MOST_RECORDS = 32, 96, 64, 1024
_ALL = (1 << 64) - 1
_AT_ONCE = 1 << 20  # words that are decoded at once: it takes eighty bytes for each
_EDGE = 64  # granules that windows are multiples of

# enum Kind.
KINDS = (
    "read outside",
    "write outside",
    "misaligned",
    "threadgroup read before write",
    "device read before write",
    "race in threadgroup memory",
    "race in device memory",
    "race across threadgroups",
    "flags do not cover",
    "lockstep",
    "inactive lane",
    "outside an array",
)


class ShadowRecord(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_uint64)
            for name in ("writer", "first", "other", "start", "length", "window", "in_window")
        ),
        ("shift", ctypes.c_uint32),
        ("undefined", ctypes.c_uint32),
    ]


class SiteRecord(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_uint32)
            for name in ("what", "size", "align", "root_kind", "root", "index", "local", "bias")
        ),
        ("start", ctypes.c_uint64),
        ("length", ctypes.c_uint64),
    ]


class FindingRecord(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_uint32)
            for name in ("kind", "site", "other_site", "thread", "other_thread", "x", "y", "z")
        ),
        ("other_serial", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
    ]


class CheckRecord(ctypes.Structure):
    """struct Check."""

    _fields_ = [
        ("now", ctypes.c_uint64),
        ("group", ctypes.c_uint64),
        ("start", ctypes.c_uint64),
        ("since", ctypes.c_uint64 * 2),
        ("simd_since", ctypes.c_uint64 * 64),
        ("missing", ctypes.c_uint64 * LOCALS),
        ("shadows", ShadowRecord * SHADOWS),
        ("muted", ctypes.c_uint64),
        ("counts", ctypes.c_uint64),
        ("touched", ctypes.c_uint8 * SHADOWS),
        ("sites", ctypes.c_uint64),
        ("exec_since", ctypes.c_uint64),
        ("simd_exec_since", ctypes.c_uint64 * 32),
        ("serial", ctypes.c_uint64),
        ("last_serial", ctypes.c_uint64),
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("thread_bits", "site_bits", "site_count", "wide", "continue_after_fault", "local_count"),
                *("shadow_count", "fences"),
            )
        ),
        ("local_sizes", ctypes.c_uint64 * LOCALS),
        ("groups", ctypes.c_uint64),
        ("group_count", ctypes.c_uint64),
        ("records", FindingRecord * MOST_RECORDS),
        ("record_count", ctypes.c_uint64),
        ("reports", ctypes.c_uint64),
        ("events", ctypes.c_uint64),
        ("agreed", ctypes.c_uint64),
        ("agreements", ctypes.c_uint64),
        ("released_at", ctypes.c_uint64 * 2),
        *((name, ctypes.c_uint64 * 2048) for name in ("fenced", "released", "acquired")),
    ]


AGREEMENTS = 1 << 16  # of struct Agreement; of each threadgroup so many places are known where threads agree
AGREEMENT = np.dtype([("words", "u8", 5), ("threads", "u4", 32)])
GROUPS = np.dtype([("serial", "u8"), ("fenced", "u8"), ("x", "u4"), ("y", "u4"), ("z", "u4"), ("pad", "u4")])


@dataclass(frozen=True)
class Word:
    """How a word is divided: serial | site | agreed | thread."""

    thread_bits: int
    site_bits: int
    wide: bool

    @property
    def site_shift(self) -> int:
        return self.thread_bits + 1

    @property
    def serial_shift(self) -> int:
        return self.site_shift + self.site_bits

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint64 if self.wide else np.uint32

    @property
    def serials(self) -> int:
        """One past the last serial that fits."""
        return 1 << min(62, (64 if self.wide else 32) - self.serial_shift)


@dataclass(frozen=True)
class Cover:
    """The shadow of one piece of memory: words of the last writer and, where they are followed, of two readers."""

    start: int
    length: int
    granule: int
    pieces: tuple[Piece, ...]
    low: int = 0  # the first granule that has words
    count: int = -1  # how many have; all of them where it is not divided

    @property
    def bytes(self) -> int:
        return sum(p.array.nbytes for p in self.pieces)

    def words(self, which: int) -> np.ndarray[Any, Any]:
        """0: of writers; 1 and 2: of readers."""
        return self.pieces[which].array[SHADOW_ROOM:]

    def fill(self, record: ShadowRecord, start: int, length: int, undefined: bool) -> None:
        """The part of this cover from an address on, as one buffer's shadow."""
        skip = (start - self.start) // self.granule - self.low
        for name, piece in zip(("writer", "first", "other"), self.pieces, strict=False):
            setattr(record, name, piece.address + (SHADOW_ROOM + skip) * piece.array.itemsize)
        record.start, record.length = start, length
        record.window, record.in_window = 0, _ALL
        if self.count >= 0:
            record.window, record.in_window = -skip * self.granule & _ALL, self.count * self.granule
        record.shift, record.undefined = self.granule.bit_length() - 1, int(undefined)

    def part(self, start: int, length: int) -> tuple[slice, int]:
        """The words of a buffer that lies in here, and the number of its first granule that has one."""
        skip = (start - self.start) // self.granule
        end = skip + -(-length // self.granule)
        if self.count < 0:
            return slice(skip, end), 0
        first = min(max(skip, self.low), end)
        last = max(first, min(end, self.low + self.count))
        return slice(max(0, first - self.low), max(0, last - self.low)), first - skip


def cover(
    start: int, length: int, granule: int, word: Word, readers: bool, window: tuple[int, int] = (0, 1)
) -> Cover:
    """Shadow for some memory, or for one of several windows of it."""
    number, windows = window
    total, low, count = -(-length // granule), 0, -1
    if windows > 1:
        each = -(-total // windows // _EDGE) * _EDGE
        low = min(total, number * each)
        count = min(each, total - low)
    size = (total if count < 0 else count) + 2 * SHADOW_ROOM
    pieces = tuple(ARENA.take(size, word.dtype) for _ in range(3 if readers else 1))
    return Cover(start, length, granule, pieces, low, count)


def shadow_bytes(length: int, granule: int, word: Word, readers: bool) -> int:
    """What a shadow takes, but for a few kilobytes."""
    return -(-length // granule) * (8 if word.wide else 4) * (3 if readers else 1)


def new_check() -> CheckRecord:
    wanted = native.checks().sizeof_check
    if wanted != ctypes.sizeof(CheckRecord):
        raise DeviceError(f"[check] a Check has {wanted} bytes in C++ and {ctypes.sizeof(CheckRecord)} here")
    return CheckRecord()


def thread_at(launch: Launch, group: Triple, index: int) -> Triple:
    """The position in the grid of a thread of a threadgroup."""
    x, y, _ = launch.size_of(group)
    local = (index % x, index // x % y, index // (x * y))
    a, b, c = (g * t + p for g, t, p in zip(group, launch.threadgroup, local, strict=True))
    return a, b, c


@dataclass(frozen=True)
class Decoder:
    """How the words of one run are read: the threadgroups by their first serials, and the first word that counts."""

    launch: Launch
    word: Word
    groups: np.ndarray[Any, Any]
    start: int

    def threads(self, words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """0 where nobody wrote, else 1 + the number of the thread in the grid."""
        numbers = np.zeros(len(words), np.uint32)
        for first in range(0, len(words), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            self._decode(words[part], numbers[part])
        return numbers

    def _decode(self, words: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> None:
        at = np.flatnonzero(words >= words.dtype.type(self.start))
        if not len(at):
            return
        some, w, launch = words[at].astype(np.uint64), self.word, self.launch
        threads = (some & np.uint64((1 << w.thread_bits) - 1)).astype(np.int64)
        serials = some >> np.uint64(w.serial_shift)
        which = np.searchsorted(self.groups["serial"], serials, side="right") - 1
        groups = [self.groups[axis][which].astype(np.int64) for axis in "xyz"]
        size = [
            np.minimum(t, g - p * t) for g, t, p in zip(launch.grid, launch.threadgroup, groups, strict=True)
        ]
        local = (threads % size[0], threads // size[0] % size[1], threads // (size[0] * size[1]))
        x, y, z = (p * t + n for p, t, n in zip(groups, launch.threadgroup, local, strict=True))
        numbers[at] = 1 + x + launch.grid[0] * (y + launch.grid[1] * z)


class Writers(Mapping[int, np.ndarray[Any, Any]]):
    """Who wrote each granule last, by buffer; worked out when asked for."""

    def __init__(
        self, words: Mapping[int, np.ndarray[Any, Any]], unwatched: Mapping[int, int], decoder: Decoder
    ) -> None:
        self._words, self._decoder = words, decoder
        self._unwatched = unwatched  # granules of buffers without words: nobody wrote there
        self._made: dict[int, np.ndarray[Any, Any]] = {}

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        if index not in self._made:
            watched = index in self._words
            self._made[index] = (
                self._decoder.threads(self._words[index])
                if watched
                else np.zeros(self._unwatched[index], np.uint32)
            )
        return self._made[index]

    def touched(self, index: int) -> np.ndarray[Any, Any]:
        """Whether anybody wrote each granule of a buffer."""
        words = self._words.get(index)
        if words is None:
            return np.zeros(self._unwatched[index], bool)
        written: np.ndarray[Any, Any] = words >= words.dtype.type(self._decoder.start)
        return written

    def who(self, index: int, granules: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Who wrote some granules."""
        words = self._words.get(index)
        if words is None:
            return np.zeros(len(granules), np.uint32)
        return self._decoder.threads(words[granules])

    def __contains__(self, index: object) -> bool:
        """Without decoding anything, which Mapping's own would do."""
        return index in self._words or index in self._unwatched

    def __iter__(self) -> Iterator[int]:
        yield from self._words
        yield from self._unwatched

    def __len__(self) -> int:
        return len(self._words) + len(self._unwatched)

"""Read a `.metallib`: a list of functions, each with bitcode of its own.

The file may come from anywhere. Every offset is held against the bytes that are there before it is followed, nothing
is copied but names, and what does not fit is one sentence.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.source import MAGIC

HEADER = 88  # bytes
_LEAST_GROUP = 8  # a size and the tag that ends it
_WRAPPED, _PLAIN = b"\xde\xc0\x17\x0b", b"BC\xc0\xde"  # how bitcode begins

KINDS = {
    0: "vertex function",
    1: "fragment function",
    2: "kernel",
    3: "function without a stage",
    4: "visible function",
    5: "extern function",
    6: "intersection function",
    7: "mesh function",
    8: "object function",
}
PLATFORMS = {
    0x81: "macOS",
    0x82: "iOS",
    0x83: "tvOS",
    0x84: "watchOS",
    0x87: "iOS simulator",
    0x8B: "visionOS",
}

Data = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Entry:
    """One function of a library."""

    name: str
    kind: int
    air: tuple[int, int]  # version of AIR, such as (2, 6)
    metal: tuple[int, int]  # version of the language it was written in
    offset: int  # of its bitcode, from the start of the data
    size: int
    hash: bytes  # sha256 of the bitcode; empty where the file has none

    @property
    def is_kernel(self) -> bool:
        return self.kind == 2


@dataclass(frozen=True, eq=False)
class Container:
    """One library: where it lies, what it is for, what it holds. It is itself and no other: to compare two would cost
    more than to read one."""

    name: str  # of the file, for messages
    data: Data = field(repr=False)
    start: int
    size: int
    system: str  # "macOS 14.0"
    entries: tuple[Entry, ...] = field(repr=False)

    def bitcode(self, entry: Entry) -> bytes:
        """The bitcode of one function, as it was written."""
        code = bytes(self.data[entry.offset : entry.offset + entry.size])
        if code[:4] not in (_WRAPPED, _PLAIN):
            raise damaged(self.name, f"the code of '{entry.name}' is encrypted, or no bitcode at all")
        if entry.hash and hashlib.sha256(code).digest() != entry.hash:
            raise damaged(
                self.name, f"the code of '{entry.name}' is not what its checksum says: it is damaged"
            )
        return code


def damaged(name: str, message: str) -> CompileError:
    return CompileError([Diagnostic(message, name, 0)])


def open_data(path: Path) -> Data:
    """The bytes of a file, mapped and not read."""
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # an empty file, or one that cannot be mapped
            return file.read(1 << 26)


def read_container(data: Data, name: str, start: int = 0) -> Container:
    """The library that begins at `start`; raises CompileError where there is none, or not all of it."""
    room = len(data) - start
    if room < 4 or data[start : start + 4] != MAGIC:
        raise damaged(name, "this is not a Metal library: it does not begin with 'MTLB'")
    if room < HEADER:
        raise damaged(name, f"this Metal library is cut off: {room} bytes, and its header alone has {HEADER}")
    os_kind, major, minor, size = struct.unpack_from("<BHHQ", data, start + 11)
    if size > room or size < HEADER:
        raise damaged(name, f"this Metal library is cut off: its header says {size} bytes, there are {room}")
    sections = struct.unpack_from("<8Q", data, start + 24)
    spans = tuple(zip(sections[::2], sections[1::2], strict=True))
    for (offset, length), what in zip(spans[:1] + spans[3:], ("list of functions", "bitcode"), strict=True):
        if offset > size or length > size - offset:
            raise damaged(name, f"this Metal library is damaged: its {what} lies outside of it")
    system = f"{PLATFORMS.get(os_kind, 'unknown system')} {major}.{minor}"
    begin = start + spans[0][0]
    listed = bytes(data[begin : min(begin + 4 + spans[0][1], start + size)])  # the count is not counted
    entries = tuple(_entries(listed, name, start, spans[3]))
    return Container(name, data, start, size, system, entries)


def _entries(listed: bytes, name: str, start: int, bitcode: tuple[int, int]) -> Iterator[Entry]:
    count = int.from_bytes(listed[:4], "little")
    if len(listed) < 4 or count > (len(listed) - 4) // _LEAST_GROUP:
        raise damaged(
            name, f"this Metal library is damaged: it cannot hold the {count} functions it says it does"
        )
    at = 4
    for _ in range(count):
        size = int.from_bytes(listed[at : at + 4], "little")
        if size < _LEAST_GROUP or size > len(listed) - at:
            raise damaged(name, "this Metal library is damaged: an entry of its list is longer than the list")
        yield _entry(_tags(listed, at + 4, at + size, name), name, start, bitcode)
        at += size


def _tags(listed: bytes, at: int, end: int, name: str) -> dict[bytes, bytes]:
    """The tags of one entry: four letters, a length, and so many bytes."""
    found: dict[bytes, bytes] = {}
    while (tag := listed[at : at + 4]) != b"ENDT":
        after = at + 6 + int.from_bytes(listed[at + 4 : at + 6], "little")
        if after + 4 > end:
            raise damaged(name, "this Metal library is damaged: an entry of its list has no end")
        found[tag] = listed[at + 6 : after]
        at = after
    return found


# What an entry must have, and how long each is; 0: any.
_NEEDED = {b"NAME": 0, b"TYPE": 1, b"OFFT": 24, b"MDSZ": 8, b"VERS": 8}
_OFFSETS = struct.Struct("<16xQ")
_SIZE = struct.Struct("<Q")
_VERSIONS = struct.Struct("<4H")


def _entry(tags: dict[bytes, bytes], name: str, start: int, bitcode: tuple[int, int]) -> Entry:
    for tag, length in _NEEDED.items():
        if tag not in tags or (length and len(tags[tag]) != length):
            what = tag.decode()
            raise damaged(
                name, f"this Metal library is damaged: a function has no {what}, or one of the wrong size"
            )
    (offset,), (size,) = _OFFSETS.unpack(tags[b"OFFT"]), _SIZE.unpack(tags[b"MDSZ"])
    if offset > bitcode[1] or size > bitcode[1] - offset:
        raise damaged(name, "this Metal library is damaged: the code of a function lies outside of it")
    air_major, air_minor, major, minor = _VERSIONS.unpack(tags[b"VERS"])
    digest = tags.get(b"HASH", b"")
    return Entry(
        tags[b"NAME"].split(b"\0")[0].decode("utf-8", "replace"),
        tags[b"TYPE"][0],
        (air_major, air_minor),
        (major, minor),
        start + bitcode[0] + offset,
        size,
        digest if len(digest) == 32 else b"",
    )


def find_containers(data: Data, name: str) -> Iterator[Container]:
    """Every library inside these bytes: a `.metallib` has one, a program may have several, at any place."""
    at = data.find(MAGIC)
    while at >= 0:
        try:
            found = read_container(data, name, at)
        except CompileError:
            at = data.find(MAGIC, at + 1)  # four letters by chance
        else:
            yield found
            at = data.find(MAGIC, at + found.size)

"""Memory of objects: a pointer is an object and an offset into it.

So every access is checked exactly, however far a pointer has wandered. Each
object also has an address, far from all others, because kernels store pointers
and read them back (argument buffers), and compare them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from metalloid.backends.observe import Memory

SLOT = {32: 20, 64: 44}  # log2 of the room around each object, by the width of its addresses


@dataclass(eq=False)
class Object:
    """A buffer, a threadgroup or private variable, or a constant table."""

    label: str  # what messages call it
    data: memoryview
    address: int = 0
    index: int | None = None  # of a bound buffer
    constant: bool = False
    memory: Memory | None = None  # what observers call it
    base: int = 0  # where its bytes really are: memory bound twice, or in part, is one memory
    start: int = 0  # how far into its allocation they begin, for alignment
    below: int = 0  # bytes of its allocation that are not the buffer's: it was bound with an offset

    @property
    def size(self) -> int:
        return len(self.data)


NULL = Object("a null pointer", memoryview(b""), memory=Memory("null"))


@dataclass(frozen=True, slots=True)
class Pointer:
    object: Object
    offset: int = 0

    @property
    def address(self) -> int:
        return self.object.address + self.offset

    def moved(self, bytes: int) -> Pointer:
        return Pointer(self.object, self.offset + bytes)


NULL_POINTER = Pointer(NULL)


class AccessError(Exception):
    """An access outside its object, or a write to one that cannot be written."""

    def __init__(self, pointer: Pointer, size: int, write: bool, odd: bool = False) -> None:
        self.pointer, self.size, self.write, self.odd = pointer, size, write, odd
        super().__init__(self.describe())

    @property
    def rule(self) -> str:
        inside = 0 <= self.pointer.offset <= self.pointer.object.size - self.size
        if inside and self.odd:
            return "M103"
        return "M107" if inside else ("M102" if self.write else "M101")

    def describe(self) -> str:
        what, target = "write" if self.write else "read", self.pointer.object
        if self.rule == "M107":
            return f"{what} of {self.size} bytes to {target.label}, which is read-only"
        if target is NULL:
            return f"{what} of {self.size} bytes through a null pointer, offset {self.pointer.offset}"
        if self.rule == "M103":
            at = f"offset {self.pointer.offset - target.below} of {target.label}"
            return f"atomic {what} of {self.size} bytes at {at}: its address is no multiple of {self.size}"
        return (
            f"out-of-bounds {what} of {self.size} bytes at offset {self.pointer.offset - target.below}"
            f" of {target.label} ({target.size - target.below} bytes)"
        )


def aligned(pointer: Pointer, size: int, write: bool) -> None:
    """Atomics stand at multiples of their size."""
    start = pointer.object.base or pointer.object.address
    if (start + pointer.offset) % size:
        raise AccessError(pointer, size, write, odd=True)


def load(pointer: Pointer, size: int) -> int:
    """The little-endian number in these bytes."""
    offset, data = pointer.offset, pointer.object.data
    if offset < 0 or offset + size > len(data):
        raise AccessError(pointer, size, write=False)
    return int.from_bytes(data[offset : offset + size], "little")


def store(pointer: Pointer, size: int, value: int) -> None:
    """Write a number as little-endian bytes."""
    _check_write(pointer, size)
    pointer.object.data[pointer.offset : pointer.offset + size] = value.to_bytes(size, "little")


def load_bytes(pointer: Pointer, size: int) -> bytes:
    if pointer.offset < 0 or pointer.offset + size > pointer.object.size:
        raise AccessError(pointer, size, write=False)
    return bytes(pointer.object.data[pointer.offset : pointer.offset + size])


def store_bytes(pointer: Pointer, data: bytes) -> None:
    _check_write(pointer, len(data))
    pointer.object.data[pointer.offset : pointer.offset + len(data)] = data


def _check_write(pointer: Pointer, size: int) -> None:
    target = pointer.object
    if pointer.offset < 0 or pointer.offset + size > target.size or target.constant or target.data.readonly:
        raise AccessError(pointer, size, write=True)


def text_at(pointer: Pointer) -> str:
    """The NUL-terminated text a pointer leads to."""
    raw = bytes(pointer.object.data[max(0, pointer.offset) :])
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


@dataclass
class AddressSpace:
    """Objects with addresses of one width."""

    width: int
    objects: list[Object] = field(default_factory=list)  # by address
    _made: int = 0

    def add(self, made: Object) -> Object:
        """Give the object an address unless it has one, and remember it."""
        if not made.address:
            self._made += 1
            slot = SLOT[self.width]
            made.address = (self._made << slot) + (1 << slot - 1) - (1 << slot - 1) % 16
        at = bisect_right([o.address for o in self.objects], made.address)
        self.objects.insert(at, made)
        return made

    def at(self, address: int) -> Pointer:
        """The pointer an address stands for: into the object around it, or else the nearest one.

        An address between objects keeps the object it most likely came from,
        so that the check of an access through it can name that object.
        """
        if address == 0 or not self.objects:
            return Pointer(NULL, address)
        after = bisect_right([o.address for o in self.objects], address)
        near = self.objects[max(0, after - 1) : after + 1]
        best = min(near, key=lambda o: _distance(o, address))
        return Pointer(best, address - best.address)


def _distance(target: Object, address: int) -> int:
    if address < target.address:
        return target.address - address
    return max(0, address - (target.address + target.size))

"""Memory for runs that go on after a mistake: a read outside gives zeros, a write outside is dropped."""

from __future__ import annotations

from metalloid.backends.interpret.memory import Object, Pointer


def load(pointer: Pointer, size: int) -> int:
    return int.from_bytes(load_bytes(pointer, size), "little")


def store(pointer: Pointer, size: int, value: int) -> None:
    store_bytes(pointer, value.to_bytes(size, "little"))


def load_bytes(pointer: Pointer, size: int) -> bytes:
    target, offset = pointer.object, pointer.offset
    return bytes(target.data[offset : offset + size]) if _inside(target, offset, size) else bytes(size)


def store_bytes(pointer: Pointer, data: bytes) -> None:
    target, offset = pointer.object, pointer.offset
    if _inside(target, offset, len(data)) and not target.constant and not target.data.readonly:
        target.data[offset : offset + len(data)] = data


def _inside(target: Object, offset: int, size: int) -> bool:
    return offset >= 0 and offset + size <= target.size

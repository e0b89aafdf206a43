"""Which side of a buffer is newer, with a GPU that only counts what is copied."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from metalloid.backends.cuda.memory import Memory
from metalloid.runtime.pool import Pool


class Counting:
    """Device memory is host memory here; every copy is noted."""

    def __init__(self) -> None:
        self.copies: list[str] = []
        self._memory: dict[int, Any] = {}

    def enter(self) -> None:
        pass

    def take(self, size: int) -> int:
        made = ctypes.create_string_buffer(size)
        self._memory[ctypes.addressof(made)] = made
        return ctypes.addressof(made)

    def give_back(self, address: int, size: int) -> None:
        self.copies.append("free")
        del self._memory[address]

    def upload(self, address: int, host: int, size: int) -> None:
        self.copies.append("up")
        ctypes.memmove(address, host, size)

    def download(self, host: int, address: int, size: int) -> None:
        self.copies.append("down")
        ctypes.memmove(host, address, size)


@pytest.fixture
def memory() -> Memory:
    return Memory(Counting())  # type: ignore[arg-type]


def launched(memory: Memory, array: np.ndarray, value: float) -> None:
    """A kernel that fills an array on the GPU."""
    placed = memory.place(array.ctypes.data, array.nbytes, True)
    assert placed is not None
    (ctypes.c_float * array.size).from_address(placed[0])[:] = [value] * array.size
    if placed[1] is not None:
        memory.gpu.download(placed[1].host, placed[1].device, placed[1].size)


def test_a_buffer_that_nobody_looks_at_is_never_copied_back(memory: Memory) -> None:
    array = memory.adopt(Pool().allocate(64)).view(np.float32)
    memory.host(array)[:] = 1
    for value in (2.0, 3.0, 4.0):
        launched(memory, array, value)
    assert memory.gpu.copies == ["up"]
    assert (memory.host(array) == 4).all() and memory.gpu.copies == ["up", "down"]


def test_a_view_that_lives_sees_every_launch(memory: Memory) -> None:
    array = memory.adopt(Pool().allocate(64)).view(np.float32)
    seen = memory.host(array)
    launched(memory, array, 5.0)
    assert (seen == 5).all()
    seen[3] = 7
    part = memory.place(array.ctypes.data, array.nbytes, False)
    assert part is not None and (ctypes.c_float * 16).from_address(part[0])[3] == 7
    del seen
    before = len(memory.gpu.copies)
    launched(memory, array, 6.0)
    launched(memory, array, 8.0)
    assert memory.gpu.copies[before:] == ["up"]


def test_memory_goes_with_its_last_array(memory: Memory) -> None:
    whole = memory.adopt(Pool().allocate(128)).view(np.float32)
    launched(memory, whole, 1.0)
    part = whole[8:16]
    found = memory.find(part.ctypes.data)
    assert found is not None and found is memory.find(whole.ctypes.data)
    del whole
    assert memory.find(part.ctypes.data) is found
    del part, found
    assert memory.gpu.copies[-1] == "free"

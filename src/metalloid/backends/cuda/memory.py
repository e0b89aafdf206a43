"""Which host memory lies where on the GPU, and on which side it is newer.

A buffer's host pages are its mirror: nobody touches them until the host asks. What the host was given (`numpy()`) may
be changed by it at any time, so as long as such a view lives, each launch copies there and back; when it is gone, the
buffer stays on the GPU. Arrays that are the caller's own are copied for each launch.

Memory that other libraries have as well is theirs to write at any time, and nobody hears of it. What lies on the GPU is
what counts there, unless the host has changed what it was given.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from bisect import bisect_right, insort
from collections.abc import Container, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from metalloid.backends.cuda.driver import Gpu
from metalloid.backends.cuda.record import SPARE

Array = np.ndarray[Any, Any]


class Newer(Enum):
    SAME = 0
    HOST = 1
    DEVICE = 2


class Mirror:
    """A piece of host memory and its place on the GPU."""

    __slots__ = ("device", "foreign", "given", "handed", "host", "newer", "outside", "size")

    def __init__(self, host: int, size: int, device: int = 0, foreign: bool = False) -> None:
        self.host, self.size, self.device, self.foreign = host, size, device, foreign
        self.newer = Newer.DEVICE if foreign else Newer.HOST
        self.handed: weakref.ref[_Held] | None = None  # what the host looks at
        self.outside = foreign  # other libraries may write it on the GPU
        self.given = b""  # the bytes that the host was given of such memory

    @property
    def watched(self) -> bool:
        return self.handed is not None and self.handed() is not None

    @property
    def changed(self) -> bool:
        """Whether the host has bytes that the GPU needs."""
        if self.newer is not Newer.HOST or not self.outside:
            return self.newer is Newer.HOST
        return ctypes.string_at(self.host, self.size) != self.given


class _Held(np.ndarray[Any, Any]):
    """Bytes of host memory; whoever has an array of them keeps this alive."""

    gone: Any

    def __array_finalize__(self, other: object) -> None:
        self.gone = None

    def __del__(self) -> None:
        if self.gone is not None:
            self.gone()


def _held(array: Array) -> _Held:
    # Of a buffer of ctypes: of another array or a memoryview, numpy would let views point at what is behind this one.
    plain: Any = array.reshape(-1).view(np.uint8)
    shared: Any = (ctypes.c_char * array.nbytes).from_buffer(plain)
    return _Held((array.nbytes,), np.uint8, shared)


class Memory:
    """All that one GPU knows of host memory."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._starts: list[int] = []
        self._mirrors: dict[int, Mirror] = {}
        self._foreign: dict[tuple[int, int], Array] = {}
        self._lock = threading.RLock()
        self.version = 0  # another where memory may lie elsewhere, or the host may have looked at it
        self.epoch = 0  # another where pages that stood for memory of others may stand for other memory

    # ---- buffers ----------------------------------------------------------------------------------------------------

    def adopt(self, array: Array, device: int = 0) -> Array:
        """Host pages as a buffer's mirror; the GPU's memory goes when the last array of them does."""
        if not array.nbytes:
            return array
        held = _held(array)
        mirror = Mirror(held.ctypes.data, held.nbytes, device, foreign=bool(device))
        with self._lock:
            self.version += 1
            self._mirrors[mirror.host] = mirror
            insort(self._starts, mirror.host)
        held.gone = lambda: self._forget(mirror)
        return held.view(np.ndarray)

    def _forget(self, mirror: Mirror) -> None:
        with self._lock:
            self.version += 1
            if self._mirrors.pop(mirror.host, None) is not None:
                self._starts.remove(mirror.host)
        if mirror.device and not mirror.foreign:
            self.gpu.give_back(mirror.device, mirror.size)

    def find(self, address: int) -> Mirror | None:
        found = self._mirrors.get(address)
        if found is None and self._starts:
            with self._lock:
                at = bisect_right(self._starts, address) - 1
                found = self._mirrors[self._starts[at]] if at >= 0 else None
            if found is not None and address >= found.host + found.size:
                return None
        return found

    def host(self, array: Array) -> Array:
        """The same bytes, for the host to read and to write."""
        mirror = self.find(array.ctypes.data) if array.nbytes else None
        if mirror is None:
            return array
        if mirror.outside and not mirror.changed:
            mirror.newer = Newer.DEVICE
        self.reveal(mirror)
        self.version += 1
        if mirror.outside and mirror.newer is not Newer.HOST:
            mirror.given = ctypes.string_at(mirror.host, mirror.size)
        mirror.newer = Newer.HOST
        whole = mirror.handed() if mirror.handed is not None else None
        if whole is None:
            owner: Any = array
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            whole = _held(owner)
            mirror.handed = weakref.ref(whole)
        start = array.ctypes.data - mirror.host
        part = whole.view(np.ndarray)[start : start + array.nbytes]
        shown: Array = part.view(array.dtype).reshape(array.shape)
        return shown

    def reveal(self, mirror: Mirror) -> None:
        """Make the host's bytes what they should be."""
        if mirror.newer is Newer.DEVICE:
            self.version += 1
            self.gpu.enter()
            self.gpu.download(mirror.host, mirror.device, mirror.size)
            mirror.newer = Newer.DEVICE if mirror.outside else Newer.SAME

    def bring(self, mirror: Mirror) -> None:
        """Make the GPU's bytes what they should be."""
        if mirror.changed:
            self.gpu.upload(mirror.device, mirror.host, mirror.size)
            if mirror.outside:
                mirror.given = ctypes.string_at(mirror.host, mirror.size)
        if mirror.newer is Newer.HOST and not mirror.watched:
            mirror.newer = Newer.DEVICE if mirror.outside else Newer.SAME

    def take_back(self, mirror: Mirror) -> None:
        """Show the host what a launch has written of memory that it looks at."""
        self.gpu.download(mirror.host, mirror.device, mirror.size)
        if mirror.outside:
            mirror.given = ctypes.string_at(mirror.host, mirror.size)

    def lies(self, address: int) -> int:
        """Where memory is, in numbers that are the same for the same bytes: one place on the GPU may be known by
        several arrays of other libraries."""
        mirror = self.find(address)
        return mirror.device + address - mirror.host if mirror is not None and mirror.device else address

    # ---- arrays of other libraries ----------------------------------------------------------------------------------

    def foreign(self, address: int, size: int) -> Array:
        """An array of host pages that stands for memory of the GPU that somebody else owns."""
        found = self._foreign.get((address, size))
        if found is None:
            if len(self._foreign) > 256:
                self._foreign.clear()
                self.epoch += 1
            start = address % 16  # as far from a multiple of 16 as the memory itself
            pages = np.frombuffer(mmap.mmap(-1, start + size), np.uint8)[start : start + size]
            found = self._foreign[address, size] = self.adopt(pages, address)
        mirror = self.find(found.ctypes.data)
        if mirror is not None and not mirror.changed:
            mirror.newer = Newer.DEVICE  # its owner may have written it since
        return found

    @cached_property
    def spare(self) -> int:
        """Memory for accesses that are left out: zeros for those that read, then room for those that write."""
        device = self.gpu.take(2 * SPARE)
        zeros = ctypes.create_string_buffer(2 * SPARE)
        self.gpu.upload(device, ctypes.addressof(zeros), 2 * SPARE)
        self.gpu.wait()
        return device

    # ---- launches ---------------------------------------------------------------------------------------------------

    def resident(
        self,
        addresses: Sequence[int],
        lengths: Sequence[int],
        written: Sequence[bool],
        carried: Container[int],
    ) -> list[int] | None:
        """Where a launch finds its memory, where all of it is on the GPU and nobody looks at it; else None."""
        mirrors, found, changed = self._mirrors, [], []
        for index, address in enumerate(addresses):
            if not lengths[index]:
                found.append(0)
                continue
            mirror = mirrors.get(address) or self.find(address)
            if index in carried:  # its bytes are read on the host
                if mirror is not None and mirror.newer is Newer.DEVICE:
                    self.reveal(mirror)
                found.append(0)
                continue
            if mirror is None or mirror.newer is Newer.HOST or not mirror.device:
                return None
            if mirror.handed is not None:
                if mirror.handed() is not None:
                    return None
                mirror.handed = None
            found.append(mirror.device + address - mirror.host)
            if written[index]:
                changed.append(mirror)
        for mirror in changed:
            mirror.newer = Newer.DEVICE
        return found

    def place(self, address: int, size: int, written: bool) -> tuple[int, Mirror | None] | None:
        """Where on the GPU a kernel finds these bytes, and the mirror to copy back afterwards; None: nowhere yet."""
        mirror = self.find(address)
        if mirror is None:
            return None
        if not mirror.device:
            mirror.device = self.gpu.take(mirror.size)
        watched = mirror.watched
        self.bring(mirror)
        if written and not watched:
            mirror.newer = Newer.DEVICE
        return mirror.device + (address - mirror.host), mirror if written and watched else None

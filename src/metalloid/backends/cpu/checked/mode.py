"""What a checked launch is made for, and what its code says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.cpu.checked.arena import address_of
from metalloid.backends.cpu.code import Prepared, RootLike
from metalloid.errors import DeviceError
from metalloid.location import Location


class NotWatched(DeviceError):
    """A launch that the vector engine cannot watch; the oracle can."""


@dataclass(frozen=True)
class Mode:
    """What the code of a checked launch is made for."""

    continue_after_fault: bool = False  # lanes outside are left out, one by one
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

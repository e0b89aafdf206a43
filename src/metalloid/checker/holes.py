"""Memory from `device.empty` across launches: which of its bytes no launch has written yet.

A launch that writes a part leaves holes; what it leaves is kept until another launch has filled it, and a launch that
reads a hole has read what nobody wrote. Only memory is followed that nobody but checked launches has had in hand
(`Launch.launched` counts those that wrote it): after anything else nothing is said.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.types import Signature

Flags = np.ndarray[Any, np.dtype[np.bool_]]
_WRITES = ("write", "read_write")
_MOST = 1 << 26  # bytes of a buffer whose holes are kept
_MANY = 64  # buffers that are followed


@dataclass
class _Followed:
    memory: weakref.ref[np.ndarray[Any, Any]]  # the allocation: its address alone may be another's later
    launches: int  # that wrote to it and were seen
    unset: Flags  # by byte


_FOLLOWED: dict[int, _Followed] = {}


def with_holes(launch: Launch) -> Launch:
    """The launch with those of its `launched` buffers whose holes are known, and no others."""
    if not launch.launched:
        return launch
    known = {i: n for i, n in launch.launched.items() if holes(launch, i) is not None}
    return replace(launch, launched=known)


def holes(launch: Launch, index: int) -> Flags | None:
    """The bytes of a buffer that no launch has written, where that is known."""
    memory = launch.buffers.get(index)
    if not isinstance(memory, np.ndarray) or (found := _FOLLOWED.get(_address(memory))) is None:
        return None
    if found.memory() is not _root(memory) or found.launches != launch.launched.get(index):
        return None
    return found.unset if len(found.unset) == memory.nbytes else None


def remember(signature: Signature, launch: Launch, seen: Observation) -> None:
    """Keep what a launch has left unwritten."""
    for parameter in signature.buffers:
        index, memory = parameter.index, launch.buffers.get(parameter.index)
        first, later = index in launch.undefined, index in launch.launched
        if parameter.access not in _WRITES or not isinstance(memory, np.ndarray) or not (first or later):
            continue
        at = _address(memory)
        if seen.stopped or index not in seen.writers or memory.nbytes > _MOST:
            _FOLLOWED.pop(at, None)
            continue
        written = by_byte(seen.touched(index), seen.granules.get(index, 1), memory.nbytes)
        if first:
            _FOLLOWED[at] = _Followed(weakref.ref(_root(memory)), 1, ~written)
        elif at in _FOLLOWED:
            _FOLLOWED[at].unset &= ~written
            _FOLLOWED[at].launches += 1
        if at in _FOLLOWED and not _FOLLOWED[at].unset.any():
            del _FOLLOWED[at]
    for at in [at for at, one in _FOLLOWED.items() if one.memory() is None]:
        del _FOLLOWED[at]
    while len(_FOLLOWED) > _MANY:
        del _FOLLOWED[next(iter(_FOLLOWED))]


def by_byte(flags: Flags, granule: int, count: int) -> Flags:
    """Flags of granules, for each byte."""
    wide: Flags = np.zeros(count, bool)
    spread = np.repeat(flags, granule)[:count]
    wide[: len(spread)] = spread
    return wide


def _root(memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    return memory


def _address(memory: np.ndarray[Any, Any]) -> int:
    return int(memory.__array_interface__["data"][0])

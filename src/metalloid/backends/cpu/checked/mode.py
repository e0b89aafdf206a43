"""What a checked launch and its code agree on; where buffers lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.cpu.checked.arena import address_of
from metalloid.backends.cpu.code import Prepared
from metalloid.transforms.check_sites import Checks


def checks_of(prepared: Prepared) -> Checks:
    """What the code of a checked launch agreed on."""
    found = next(v.compiled.details.checks for v in prepared.variants if v is not None)
    assert found is not None
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

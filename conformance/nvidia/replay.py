"""One launch with its inputs and what it must leave, made on a machine without a GPU and run on one that has it.

Scalar IR travels, not machine code: the other machine needs no front end, and its own passes make the PTX.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.types import Signature

Array = np.ndarray[Any, Any]
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Replay:
    """`expected` has the buffers that are looked at, by index. `near` allows floats another order of operations."""

    suite: str
    name: str
    ir: str
    signature: Signature
    grid: Triple
    threadgroup: Triple
    buffers: Mapping[int, Array]  # before the launch; one array bound twice is one object
    expected: Mapping[int, Array]
    local: Mapping[int, int] = field(default_factory=dict)
    near: frozenset[int] = frozenset()  # buffers whose floats need not be the same to the bit
    fault: str = ""  # the rule that stops it
    halves: bool = False  # floats are made of halves whose sums have no order

    def launch(self) -> tuple[Launch, dict[int, Array]]:
        """A launch over copies of the inputs, and the copies."""
        copies = {id(a): a.copy() for a in self.buffers.values()}
        bound = {index: copies[id(a)] for index, a in self.buffers.items()}
        return Launch(self.grid, self.threadgroup, bound, self.local, kernel=self.signature.name), bound


def save(path: Path, replays: Iterable[Replay]) -> int:
    """Write them one after the other, compressed; how many there were."""
    count = 0
    with path.open("wb") as file:
        for replay in replays:
            data = zlib.compress(pickle.dumps(replay), 6)
            file.write(len(data).to_bytes(8, "little") + data)
            count += 1
    return count


def load(path: Path) -> Iterator[Replay]:
    with path.open("rb") as file:
        while head := file.read(8):
            made: Replay = pickle.loads(zlib.decompress(file.read(int.from_bytes(head, "little"))))
            yield made

"""Who wrote the first wrong element?

The function runs once more under the checker, which keeps the last writer of every byte. The output is
found among the buffers of its launches by its address, or, where the function returns a copy, by its
contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.backends.base import Triple
from metalloid.checker import Checked, checked
from metalloid.comparing.case import AnyCase
from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import Pair, Wrong
from metalloid.errors import MetalloidError
from metalloid.findings import NOTE
from metalloid.findings.homes import home_of, homes_of
from metalloid.findings.places import nearby


@dataclass(frozen=True)
class Witness:
    """What a checked run says about one element."""

    kernel: str = ""
    buffer: str = ""
    thread: Triple | None = None  # None: no thread wrote it
    threadgroup: Triple | None = None
    places: tuple[str, ...] = ()  # file:line of the stores to this buffer that ran
    findings: tuple[str, ...] = ()  # what the checker says about the same run

    @property
    def text(self) -> str:
        if not self.kernel:
            return ""
        if self.thread is None:
            return (
                f"no thread of kernel '{self.kernel}' wrote it: '{self.buffer}' holds what was there before"
            )
        return (
            f"written by thread {_triple(self.thread)}, threadgroup {_triple(self.threadgroup)}"
            f" of kernel '{self.kernel}'" + (f", at {' or '.join(self.places)}" if self.places else "")
        )


def witness(pair: Pair, case: AnyCase, wrong: Wrong | None) -> Witness:
    """Run it under the checker; an empty answer where the element is in no buffer of a launch."""
    with checked() as report:
        try:
            results = pair.got(case.arguments())
        except MetalloidError:
            results = {}
    findings = tuple(f.text() for f in report.findings if f.severity != NOTE)
    output = results.get(wrong.output) if wrong else None
    if wrong and output is not None and output.size:
        for launched, index, start in _homes(output, list(report.launches)):
            return _who(launched, index, start + _offset(output, wrong.index), findings)
    return Witness(findings=findings)


def _homes(output: Array, launches: list[Checked]) -> Iterator[tuple[Checked, int, int]]:
    """(launch, buffer index, byte where the output starts): the last launch first."""
    for same in (_inside, _equal):
        for launched in reversed(launches):
            for index in launched.observation.writers:
                memory = launched.launch.buffers.get(index)
                if isinstance(memory, np.ndarray):
                    start = same(output, memory)
                    if start is not None:
                        yield launched, index, start


def _inside(output: Array, memory: Array) -> int | None:
    start = int(output.ctypes.data) - int(memory.ctypes.data)
    return start if 0 <= start < memory.nbytes else None


def _equal(output: Array, memory: Array) -> int | None:
    return 0 if output.nbytes == memory.nbytes and output.tobytes() == memory.tobytes() else None


def _offset(output: Array, index: tuple[int, ...]) -> int:
    """In bytes, where the element lies in the output's memory."""
    if not output.flags.c_contiguous:
        return sum(n * stride for n, stride in zip(index, output.strides, strict=True))
    return int(np.ravel_multi_index(index, output.shape)) * output.itemsize if index else 0


def _who(launched: Checked, index: int, offset: int, findings: tuple[str, ...]) -> Witness:
    launch, seen = launched.launch, launched.observation
    number = int(seen.writers[index].reshape(-1)[offset // max(1, seen.granules.get(index, 1))])
    parameters: dict[int, Any] = {p.index: p for p in launched.case.kernel.signature.buffers}
    name = parameters[index].name if index in parameters else f"buffer {index}"
    if not number:
        return Witness(launched.kernel, name, findings=findings)
    width, height, _ = launch.grid
    position = (number - 1) % width, (number - 1) // width % height, (number - 1) // (width * height)
    x, y, z = (p // size for p, size in zip(position, launch.threadgroup, strict=True))
    ran = [place for place, count in seen.stores.items() if count and _names(launched.case.line(place), name)]
    homes = homes_of(launched.case.kernel.source)
    lines = sorted({(nearby(place.file), place.line) for place in (home_of(place, homes) for place in ran)})
    places = tuple(f"{file}:{line}" for file, line in lines)
    return Witness(launched.kernel, name, position, (x, y, z), places if len(places) <= 3 else (), findings)


def _names(line: str, name: str) -> bool:
    """Whether a source line speaks of this buffer: a launch has stores to other memory as well."""
    return re.search(rf"\b{re.escape(name)}\b", line) is not None


def _triple(position: Triple | None) -> str:
    return f"({', '.join(map(str, position or ()))})"

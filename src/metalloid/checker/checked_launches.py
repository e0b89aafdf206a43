"""Checked launches and what was found in them: the data of a report, for whoever puts it into words or drawings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.case import Case
from metalloid.checker.fold import follows, merged
from metalloid.checker.rules.coverage import written_extent
from metalloid.findings import NOTE, Finding

KEPT = 64  # launches that a report keeps whole; older ones without findings only count


@dataclass(frozen=True)
class Checked:
    """One launch: what was seen and what is said about it."""

    case: Case
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    before: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)  # what small outputs held

    @property
    def kernel(self) -> str:
        return self.case.launch.kernel

    @property
    def launch(self) -> Launch:
        return self.case.launch

    @property
    def observation(self) -> Observation:
        return self.case.observation

    def __repr__(self) -> str:
        return f"<checked launch of {self.kernel}, grid {self.launch.grid}, {len(self.findings)} findings>"

    def light(self) -> Checked:
        """The same without its memory: a program may make thousands of launches."""
        seen = self.observation
        counted = Observation(
            records=seen.records, threads=seen.threads, stopped=seen.stopped, left=seen.left
        )
        case = Case(self.case.kernel, replace(self.launch, buffers={}, resources=()), counted)
        return Checked(case, self.findings, self.seconds)


class Copied(np.ndarray[Any, Any]):
    """A copy of memory that its owner may free; it remembers where that lay."""

    place: tuple[int, int]

    @classmethod
    def of(cls, memory: Any) -> Copied:
        made = np.array(memory, copy=True).view(cls)
        made.place = _place(memory)
        return made


def _place(memory: Any) -> tuple[int, int]:
    """Where an array begins, and its bytes."""
    if isinstance(memory, Copied):
        return memory.place
    if not memoryview(memory).nbytes:
        return 0, 0
    view = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    return int(view.__array_interface__["data"][0]), view.nbytes


class CheckedLaunches:
    """Launches as they are made, and findings that no single launch has."""

    def __init__(self, launches: Iterable[Checked] = (), more: Iterable[Finding] = ()) -> None:
        self._launches: list[Checked] = list(launches)
        self._more: list[Finding] = list(more)

    @property
    def launches(self) -> tuple[Checked, ...]:
        return tuple(self._launches)

    @property
    def more(self) -> tuple[Finding, ...]:
        """Findings that no launch has: refused ones, and what shows over several."""
        return tuple(self._more)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings; the same mistake in several launches once, with their counts added."""
        every = [f for launch in self._launches for f in launch.findings if not self.completed(launch, f)]
        more = [f for f in self._more if f.rule != "M304" or not self._all_written(f.kernel)]
        kept = [f for f in every if not any(follows(f, cause) for cause in more)]
        return merged([*kept, *more])

    def _all_written(self, kernel: str) -> bool:
        """Whether launches of a kernel wrote all of their outputs: then the grid was a count of threads (M304)."""
        cases = [launch.case for launch in self._launches if launch.kernel == kernel]
        extents = [written_extent(case, p) for case in cases for p in case.kernel.signature.buffers]
        known = [extent for extent in extents if extent is not None]
        return bool(known) and all(extent.count == extent.total for extent in known)

    def completed(self, launch: Checked, finding: Finding) -> bool:
        """Whether other launches wrote what one left out, or read what it wrote: a chunk, or a step of several."""
        if finding.rule not in ("M106", "M305"):
            return False
        index = next((i for i, p in launch.case.parameters.items() if p.name == finding.buffer), None)
        if index is None or index not in launch.launch.buffers:
            return False
        undefined = index in launch.launch.undefined
        place = _place(launch.launch.buffers[index])
        written = launch.observation.touched(index).copy()
        for other in self._launches:
            for number, memory in other.launch.buffers.items():
                if other is launch or _place(memory) != place or number not in other.observation.writers:
                    continue
                if number in other.observation.read and (not undefined or number in other.launch.launched):
                    return True  # of memory that starts undefined: M105 tells where it read what nobody wrote
                marks = other.observation.touched(number)
                if len(marks) == len(written):
                    written |= marks
        return bool(written.all())

    @property
    def ok(self) -> bool:
        return not self.stopped and all(f.severity == NOTE for f in self.findings)

    @property
    def stopped(self) -> str:
        """Why a checked run did not go to its end; empty where all did."""
        return next((c.observation.stopped for c in self._launches if c.observation.stopped), "")

    def add(self, item: Checked | Finding) -> None:
        if isinstance(item, Finding):
            self._more.append(item)
        else:
            self._launches.append(item)
            old = len(self._launches) - 1 - KEPT
            if old >= 0 and not self._launches[old].findings:
                self._launches[old] = self._launches[old].light()

    @property
    def left(self) -> tuple[str, ...]:
        """What was looked at in part only, and how far: sentences, one for each kernel."""
        found = [(c.kernel, words) for c in self._launches for words in c.observation.left]
        several = len({kernel for kernel, _ in found}) > 1
        return tuple(dict.fromkeys(f"{words} of '{k}'" if several else words for k, words in found))

"""The result in question: which output of which launch, and what is odd about its elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalloid.checker.case import Case, nbytes
from metalloid.checker.checked_launches import Checked, CheckedLaunches
from metalloid.checker.rules.coverage import written_extent
from metalloid.findings import NOTE, Finding
from metalloid.runtime.arguments import WRITES
from metalloid.runtime.pack import NUMPY
from metalloid.types import Matrix, Parameter, Scalar, Vector


@dataclass(frozen=True)
class Output:
    """The result in question."""

    checked: Checked
    parameter: Parameter
    data: np.ndarray[Any, Any]  # elements
    expected: np.ndarray[Any, Any] | None = None

    @property
    def case(self) -> Case:
        return self.checked.case

    @property
    def name(self) -> str:
        return self.parameter.name

    def looks(self) -> str:
        """What is odd about it, in words; empty where nothing is."""
        if self.data.size and not self.data.any():
            return "all zeros"
        if self.data.size > 1 and (self.data == self.data.flat[0]).all():
            return f"all {self.data.flat[0]}"
        written = written_extent(self.case, self.parameter)
        if written is not None and written.count < written.total:
            return "partly untouched"
        wrong = self.first_wrong()
        return "partly wrong" if wrong is not None and wrong >= 0 else ""

    def first_wrong(self) -> int | None:
        """The first element that is not as expected; -1 where all are, None where nothing is expected."""
        if self.expected is None:
            return None
        wrong = ~np.isclose(self.data.astype(np.float64), self.expected.astype(np.float64), 1e-3, 1e-5)
        return int(np.argmax(wrong)) if wrong.any() else -1


def choose(report: CheckedLaunches, name: str, expected: Any) -> Output | None:
    found = []
    said = {_what(f) for f in report.findings}
    for seen in reversed(report.launches):
        # What later launches have settled, such as a chunk that they completed, is said no more.
        checked = replace(seen, findings=tuple(f for f in seen.findings if _what(f) in said))
        for parameter in checked.case.kernel.signature.buffers:
            written = parameter.access in WRITES and (not name or parameter.name == name)
            memory = checked.launch.buffers.get(parameter.index)
            if written and memory is not None:
                data = _elements(parameter, memory)
                wanted = None if expected is None else np.asarray(expected).reshape(-1)
                fits = wanted is not None and wanted.size == data.size
                found.append(Output(checked, parameter, data, wanted if fits else None))
    told = [o for o in found if any(f.severity != NOTE for f in o.checked.findings)]
    found = told or found  # of launches that a rule has something to say about
    blamed = [o for o in found if any(f.buffer == o.name for f in o.checked.findings if f.severity != NOTE)]
    odd = [o for o in found if o.looks()]
    return next(iter(blamed or odd or found), None)


def _what(finding: Finding) -> object:
    return finding.rule, finding.buffer, finding.location


def _elements(parameter: Parameter, memory: Any) -> np.ndarray[Any, Any]:
    raw = np.asarray(memory).reshape(-1).view(np.uint8) if nbytes(memory) else np.zeros(0, np.uint8)
    match parameter.type:
        case Scalar(dtype):
            return raw.view(NUMPY[dtype])
        case Vector(element) | Matrix(element):
            return raw.view(NUMPY[element.dtype])
        case _:
            return raw

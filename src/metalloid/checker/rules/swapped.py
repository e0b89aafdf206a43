"""M310: two arrays of one type that look as if they had changed places.

What a kernel only reads is all zeros, as if it had just been made for results; what it only writes held numbers that
the caller had put there, and are gone now. Or the names that the caller gave
them say it (`swapped_names.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from metalloid.checker.case import Case, nbytes
from metalloid.checker.rules.swapped_names import swapped_names
from metalloid.findings import Finding
from metalloid.types import Parameter


def swapped(case: Case) -> Iterator[Finding]:
    if case.observation.stopped:
        return
    named = swapped_names(case)
    yield from [named] if named is not None else by_contents(case)


def by_contents(case: Case) -> Iterator[Finding]:
    arrays = [p for p in case.kernel.signature.buffers if p.index in case.launch.buffers and not p.reference]
    unset = case.launch.undefined
    reads = [
        p for p in arrays if p.access == "read" and (p.index in unset or _blank(case.launch.buffers[p.index]))
    ]
    writes = [p for p in arrays if p.access == "write" and p.index in case.before and _filled(case, p)]
    if len(reads) != 1 or len(writes) != 1:
        return
    read, written = reads[0], writes[0]
    if str(read.type) != str(written.type) or case.elements(read.index) != case.elements(written.index):
        return
    empty = "was never filled" if read.index in unset else "is all zeros"
    found = case.at_launch(
        "M310",
        f"'{written.name}' held numbers and is only written, '{read.name}' {empty} and only read: have the two"
        " changed places?",
        f"'{read.name}' is buffer {read.index} and '{written.name}' buffer {written.index}: pass the data as"
        f" '{read.name}' and the array for results as '{written.name}', or both by name",
    )
    yield replace(found, buffer=written.name, detail={"read": read.name})


def _blank(memory: Any) -> bool:
    """Whether an array of some length is all zeros."""
    data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    if nbytes(memory) < _FEW or data[:_PIECE].any():
        return False
    words = data[: data.size // 8 * 8].view(np.uint64)
    return not words[:: max(1, words.size // _LOOKED_AT)].any()


def _filled(case: Case, parameter: Parameter) -> bool:
    """Whether an array held several different numbers before the launch."""
    data = np.asarray(case.before[parameter.index]).reshape(-1).view(np.uint8)
    each = max(1, parameter.type.size)
    rows = data[: data.size // each * each].reshape(-1, each)
    return len(rows) > 1 and parameter.index not in case.launch.undefined and bool((rows != rows[0]).any())


_FEW = 32  # bytes
_PIECE = 4096
_LOOKED_AT = 1 << 20  # words that are looked at, spread over a large array

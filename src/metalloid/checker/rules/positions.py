"""M404 for positions: a 16-bit `thread_position_in_grid` in a launch that has more threads than it can count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from metalloid.checker.case import Case
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.types import Scalar, Vector


def narrow(case: Case) -> Iterator[Finding]:
    """Positions that come round to 0 again."""
    launch = case.launch
    extents = {
        "thread_position_in_grid": launch.grid,
        "threadgroup_position_in_grid": launch.threadgroups,
        "threads_per_grid": tuple(n + 1 for n in launch.grid),
        "threadgroups_per_grid": tuple(n + 1 for n in launch.threadgroups),
    }
    for parameter in case.kernel.parameters:
        scalar = parameter.type.element if isinstance(parameter.type, Vector) else parameter.type
        if parameter.kind != "builtin" or parameter.builtin not in extents or not isinstance(scalar, Scalar):
            continue
        counted = parameter.type.length if isinstance(parameter.type, Vector) else 1
        most = max(extents[parameter.builtin][:counted])
        if scalar.size == 2 and most > 1 << 16:
            yield _finding(case, parameter.name, parameter.line, scalar.dtype.msl, most)


def _finding(case: Case, name: str, line: int, kind: str, most: int) -> Finding:
    signature = case.kernel.signature
    place = Location(signature.file, line or signature.line, 0, signature.name)
    named = re.search(rf"\b{name}\b", case.line(place))
    place = replace(place, column=named.start() + 1 if named else 0)
    return Finding(
        "M404",
        f"'{name}' is a {kind}, which counts to 65535, and the launch has {most}: it comes round to 0 again",
        case.launch.kernel,
        place,
        hint=f"declare it with 32 bits: {kind.replace('short', 'int')} {name}",
        excerpt=case.line(place),
        detail={"position": name},
    )

"""How fast a launch is, and how near the limits of this machine: the figures of a roofline."""

from __future__ import annotations

from typing import Any

import metalloid as mt
from metalloid.measure import measure, this_machine
from metalloid.runtime.places import speaking_of
from metalloid.studio.jobs.inputs import arguments
from metalloid.studio.jobs.launch import sizes_of
from metalloid.studio.jobs.source import source_of

SECONDS = 0.5  # of timing


def measured(data: dict[str, Any]) -> dict[str, Any]:
    library = mt.device().library(source_of(data))
    kernel = library[str(data["kernel"])]
    given = arguments(kernel.signature, data.get("inputs") or {})
    machine = this_machine()
    with speaking_of(kernel.signature.file, kernel.signature.line):
        found = measure(kernel, **given, **sizes_of(data), seconds=SECONDS)
    return {
        "machine": {"name": machine.name, "bandwidth": machine.bandwidth, "peak": machine.peak},
        "kernel": found.name,
        "median": found.timing.median,
        "best": found.timing.best,
        "spread": found.timing.spread,
        "runs": found.timing.runs,
        "operations": found.work.operations,
        "bytes": found.work.moved,
        "intensity": found.work.intensity,
        "bandwidth": found.bandwidth,
        "rate": found.rate,
        "limit": found.bound(machine),
        "share": found.share(machine),
    }

"""One launch, checked: what came out, what was found, who wrote what."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from math import prod
from typing import Any

import numpy as np

import metalloid as mt
from metalloid.backends.base import LogMessage
from metalloid.checker.engines import within
from metalloid.checker.explain.link import Explanation
from metalloid.checker.page.launches import launches
from metalloid.checker.page.timeline import timeline
from metalloid.checker.refusals import raised
from metalloid.findings import Finding
from metalloid.runtime.arguments import WRITES
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.places import speaking_of
from metalloid.source import Source
from metalloid.studio import limits
from metalloid.studio.jobs.arrays import summary
from metalloid.studio.jobs.inputs import arguments, size
from metalloid.studio.jobs.source import source_of

SMALL = 4096  # threads that the oracle watches
QUICK = 3.0  # seconds that it is given
LOGGED = 200  # messages of a kernel


def launch(data: dict[str, Any]) -> dict[str, Any]:
    source = source_of(data)
    start = time.perf_counter()
    logs: list[str] = []
    try:
        kernel = _kernel(source, str(data.get("kernel") or ""))
    except mt.CompileError as error:
        return _answer(source, mt.Report(more=raised(error)), {}, logs, start)
    kernel.on_log = lambda message: _log(logs, message)
    report, given = _checked(kernel, data)
    written = {p.name for p in kernel.signature.buffers if p.access in WRITES}
    return _answer(source, report, given, logs, start, written)


def _checked(kernel: mt.Kernel, data: dict[str, Any]) -> tuple[mt.Report, dict[str, Any]]:
    """A small launch is watched by the oracle, which has nothing to compile; the engine takes what is too long."""
    signature, sizes = kernel.signature, sizes_of(data)
    ways = (("oracle", QUICK), ("vector", limits.OBSERVED))
    for engine, seconds in ways if prod(sizes["grid"] or (1,)) <= SMALL else ways[1:]:
        os.environ["METALLOID_CHECK_ENGINE"] = engine
        given = arguments(signature, data.get("inputs") or {})
        with within(seconds), speaking_of(signature.file, signature.line):
            report = mt.check(kernel, **given, **sizes)
        if not report.stopped or any(f.rule == "M204" for f in report.findings):
            break
    return report, given


def _kernel(source: Source, name: str) -> mt.Kernel:
    library = mt.device().library(source)
    if not library.kernels:
        raise mt.MetalloidError("there is no kernel in this text; one is written `kernel void name(...)`")
    return library[name if name in library.kernels else library.kernels[0]]


def sizes_of(data: dict[str, Any]) -> dict[str, Any]:
    local = {
        int(index): int(count) for index, count in (data.get("local") or {}).items() if str(count).isdigit()
    }
    return {
        "grid": size("grid", str(data.get("grid") or "")),
        "threadgroup": size("threadgroup", str(data.get("threadgroup") or "")),
        "threadgroup_memory": local,
    }


def _answer(
    source: Source,
    report: mt.Report,
    given: dict[str, Any],
    logs: list[str],
    start: float,
    written: Collection[str] = (),
) -> dict[str, Any]:
    why = report.explain() if report.launches else None
    return {
        "ok": report.ok,
        "summary": report.text().rsplit("\n\n", 1)[-1],
        "stopped_early": report.stopped,
        "left": list(report.left),
        "findings": [_told(f, source.name) for f in report.findings],
        "arrays": [_array(name, value, name in written) for name, value in given.items() if _is_array(value)],
        "maps": launches(report),
        "why": _chain(why) if why is not None and why.broken is not None and not report.ok else None,
        "logs": logs,
        "threads": sum(c.observation.threads for c in report.launches),
        "milliseconds": (time.perf_counter() - start) * 1e3,
    }


def _chain(why: Explanation) -> dict[str, Any]:
    """The links from the launch to the result, as far as the one that is broken."""
    links = [{"holds": link.holds, "said": link.said, "hint": link.hint} for link in why.links]
    return {"subject": why.subject, "links": links}


def _told(finding: Finding, name: str) -> dict[str, Any]:
    made = finding.json()
    made["here"] = finding.location is not None and finding.location.file == name
    made["timeline"] = timeline(finding)
    made["what"] = str(finding.detail.get("what", ""))  # read or write, of one of two places
    made["text"] = finding.text()
    return made


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray | Buffer)


def _array(name: str, value: Any, written: bool) -> dict[str, Any]:
    unset = isinstance(value, Buffer)
    made = summary(name, np.asarray(value.memory() if unset else value), poisoned=unset)
    return {**made, "output": written}


def _log(logs: list[str], message: LogMessage) -> None:
    if len(logs) < LOGGED:
        logs.append(message.text)

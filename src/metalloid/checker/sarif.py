"""A report as SARIF 2.1.0: what code-scanning services and editors read.

One run; a rule for each number that occurs, with its page as help; a result for each finding. The other side of a
race is a related location. Columns count UTF-16 code units, as the format wants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from metalloid.errors import MetalloidError
from metalloid.findings import Finding
from metalloid.findings.places import nearby
from metalloid.ir.debug import Location
from metalloid.rules import rule
from metalloid.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_CALL = re.compile(r"(?P<file>.*):(?P<line>\d+) \(.*\)")  # as `findings.homes` names a text without lines


def sarif(findings: Iterable[Finding]) -> str:
    """The findings as the text of one SARIF file."""
    given = list(findings)
    numbers = sorted({f.rule for f in given})
    rules = [_rule(number) for number in numbers]
    driver: dict[str, Any] = {"name": "metalloid", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(f, numbers.index(f.rule)) for f in given],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(number: str) -> dict[str, Any]:
    try:
        page = rule(number)
    except MetalloidError:
        return {"id": number}
    return {
        "id": number,
        "shortDescription": {"text": page.title},
        "help": {"text": page.text, "markdown": page.text},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    hint = f"\n{finding.hint}" if finding.hint else ""
    made: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.message + hint},
        "occurrenceCount": max(1, finding.count),
        "properties": {
            "kernel": finding.kernel,
            "buffer": finding.buffer,
            "thread": list(finding.thread or ()),
            "threadgroup": list(finding.threadgroup or ()),
        },
    }
    if finding.location is not None:
        made["locations"] = [_location(finding.location, finding.excerpt)]
    if finding.other is not None and finding.other.location is not None:
        who = f" thread {finding.other.thread}" if finding.other.thread else ""
        other = _location(finding.other.location, finding.other.excerpt)
        made["relatedLocations"] = [{**other, "id": 1, "message": {"text": f"{finding.other.what}{who}"}}]
    return made


def _location(place: Location, excerpt: str) -> dict[str, Any]:
    called = _CALL.fullmatch(place.file)
    if called:  # a text that was put together: its lines are nowhere in the repository, the call is
        place, excerpt = replace(place, file=called["file"], line=int(called["line"]), column=0), ""
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line > 0:
        physical["region"] = {"startLine": place.line}
        if place.column > 0:
            before = excerpt[: place.column - 1]
            physical["region"]["startColumn"] = (
                1 + len(before.encode("utf-16-le")) // 2 if before else place.column
            )
        if excerpt:
            physical["region"]["snippet"] = {"text": excerpt}
    made: dict[str, Any] = {"physicalLocation": physical}
    if place.function:
        made["logicalLocations"] = [{"name": place.function, "kind": "function"}]
    return made


def _uri(file: str) -> str:
    path = PurePath(nearby(file))  # code scanning looks for files in the repository
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())

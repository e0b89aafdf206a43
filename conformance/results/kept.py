"""Verdicts that were reached before, kept one line each, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import metalloid
from conformance.packages import STORE
from conformance.results.case import Argument, Case, Step
from conformance.results.judge import Verdict, made

LINES = STORE / "verdicts.jsonl"


def key_of(case: Case, *how: object) -> str:
    """A hash of all that a verdict depends on: the code of metalloid, and the case's launches, data and bounds."""
    digest = hashlib.sha256(repr((code(), case.label, case.order, how)).encode())
    work = made(case, "small")
    for step in work.steps:
        digest.update(_text(step).encode())
        sizes = (step.threadgroup, step.threadgroups, step.grid, sorted(step.threadgroup_memory.items()))
        digest.update(repr(sizes).encode())
        for argument in step.arguments:
            digest.update(_bytes(argument))
    for output in work.outputs:
        digest.update(repr((output.name, output.tolerance, output.ulps)).encode())
        digest.update(np.ascontiguousarray(output.expected).tobytes())
    return digest.hexdigest()


def _text(step: Step) -> str:
    """Not the paths of what it includes: they differ from checkout to checkout, the packages do not."""
    source = step.source
    constants = sorted(step.constants.items(), key=repr)
    return repr((source.text, source.math, sorted(source.defines.items()), step.kernel, constants))


def _bytes(argument: Argument) -> bytes:
    return argument.tobytes() if isinstance(argument, np.ndarray) else repr(argument).encode()


@cache
def code() -> str:
    """The files of metalloid, by their contents."""
    digest = hashlib.sha256()
    root = Path(metalloid.__file__).parent
    for path in sorted(p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def keep(key: str, verdict: Verdict) -> None:
    with LINES.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, **asdict(verdict)}) + "\n")


def known() -> dict[str, Verdict]:
    """By key; a line that a stopped run left half-written does not count."""
    found: dict[str, Verdict] = {}
    for line in LINES.read_text(encoding="utf-8").splitlines() if LINES.exists() else ():
        try:
            entry: dict[str, Any] = json.loads(line)
            key = entry.pop("key")
            found[key] = Verdict(**{**entry, "kernels": tuple(entry["kernels"])})
        except (ValueError, KeyError, TypeError):
            continue
    return found

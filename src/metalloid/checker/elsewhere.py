"""Launches of a program in another process: it writes down what is found, whoever started it reads that as a report.

`metalloid check bin/tool` names a folder in METALLOID_CHECK_TO. Every process below it that launches a kernel adds a
file there (recorder.py), frame by frame, so that a program that crashes has told what was found before.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.case import Case
from metalloid.checker.checked_launches import Checked
from metalloid.checker.choice import Choice
from metalloid.checker.report import Report
from metalloid.errors import MetalloidError
from metalloid.findings import Finding
from metalloid.source import Source
from metalloid.types import Parameter, Signature

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

WISH, SUFFIX, PAGE = "wish", ".launches", ".html"


@dataclass(frozen=True)
class Wish:
    """What the one who reads wants: which findings count, and whether a page shall be made."""

    choice: Choice
    page: bool = False


@dataclass(frozen=True)
class KernelFacts:
    """As much of a kernel as a report speaks of."""

    name: str
    source: Source
    signature: Signature
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Launched:
    """One launch, without its memory; `kernel` is sent with the first of its launches."""

    number: int
    kernel: KernelFacts | None
    launch: Launch
    observation: Observation
    findings: tuple[Finding, ...]
    seconds: float


@dataclass(frozen=True)
class Ended:
    """The last frame: findings that other launches have made up for, as (launch, finding)."""

    completed: frozenset[tuple[int, int]]


def wish(folder: Path, asked: Wish) -> dict[str, str]:
    """Ask programs to write their launches into a folder; the variables that they need."""
    (folder / WISH).write_bytes(pickle.dumps(asked))
    return {"METALLOID_CHECK_TO": str(folder)}


def report(folder: Path) -> Report:
    """What all processes have written."""
    launches: list[Checked] = []
    more: list[Finding] = []
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        own: list[Checked] = []
        kernels: dict[int, KernelFacts] = {}
        for frame in _frames(file):
            if isinstance(frame, Finding):
                more.append(frame)
            elif isinstance(frame, Ended):
                own = [_without(c, n, frame.completed) for n, c in enumerate(own)]
            else:
                own.append(_checked(frame, kernels))
        launches += own
    return Report(launches, more)


def page(folder: Path) -> str:
    """The page that the one process with launches has made; empty where there is none, or several have some."""
    made, processes = list(folder.glob(f"*{PAGE}")), list(folder.glob(f"*{SUFFIX}"))
    return made[0].read_text(encoding="utf-8") if len(made) == len(processes) == 1 else ""


def _frames(file: Path) -> Iterator[Finding | Launched | Ended]:
    with file.open("rb") as stream:
        while stream.peek(1):
            try:
                yield pickle.load(stream)
            except (EOFError, pickle.UnpicklingError):  # the program was killed while it wrote
                return
            except (AttributeError, ImportError, TypeError) as error:
                raise MetalloidError(
                    f"the program was built with another metalloid ({error}); build it again with metalloid cc."
                ) from None


def _checked(frame: Launched, kernels: dict[int, KernelFacts]) -> Checked:
    if frame.kernel is not None:
        kernels[frame.number] = frame.kernel
    case = Case(cast("KernelCode", kernels[frame.number]), frame.launch, frame.observation)
    return Checked(case, frame.findings, frame.seconds)


def _without(checked: Checked, number: int, completed: frozenset[tuple[int, int]]) -> Checked:
    kept = tuple(f for k, f in enumerate(checked.findings) if (number, k) not in completed)
    return replace(checked, findings=kept)

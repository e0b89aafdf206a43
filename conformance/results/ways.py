"""The ways to run a step on the engine: how many lanes, which guards, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from conformance.results.case import Step
from conformance.results.launch import TIMEOUT, compiled, launch_of
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import Vectors
from metalloid.backends.cpu.lower.vectorize import uses_lanes
from metalloid.backends.cpu.program import Program
from metalloid.frontend import Kernel
from metalloid.transforms.canonicalize import canonical

# "proved": a guard where no proof was found, as launches run; "all": a guard at every access; "none": guard=False.
Guards = Literal["proved", "all", "none"]
CHOSEN = 0
FORCED = (1, 8, 16, 32, 64)  # lanes; kernels with SIMD-group operations always have 32
LONG = 10_000  # lines of IR times lanes: wider code of so long a kernel is never chosen, and takes a minute to compile


@dataclass(frozen=True)
class Way:
    lanes: int
    guards: Guards
    backwards: bool = False  # the last instance of a threadgroup first

    def __str__(self) -> str:
        lanes = f"{self.lanes} lanes" if self.lanes else "lanes as chosen"
        return f"{lanes}, guards: {self.guards}{', backwards' if self.backwards else ''}"


USUAL = (
    Way(CHOSEN, "proved"),
    Way(CHOSEN, "all", backwards=True),
    Way(CHOSEN, "none"),
    Way(CHOSEN, "none", backwards=True),
)
# At each width two that differ in everything; a case takes one of them, the next case the other.
WIDTHS = tuple((Way(lanes, "proved", backwards=True), Way(lanes, "none")) for lanes in FORCED)
EVERY = tuple(
    Way(lanes, guards, backwards)
    for lanes in (CHOSEN, *FORCED)
    for guards in ("proved", "all", "none")
    for backwards in (False, True)
)


# How many of them to try.
Extent = Literal["quick", "chosen", "widths", "every"]


def ways(steps: tuple[Step, ...], number: int, extent: Extent = "widths") -> tuple[Way, ...]:
    """Those that make a difference to some step; `number` says which of two."""
    widths = tuple(pair[(number + n) % 2] for n, pair in enumerate(WIDTHS))
    chosen = {"quick": (USUAL[0], USUAL[3]), "chosen": USUAL, "widths": USUAL + widths, "every": EVERY}[
        extent
    ]
    if all(in_simdgroups(compiled(step)) for step in steps):
        return tuple(way for way in chosen if way.lanes == CHOSEN)
    threads = max(step.threadgroup[0] * step.threadgroup[1] * step.threadgroup[2] for step in steps)
    lines = max(compiled(step).ir.count("\n") for step in steps)
    most = min(max(2 * threads - 1, 1), max(LONG // lines, 8))  # wider than threads: only more idle lanes
    return tuple(way for way in chosen if way.lanes <= most)


def run_in_way(step: Step, way: Way) -> None:
    """On one thread, so that a result does not depend on who comes first."""
    kernel = compiled(step)
    lanes = CHOSEN if in_simdgroups(kernel) else way.lanes
    program = _program(kernel, lanes, way.guards == "proved")
    program.run(launch_of(kernel, step), guard=way.guards != "none", timeout=TIMEOUT, backwards=way.backwards)


def in_simdgroups(kernel: Kernel) -> bool:
    """Whether it has operations among the lanes of a SIMD-group, which say how many there are."""
    return _uses_lanes(kernel.ir)


@lru_cache(64)
def _uses_lanes(ir: str) -> bool:
    return uses_lanes(canonical(ir))


_programs: dict[tuple[str, int, bool], Program] = {}  # those of one kernel: cases come one after the other


def _program(kernel: Kernel, lanes: int, proved: bool) -> Program:
    key = (kernel.ir, lanes, proved)
    if key not in _programs:
        if len(_programs) > 64:
            _programs.clear()
        made = Vectors(kernel.ir, lanes, codegen.host(), 1)
        names = {p.index: p.name for p in kernel.signature.buffers}
        prover = (lambda: made.proofs) if proved else (lambda: None)
        _programs[key] = Program(kernel.signature.name, made.compile, names, made.target, prover)
    return _programs[key]

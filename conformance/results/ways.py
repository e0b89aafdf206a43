"""The ways to run a step on the engine: how many lanes, which guards, in which order, code of which tier.

What users get runs in code that users get: good code in the usual order, baseline code with a guard at every access.
The rest looks for mistakes of our own passes, and LLVM's optimiser, which took most of the time, stays out of it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from conformance.results.case import Step
from conformance.results.launch import TIMEOUT, compiled, launch_of
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import Vectors
from metalloid.backends.cpu.code import Compiled, Variant
from metalloid.backends.cpu.lower.vectorize import uses_lanes
from metalloid.backends.cpu.program import Program
from metalloid.frontend import Kernel

# "proved": a guard where no proof was found, as launches run; "all": a guard at every access; "none": guard=False.
Guards = Literal["proved", "all", "none"]
# "good": as LLVM optimises it; "baseline": what small launches begin with; "plain": what is made soonest.
Tier = Literal["good", "baseline", "plain"]
CHOSEN = 0
FORCED = (1, 8, 16, 32, 64)  # lanes; kernels with SIMD-group operations always have 32
LONG = 10_000  # lines of IR times lanes: wider code of so long a kernel is never chosen, and takes a minute to compile


@dataclass(frozen=True)
class Way:
    lanes: int
    guards: Guards
    backwards: bool = False  # the last instance of a threadgroup first
    tier: Tier = "plain"

    def __str__(self) -> str:
        lanes = f"{self.lanes} lanes" if self.lanes else "lanes as chosen"
        return f"{lanes}, guards: {self.guards}{', backwards' if self.backwards else ''}, {self.tier} code"


USUAL = (
    Way(CHOSEN, "proved", tier="good"),
    Way(CHOSEN, "all", backwards=True, tier="baseline"),
    Way(CHOSEN, "none"),
    Way(CHOSEN, "none", backwards=True),
)
OTHERS = (Way(CHOSEN, "proved"), USUAL[1], Way(CHOSEN, "none", tier="good"), USUAL[3])
# At each width two that differ in everything. A case takes one of them, the next case the other; so with the good code
# of the usual ways, which takes four times as long to make as the rest.
WIDTHS = tuple((Way(lanes, "proved", backwards=True), Way(lanes, "none")) for lanes in FORCED)
EVERY = tuple(
    Way(lanes, guards, backwards, "plain" if lanes else "good")
    for lanes in (CHOSEN, *FORCED)
    for guards in ("proved", "all", "none")
    for backwards in (False, True)
)


# How many of them to try.
Extent = Literal["quick", "chosen", "widths", "every"]


def ways(steps: tuple[Step, ...], number: int, extent: Extent = "widths") -> tuple[Way, ...]:
    """Those that make a difference to some step; `number` says which of two."""
    widths = tuple(pair[(number + n) % 2] for n, pair in enumerate(WIDTHS))
    usual = (USUAL, OTHERS)[number % 2]
    chosen = {"quick": (usual[0], usual[3]), "chosen": usual, "widths": usual + widths, "every": EVERY}[
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
    program = _program(kernel, lanes, way)
    program.run(launch_of(kernel, step), guard=way.guards != "none", timeout=TIMEOUT, backwards=way.backwards)


def in_simdgroups(kernel: Kernel) -> bool:
    """Whether it has operations among the lanes of a SIMD-group, which say how many there are."""
    return uses_lanes(_vectors(kernel.ir).module)


@lru_cache(8)
def _vectors(ir: str) -> Vectors:
    """Of one kernel: its canonical form and what can be proved of it are the same for any number of lanes."""
    return Vectors(ir, CHOSEN, codegen.host(), 1)


_programs: dict[tuple[str, int, bool, Tier], Program] = {}  # of one kernel: cases come one after the other


def _program(kernel: Kernel, lanes: int, way: Way) -> Program:
    proved = way.guards == "proved"
    key = (kernel.ir, lanes, proved, way.tier)
    if key not in _programs:
        if len(_programs) > 64:
            _programs.clear()
        every = _vectors(kernel.ir)
        made = copy(every)
        made.width, made.level = lanes, int(way.tier != "plain")
        names = {p.index: p.name for p in kernel.signature.buffers}
        prover = (lambda: every.proofs) if proved else (lambda: None)
        code = partial(_code, made, way.tier == "baseline")
        _programs[key] = Program(kernel.signature.name, code, names, made.target, prover)
    return _programs[key]


def _code(made: Vectors, early: bool, variant: Variant, baseline: bool) -> Compiled:
    return made.compile(variant, early)

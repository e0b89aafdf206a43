"""Run a case on the oracle and on the engine, at several widths, and say what differs."""

from __future__ import annotations

import random
import re
import traceback
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.errors import KernelFault, MetalloidError
from metalloid.records import replace
from metalloid.source import Source
from metalloid.types import Signature
from tests.engine.both import HEADER, LESSER, Endless
from tests.engine.fuzz.compose import ROWS, Case
from tests.engine.fuzz.features.messages import ROUNDS
from tests.engine.fuzz.frame import NUMBERS, REAL, Arrays, aligned, used_names

STEPS = 200_000  # instructions of one thread of the oracle
SECONDS = 20.0  # of one launch of the engine
MESSAGES = 300_000  # takes two threads a while that is long enough to meet
OTHER_GATHERS = "gathers turned round"  # this processor, if its gathers were quick, or were not
Bound = dict[str, np.ndarray]
Guard = bool | Literal["robust"]
PARTED = ("some lanes", "some groups")  # coroutines


@dataclass(frozen=True)
class Setting:
    """How the engine runs a program. 0 lanes: as it chooses."""

    width: int = 0
    guard: Guard = True
    backwards: bool = False
    target: str = "host"
    level: int = 0  # without LLVM's optimiser it goes three times as fast
    baseline: bool = False  # what small launches begin with

    def __str__(self) -> str:
        guard = {True: "guarded", False: "unguarded"}.get(self.guard, self.guard)
        words = [f"{self.width or 'chosen'} lanes", guard]
        words += ["backwards"] if self.backwards else []
        return ", ".join([*words, self.target, "baseline" if self.baseline else f"level {self.level}"])


@dataclass(frozen=True)
class Difference:
    """What went wrong: `kind` is what a smaller program has to share."""

    case: Case
    setting: Setting | None
    kind: str
    words: str


class Refused(Exception):
    """Not a program of the kind that is made here: it does not compile, or the oracle stops it."""


def settings(case: Case, thorough: bool = False, most: int = 0) -> list[Setting]:
    """Those of one case, by its seed; `most` of them, in turn, where many programs are wanted."""
    r = random.Random(case.seed ^ 0x5EED)
    lanes = "simd_" in case.text or "quad_" in case.text  # which need 32
    narrow = () if lanes else (1, 8, 16)
    if thorough:
        return [Setting(w, g, b) for w in (0, 64, 32, *narrow) for g in (True, False) for b in (False, True)]
    if set(case.features) & {*ROWS}:
        made = _of_rows(r, case, lanes)
        return made[:most] if most > 0 else made
    guard, backwards = r.random() < 0.5, r.random() < 0.5
    # Code for SIMD-groups takes LLVM three times as long as what the engine chooses elsewhere; 64 lanes ten times.
    early = case.seed % 2 == 0
    made = [Setting(0, guard, backwards, level=int(early), baseline=early)]
    if not lanes:
        made += [
            Setting(r.choice((8, 8, 0, 0, 16)), not guard, not backwards),
            Setting(1, guard, not backwards),
        ]
    elif r.randrange(3) == 0:
        made.append(Setting(32, not guard, not backwards))
    if r.randrange(12) == 0:
        made[-1] = Setting(r.choice((32, 32, 64)), not guard, r.random() < 0.5)
    if r.randrange(16) == 0:
        made[-1] = Setting(0 if lanes else 8, guard, False, r.choice(("host", *LESSER)), r.choice((0, 1)))
    if case.features == ("short",) and LESSER and r.randrange(3) == 0:  # sliding gangs are for such
        made.append(Setting(0, r.random() < 0.3, False, LESSER[-1]))
    return r.sample(made, most) if 0 < most < len(made) else made


def _of_rows(r: random.Random, case: Case, lanes: bool) -> list[Setting]:
    """The engine's own choice of lanes, which loops are about, with each guard; and now and then something else."""
    guards: list[Guard] = r.sample((True, False, "robust"), 3)
    backwards, early = r.random() < 0.5, r.random() < 0.3
    made = [Setting(0, guards[0], backwards, level=r.choice((0, 1)))]
    made.append(Setting(0, guards[1], not backwards, r.choice(("host", OTHER_GATHERS)), int(early), early))
    if not lanes and r.randrange(2) == 0:
        other = r.choice((*LESSER, OTHER_GATHERS, "host"))
        made.append(Setting(r.choice((0, 0, 0, 1, 8, 16)), guards[2], backwards, other))
    return made


def compiled(case: Case, checked: bool = False) -> tuple[str, Signature]:
    return scalar(Source(HEADER + case.text, math=case.math), "k", checked=checked)  # type: ignore[arg-type]


def arrays(case: Case) -> Bound:
    made = Arrays(int(np.prod(case.grid)), case.seed & 0xFFFFFFFF).all(used_names(case.text))
    if case.threads > 1:
        made["args"][ROUNDS] = 3
    return made


def copied(bound: Bound) -> Bound:
    """Copies, of memory that is bound twice one."""
    made = {id(x): aligned(x) for x in bound.values()}
    return {name: made[id(x)] for name, x in bound.items()}


def bind(case: Case, bound: Bound) -> Launch:
    return Launch(case.grid, case.group, {NUMBERS[n]: x for n, x in bound.items()}, {}, kernel="k")


def expected(case: Case, ir: str) -> Bound:
    """What the oracle leaves. Raises Refused where it stops."""
    result = copied(arrays(case))
    try:
        interpret.run(ir, bind(case, result), step_limit=STEPS)
    except KernelFault as error:
        # clang takes `x % y` for `x & (y - 1)` where y is a power of two or zero: the one thing that is undefined.
        if "undefined behaviour" in str(error) or ("%" in case.text and "private" in str(error)):
            raise Refused(str(error)) from error
        raise
    return result


def check(case: Case, wanted: list[Setting] | None = None) -> Difference | None:
    """The first difference, or None. Raises Refused where the program says nothing."""
    setting: Setting | None = None
    try:
        ir, signature = compiled(case)
        right = expected(case, ir)
        if "claims" in right and right["claims"].any():
            at = np.flatnonzero(right["claims"])
            return Difference(case, None, "claim", f"the oracle: claims[{at[0]}] is {right['claims'][at[0]]}")
        for setting in settings(case) if wanted is None else wanted:
            found = _one(case, ir, signature, right, setting)
            if found is not None:
                return found
    except Refused:
        raise
    except MetalloidError as error:
        return Difference(case, setting, f"{type(error).__name__} {_number(str(error))}", str(error))
    except Exception as error:
        return Difference(
            case, setting, f"{type(error).__name__} {str(error)[:40]}", traceback.format_exc(limit=-4)
        )
    return None


def _number(message: str) -> str:
    """The rule that a message names, or how it starts."""
    found = re.search(r"\bM\d{3}\b", message)
    return found[0] if found else re.sub(r"[\d\W]+", " ", message.partition(";")[0])[:80]


def _target(name: str) -> codegen.Target | None:
    if name != OTHER_GATHERS:
        return codegen.limited(name) if name != "host" else None
    host = codegen.host()
    # A feature that is there is said again: the code has a key of its own.
    made = replace(host, features=f"{host.features},{host.features.rpartition(',')[2]}")
    made.__dict__["info"] = replace(host.info, quick_gathers=not host.info.quick_gathers)
    return made


def _one(case: Case, ir: str, signature: Signature, right: Bound, setting: Setting) -> Difference | None:
    got = copied(arrays(case))
    if case.threads > 1:
        got["args"][ROUNDS] = MESSAGES
    target = _target(setting.target)
    patience = Endless() if setting.baseline else None
    program = cpu_program(ir, signature, setting.width, target, setting.level, patience)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # good code that cannot be made
        program.run(bind(case, got), setting.guard, SECONDS, case.threads, setting.backwards)
    for name in right:
        if case.threads > 1 and name != "claims":
            continue
        wrong = differing(right[name], got[name], case.math != "safe" if name in REAL else None)
        if wrong.size:
            few = wrong[:4]
            one, other = right[name].reshape(-1)[few], got[name].reshape(-1)[few]
            return Difference(case, setting, "values", f"{name} at {wrong[:8]}: {one} expected, {other} got")
    return None


TOLERANCE = 1e-4  # of functions of mathematics outside safe mode, where LLVM may compute in another order


def differing(one: np.ndarray, other: np.ndarray, loosely: bool | None = None) -> np.ndarray:
    """Where two arrays are not the same; two NaNs are, whatever their bits."""
    if one.dtype.names:
        found = [differing(one[n], other[n]) for n in one.dtype.names]
        return np.unique(np.concatenate(found) % len(one))
    one, other = one.reshape(-1), other.reshape(-1)
    same = one == other
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
        if loosely:
            same |= np.abs(one - other) <= TOLERANCE * (1 + np.abs(one))
    return np.flatnonzero(~same)

"""Run a case on one backend and judge its outputs."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work
from conformance.results.launch import FORWARD, REVERSE, run_on_engine, run_on_oracle

BACKENDS: dict[str, tuple[Size, Callable[[Step], None]]] = {
    "oracle": ("small", lambda step: run_on_oracle(step, FORWARD)),
    "cpu": ("large", run_on_engine),
    "cuda": ("large", lambda step: run_on_engine(step, "cuda")),
}
REVERSE_WITHIN = 6.0  # seconds: slower cases are not run a second time


@dataclass(frozen=True)
class Verdict:
    suite: str
    family: str
    name: str
    backend: str
    kernels: tuple[str, ...] = ()
    error: float = 0.0  # the largest, relative to the largest expected magnitude
    tolerance: float = 0.0
    reason: str = ""  # why it failed
    order: str = ""  # "same": also run in reverse order, with the same result; else what the case says of it
    seconds: float = 0.0
    ulps: float = 0.0  # the most between engine and oracle, where both ran
    ways: int = 0  # to run it on the engine that were tried

    @property
    def passed(self) -> bool:
        return not self.reason


def judge(case: Case, backend: str, size: Size | None = None) -> Verdict:
    """Never raises: whatever goes wrong is the verdict."""
    return judged(case, backend, size)[0]


def judged(
    case: Case, backend: str, size: Size | None = None, reverse: bool = True
) -> tuple[Verdict, Work | None]:
    """The verdict, and the work as it was left; none where it could not be done.

    The oracle runs a case once more with threads in reverse order, which says something of the case, not of an engine.
    """
    usual, run = BACKENDS[backend]
    start = time.perf_counter()
    identity = (case.suite, case.family, case.name, backend)
    kernels: tuple[str, ...] = ()
    try:
        work = made(case, size or usual)
        kernels = tuple(step.kernel for step in work.steps)
        for step in work.steps:
            run(step)
    except Exception as error:  # a fault or a crash is a finding of this run, not its end
        reason = f"{type(error).__name__}: {error}"
        return Verdict(*identity, kernels, reason=reason, seconds=time.perf_counter() - start), None
    seconds = time.perf_counter() - start
    if case.order == "race":
        reason = (
            "" if backend != "oracle" or _changes(case, work, size or usual) else "its race does not show"
        )
        return Verdict(*identity, kernels, reason=reason, order="race", seconds=seconds), work
    results = [error_of(output) for output in work.outputs]
    reason = next((text for _, text in results if text), "")
    order: str = case.order if case.order != "any" else ""
    again = reverse and backend == "oracle" and case.order == "any" and seconds < REVERSE_WITHIN
    if again and not reason:
        order = "same"
        if changed := _changes(case, work, size or usual):
            order, reason = "", f"'{changed}' changes when threads run in reverse order"
    worst = max((error for error, _ in results), default=0.0)
    allowed = max((o.tolerance for o in work.outputs), default=0.0)
    seconds = time.perf_counter() - start
    return Verdict(*identity, kernels, worst, allowed, reason, order, seconds), work


def made(case: Case, size: Size) -> Work:
    """The same data every time."""
    return case.make(np.random.default_rng(zlib.crc32(case.label.encode())), size)


def _changes(case: Case, forward: Work, size: Size) -> str:
    """The output that is another when threads run in reverse order; empty when none is."""
    work = made(case, size)
    for step in work.steps:
        run_on_oracle(step, REVERSE)
    for one, other in zip(forward.outputs, work.outputs, strict=True):
        if one.look(one.actual).tobytes() != other.look(other.actual).tobytes():
            return one.name
    return ""


def error_of(output: Output) -> tuple[float, str]:
    """The largest error, and a sentence when it is too large."""
    found, wanted = output.look(output.actual), output.expected
    if found.dtype.kind == "c":
        wanted = wanted.astype(np.complex128)
    actual, expected = _number(found), _number(wanted)
    if actual.shape != expected.shape:
        return np.inf, f"'{output.name}' has shape {actual.shape}, {expected.shape} expected"
    if actual.size == 0:
        return 0.0, ""
    finite = np.isfinite(expected)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    scale = float(np.abs(expected[finite]).max(initial=0.0)) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.where(same, 0.0, np.abs(actual - expected) / scale)
    errors = np.where(np.isnan(errors), np.inf, errors)
    worst = float(errors.max())
    if worst <= output.tolerance:
        return worst, ""
    at = tuple(int(i) for i in np.unravel_index(int(errors.argmax()), errors.shape))
    wrong = int((errors > output.tolerance).sum())
    return worst, (
        f"'{output.name}'[{', '.join(map(str, at))}] is {actual[at]:.7g}, expected {expected[at]:.7g} "
        f"({wrong} of {errors.size} elements are off; {worst:.2g} of {output.tolerance:.2g} allowed)"
    )


def _number(array: Array) -> Array:
    """Numbers that can be subtracted; of complex ones both parts, in an axis of their own."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], -1).astype(np.float64)
    if array.dtype.kind in "iub":
        return array.astype(np.float64) if array.dtype.itemsize < 8 else array.astype(np.longdouble)
    return array.astype(np.float64)

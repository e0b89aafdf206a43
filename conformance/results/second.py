"""A second opinion: a case on the oracle, then on the engine in every way, on the same data.

Both are held against the reference, and the engine's bits against the oracle's.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace

from conformance.results.case import Array, Case, Output, Work
from conformance.results.judge import Verdict, error_of, judged, made
from conformance.results.ulps import EPSILON, apart, is_float, same_bits
from conformance.results.ways import Extent, Way, run_in_way, ways

BOTH = "both"


def second_opinion(case: Case, extent: Extent = "widths") -> Verdict:
    """Never raises: whatever goes wrong is the verdict."""
    start = time.perf_counter()
    verdict, oracle = judged(case, "oracle", "small", reverse=False)
    verdict = replace(verdict, backend=BOTH)
    if oracle is None or not verdict.passed:
        return replace(verdict, reason=f"oracle: {verdict.reason}")
    tried = ways(oracle.steps, zlib.crc32(case.label.encode()), extent)
    opinions = [_engine(case, oracle, way) for way in tried]
    return replace(
        verdict,
        reason=_told(tried, [reason for _, reason in opinions]),
        ulps=max((ulps for ulps, _ in opinions), default=0.0),
        ways=len(tried),
        seconds=time.perf_counter() - start,
    )


def _engine(case: Case, oracle: Work, way: Way) -> tuple[float, str]:
    """How many ulps the engine lies from the oracle, and a sentence where it is wrong."""
    try:
        work = made(case, "small")
        for step in work.steps:
            run_in_way(step, way)
    except Exception as error:  # a fault or a crash is a finding of this run, not its end
        return 0.0, f"{type(error).__name__}: {error}"
    if case.order == "race":
        return 0.0, ""
    worst = 0.0
    for one, other in zip(oracle.outputs, work.outputs, strict=True):
        ulps, reason = _difference(one, other)
        reason = reason or error_of(other)[1]
        if reason:
            return ulps, reason
        worst = max(worst, ulps)
    return worst, ""


def _difference(oracle: Output, engine: Output) -> tuple[float, str]:
    one, other = oracle.look(oracle.actual), engine.look(engine.actual)
    if same_bits(one, other):
        return 0.0, ""
    distance = apart(one, other)
    worst, most = float(distance.max()), allowed(oracle)
    if most and worst <= most:
        return worst, ""
    at = int(distance.argmax())
    wrong = int((distance > most).sum())
    return worst, (
        f"'{oracle.name}', element {at}: the engine gives {_shown(other, at)}, the oracle {_shown(one, at)} "
        f"({wrong} of {distance.size} are off; {worst:.3g} ulps of {most:.3g} allowed)"
    )


def allowed(output: Output) -> float:
    """Ulps between engine and oracle; see Output."""
    array = output.look(output.actual)
    if not is_float(array):
        return 0.0
    if output.ulps is not None:
        return output.ulps
    part = array.real.dtype if array.dtype.kind == "c" else array.dtype
    return max(1.0, output.tolerance / EPSILON[part.name]) if output.tolerance else 0.0


def _shown(array: Array, at: int) -> str:
    flat = array.reshape(-1)
    return str(flat[at // 2 if array.dtype.kind == "c" else at])


def _told(tried: tuple[Way, ...], reasons: list[str]) -> str:
    """The first way that is wrong, and how many others are."""
    wrong = [(way, reason) for way, reason in zip(tried, reasons, strict=True) if reason]
    if not wrong:
        return ""
    way, reason = wrong[0]
    more = f"; {len(wrong)} of {len(tried)} ways are wrong" if len(tried) > 1 else ""
    return f"engine ({way}): {reason}{more}"

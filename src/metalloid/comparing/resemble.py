"""What do wrong values look like?

Zeros, NaN, twice what they should be, another element's value, the answer to a smaller problem: a wrong
result is seldom noise, and its likeness names the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metalloid.comparing.case import Case
from metalloid.comparing.inputs import Array, finfo, is_float
from metalloid.comparing.judge import Pair
from metalloid.comparing.tolerance import Verdict, judged

ENOUGH = 0.95  # of the wrong elements
LOOKED_AT = 400


def resemblances(
    pair: Pair,
    case: object,
    output: str,
    got: Array,
    expected: Array,
    verdict: Verdict,
    tiles: tuple[int, ...] = (),
) -> list[str]:
    """Sentences about the wrong elements of one output, the most telling first; often one, sometimes none."""
    wrong = verdict.wrong
    result, exact = got[wrong].astype(np.float64), np.asarray(expected, np.float64)[wrong]
    found = [*_narrow(pair, case, got, expected), *_values(result, exact, got.dtype)]
    if not found and isinstance(case, Case):
        found += _smaller(pair, case, output, got, wrong)
    if not found:
        found += _elsewhere(got, expected, verdict)
    return found


def _narrow(pair: Pair, case: object, got: Array, expected: Array) -> Iterator[str]:
    """Are the errors no larger than those of a sum in the output's own, narrower type?"""
    wide, name = pair.tolerance.accumulate, got.dtype.name
    if is_float(got.dtype) and finfo(got.dtype).eps > finfo(wide).eps and isinstance(case, Case):
        narrow = replace(pair.tolerance, accumulate=name)
        if not judged(got, expected, narrow, case.measured()).wrong.any():
            yield f"the errors are those of a sum that is accumulated in {name}; accumulate in {wide}"


def _values(result: Array, exact: Array, dtype: np.dtype[np.generic]) -> Iterator[str]:
    nans = int(np.isnan(result).sum())
    if nans >= ENOUGH * result.size:
        yield "the wrong values are NaN"
        return
    if np.isinf(result).sum() >= ENOUGH * result.size:
        top = float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0))
        yield f"the wrong values are infinite; the largest expected is {top:.4g}"
        return
    if (result == 0).sum() >= ENOUGH * result.size:
        yield "the wrong values are all zero"
        return
    if nans:
        yield f"{nans} of {result.size} wrong values are NaN"
        return
    if result.size > 1 and (result == result[0]).all() and not (exact == exact[0]).all():
        yield f"the wrong values are all {result[0]:.7g}"
        return
    if result.size > 1 and is_float(dtype):
        with np.errstate(all="ignore"):
            ratio = result / exact
        middle = float(np.median(ratio))
        if np.isfinite(middle) and middle and (np.abs(ratio / middle - 1) < 1e-3).mean() >= ENOUGH:
            yield f"the wrong values are {middle:.4g} times what is expected"


def _smaller(pair: Pair, case: Case, output: str, got: Array, wrong: Array) -> Iterator[str]:
    """Is it the right answer for fewer terms? Each size is cut to its multiples of a power of two."""
    arguments = case.arguments()
    for name, size in case.sizes:
        cuts = {size - 1, *(size // n * n for n in (4, 8, 16, 32, 64, 128, 256, 512, 1024))}
        cuts |= {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
        for cut in sorted((n for n in cuts if 0 < n < size), reverse=True):
            less = {
                key: arguments[key][tuple(slice(cut) if axis == name else slice(None) for axis in given.axes)]
                for key, given in case.inputs
            }
            try:
                expected = pair.expected(less)[output]
            except Exception:  # sizes that do not go together
                continue
            if expected.shape != got.shape:
                break  # this size shows in the result
            fits = ~judged(got, expected, pair.tolerance, case.measured()).wrong
            if fits[wrong].mean() >= ENOUGH:
                yield f"the wrong values are the answer for {name}={cut}: the last {size - cut} of {size} are left out"
                return


def _elsewhere(got: Array, expected: Array, verdict: Verdict) -> Iterator[str]:
    """Is each the value of another element?"""
    if got.ndim == 2 and got.shape[0] == got.shape[1] > 1:
        turned = np.abs(got.astype(np.float64) - expected.T) <= verdict.allowed.T
        if turned.all():
            yield "the result is transposed: [i, j] holds what belongs at [j, i]"
            return
    flat, exact, allowed = (
        got.reshape(-1).astype(np.float64),
        expected.reshape(-1),
        verdict.allowed.reshape(-1),
    )
    places = np.flatnonzero(verdict.wrong.reshape(-1))[:LOOKED_AT]
    if places.size < 2 or not np.isfinite(exact).all():
        return
    order = np.argsort(exact)
    at = np.clip(np.searchsorted(exact[order], flat[places]), 1, exact.size - 1)
    near = [order[np.clip(at + d, 0, exact.size - 1)] for d in (-1, 0)]
    distance = np.stack([np.abs(exact[n] - flat[places]) for n in near])
    source = np.where(distance[0] < distance[1], near[0], near[1])
    hits = np.abs(exact[source] - flat[places]) <= allowed[source]
    if hits.mean() < ENOUGH:
        return
    shift = (source - places)[hits]
    if (shift == shift[0]).all():
        where = "further on" if shift[0] > 0 else "before"
        yield f"each wrong element holds the value that belongs {abs(shift[0])} elements {where}"
    else:
        first, of = (np.unravel_index(int(n), got.shape) for n in (places[0], source[0]))
        yield (
            "each wrong element holds a value that belongs to another:"
            f" [{', '.join(map(str, first))}] has that of [{', '.join(map(str, of))}]"
        )

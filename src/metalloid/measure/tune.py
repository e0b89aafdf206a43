"""Which threadgroup is the fastest for a launch, without a change of its results.

The grid stays; every threadgroup of a reasonable shape is tried. A kernel whose results depend on its threadgroup
(a tile's size compiled in, a sum per threadgroup) shows that here: such sizes are not recommended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from metalloid.backends.base import Triple
from metalloid.errors import KernelFault, LaunchError
from metalloid.measure.timing import Timing, timed
from metalloid.runtime.kernel import Kernel

_RELATIVE = 1e-4  # sums in another order differ a little; wrong results differ a lot


@dataclass(frozen=True)
class Trial:
    """One threadgroup: its timing, or why it cannot be used."""

    threadgroup: Triple
    timing: Timing | None
    problem: str = ""


def shapes(grid: Triple, limit: int) -> Iterator[Triple]:
    """Threadgroups worth trying: powers of two along each axis that the grid has, 16 threads or more in all."""
    axes = [[1 << n for n in range(11)] if size > 1 else [1] for size in grid]
    for z in axes[2]:
        for y in axes[1]:
            for x in axes[0]:
                fits = all(part < 2 * size for part, size in zip((x, y, z), grid, strict=True))
                if fits and min(16, prod(grid)) <= x * y * z <= limit:
                    yield x, y, z


def tune(
    kernel: Kernel,
    *arguments: Any,
    grid: int | tuple[int, ...],
    threadgroup: int | tuple[int, ...] | None = None,
    seconds: float = 0.2,
    progress: Callable[[Trial], object] = lambda trial: None,
    **launch: Any,
) -> list[Trial]:
    """All trials, the fastest first, those with a problem last.

    Results are compared with those of `threadgroup`, the size the kernel is launched with now.
    """
    first = kernel.launch(*arguments, grid=grid, threadgroup=threadgroup, **launch)
    expected = _results(kernel, arguments, first.grid, first.threadgroup, launch)
    trials = []
    asked = dict.fromkeys((first.threadgroup, *shapes(first.grid, kernel.max_threads_per_threadgroup)))
    for size in asked:
        trial = _trial(kernel, arguments, first.grid, size, launch, expected, seconds)
        progress(trial)
        trials.append(trial)
    return sorted(trials, key=lambda t: (bool(t.problem), t.timing.median if t.timing else 0.0))


def _trial(
    kernel: Kernel,
    arguments: Sequence[Any],
    grid: Triple,
    size: Triple,
    launch: dict[str, Any],
    expected: list[np.ndarray[Any, Any]],
    seconds: float,
) -> Trial:
    try:
        got = _results(kernel, arguments, grid, size, launch)
    except (KernelFault, LaunchError) as error:
        return Trial(size, None, str(error).splitlines()[0])
    if not all(map(_alike, got, expected)):
        return Trial(size, None, "gives other results")
    values, named = _fresh(arguments), _fresh_named(launch)
    (timing,) = timed(lambda: kernel(*values, grid=grid, threadgroup=size, **named), seconds=seconds)
    return Trial(size, timing)


def _results(
    kernel: Kernel, arguments: Sequence[Any], grid: Triple, size: Triple, launch: dict[str, Any]
) -> list[np.ndarray[Any, Any]]:
    """What all arrays hold after one run on copies of them."""
    values, named = _fresh(arguments), _fresh_named(launch)
    kernel(*values, grid=grid, threadgroup=size, **named)
    return [v for v in (*values, *named.values()) if isinstance(v, np.ndarray)]


def _fresh(values: Sequence[Any]) -> list[Any]:
    return [np.array(v) if isinstance(v, np.ndarray) else v for v in values]


def _fresh_named(values: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(values, _fresh(list(values.values())), strict=True))


def _alike(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    if got.dtype.kind in "iub":
        return bool(np.array_equal(got, expected))
    a, b = got.astype("float64"), expected.astype("float64")
    scale = np.nanmax(np.abs(b[np.isfinite(b)]), initial=0.0)
    return bool(np.allclose(a, b, rtol=_RELATIVE, atol=_RELATIVE * scale, equal_nan=True))

"""What the suite prints: ratios, their geometric mean, those that are behind, and the cliff of each kernel."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bench.shapes.measure import BEHIND, Times

CLIFF = 2.5


def line(t: Times) -> str:
    numpy = f"{t.numpy / t.kernel:7.2f}" if t.numpy else "       "
    two = f"{t.one / t.two:6.2f}" if t.two else ""
    return f"{t.case.label:44} {t.ratio:6.2f} {numpy} {t.kernel * 1e6:10.1f} us {t.each:8.3f} ns {two}"


HEAD = f"{'':44} {'C':>6} {'numpy':>7} {'kernel':>13} {'element':>11} {'2 threads':>6}"


def geometric(numbers: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(numbers)))))


def cliffs(times: list[Times]) -> dict[str, tuple[float, Times, Times]]:
    """By data: the slowest threadgroup's time over the fastest's."""
    groups: dict[str, list[Times]] = {}
    for t in times:
        groups.setdefault(t.case.data_label, []).append(t)
    made = {}
    for label, members in groups.items():
        if len(members) > 1:
            worst, best = max(members, key=lambda t: t.each), min(members, key=lambda t: t.each)
            made[label] = (worst.each / best.each, worst, best)
    return made


def summary(times: list[Times]) -> list[str]:
    lines = [f"{len(times)} cases of {len({t.case.book.name for t in times})} kernels"]
    lines.append(f"geometric mean of C / kernel, one thread: {geometric(t.ratio for t in times):.2f}")
    behind = sorted((t for t in times if t.ratio < BEHIND), key=lambda t: t.ratio)
    lines.append(f"below {BEHIND}: {len(behind)}; least {min(t.ratio for t in times):.2f}")
    lines += [f"  {t.ratio:5.2f}  {t.case.label}" for t in behind]
    steep = sorted(cliffs(times).items(), key=lambda item: -item[1][0])
    over = [item for item in steep if item[1][0] > CLIFF]
    lines.append(f"cliffs above {CLIFF}: {len(over)} of {len(steep)}")
    lines += [f"  {c:5.2f}  {k}: {_group(w)} against {_group(b)}" for k, (c, w, b) in over]
    two = [t.one / t.two for t in times if t.two]
    if two:
        slow = sum(r < 1.7 for r in two)
        lines.append(f"two threads against one: geometric mean {geometric(two):.2f}, {slow} below 1.7")
    return lines


def _group(t: Times) -> str:
    return "x".join(map(str, t.case.group))

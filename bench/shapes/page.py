"""docs/speed.md, from a run of the suite: `BENCH_PAGE=docs/speed.md python -m bench shapes`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.shapes.measure import Times
from bench.shapes.report import BEHIND, CLIFF, cliffs, geometric
from metalloid.backends.cpu import codegen

ALL = "several sizes, types and threadgroups of each"
FEW = "of each one size and type in two threadgroups (`BENCH_FEW=1`)"
HEAD = """# Speed of textbook kernels in many shapes

Written by `python -m bench shapes` (with `BENCH_PAGE=docs/speed.md`) on {cpu}. {cases} cases of {kernels} kernels:
{which}.{note}

Every result is held against numpy in double precision before it is
timed, the kernel's and C's. "C" are plain loops for the same result, compiled by the clang that metalloid carries with
`-O3 -march=native -ffast-math`, on one thread; a ratio above 1 means that the kernel is ahead. Times are those that one
of ten runs stays below, in turns, by the processor's clock, and hold the launch itself. numpy and OpenBLAS
are on one thread as well. The cliff is the slowest threadgroup's time over the fastest's, on the same data. Two threads
against one are measured by the clock, and say little where a machine does other things besides.

- geometric mean against C: {mean:.2f}; least {least:.2f}; {behind} of {cases} below {limit}
- cliffs above {cliff}: {steep} of {sets} sets of data; steepest {steepest:.1f}
{two}
## By kernel

| kernel | cases | C, mean | C, least | numpy, mean | cliff | two threads |
|---|--:|--:|--:|--:|--:|--:|
"""

WHY = """
What most of them have in common:

- Halves (stencil5, complex_rows): C computes a whole expression of halves in float and rounds once, Metal rounds each
  step. The second column is C with `-Xclang -ffloat16-excess-precision=none`, which rounds as often.
- A SIMD-group or a threadgroup for a row of 100 numbers (gemv_simd4, layernorm_simd): loads under a mask, and a total
  of the lanes in five steps, are as much as the numbers.
- Rows of 7 and 33 by one thread each: the last numbers are a masked load and a masked store of their own.
- Running sums down 100 columns (column_scan): rows of 400 bytes begin anywhere in a line of the cache, and each
  register of 64 bytes lies in two.
- Additions to bins that are looked up (scatter_add): each index is compared with the end of the bins, in C it is not.
"""


def write(path: Path, times: list[Times]) -> None:
    path.write_text(page(times))


def page(times: list[Times]) -> str:
    steps = cliffs(times)
    behind = sorted((t for t in times if t.ratio < BEHIND), key=lambda t: t.ratio)
    steep = sorted(((c, k) for k, (c, _, _) in steps.items() if c > CLIFF), reverse=True)
    both = [t.one / t.two for t in times if t.two]
    text = HEAD.format(
        cpu=codegen.host().cpu,
        cases=len(times),
        which=FEW if "BENCH_FEW" in os.environ else ALL,
        note=" " + os.environ["BENCH_NOTE"] if os.environ.get("BENCH_NOTE") else "",
        kernels=len({t.case.book.name for t in times}),
        mean=geometric(t.ratio for t in times),
        least=min(t.ratio for t in times),
        behind=len(behind),
        limit=BEHIND,
        cliff=CLIFF,
        steep=len(steep),
        sets=len(steps),
        steepest=max((c for c, _, _ in steps.values()), default=1.0),
        two=f"- two threads against one: {geometric(both):.2f}\n" if both else "",
    )
    names = list(dict.fromkeys(t.case.book.name for t in times))
    text += "".join(_row(name, [t for t in times if t.case.book.name == name]) for name in names)
    text += f"\n## Below {BEHIND} of C\n\n| case | C | C that rounds each step | microseconds |\n|---|--:|--:|--:|\n"
    text += "".join(
        f"| {t.case.label} | {t.ratio:.2f} | {_rounded(t)} | {t.kernel * 1e6:.0f} |\n" for t in behind
    )
    text += WHY if behind else ""
    text += f"\n## Cliffs above {CLIFF}\n\n| data | cliff |\n|---|--:|\n"
    return text + "".join(f"| {name} | {c:.1f} |\n" for c, name in steep)


def _rounded(t: Times) -> str:
    return f"{t.rounded / t.kernel:.2f}" if t.rounded else ""


def _row(name: str, times: Sequence[Times]) -> str:
    plain = [t.numpy / t.kernel for t in times if t.numpy]
    both = [t.one / t.two for t in times if t.two]
    most = max((c for c, _, _ in cliffs(list(times)).values()), default=1.0)
    cells = [
        name,
        str(len(times)),
        f"{geometric(t.ratio for t in times):.2f}",
        f"{min(t.ratio for t in times):.2f}",
        f"{geometric(plain):.2f}" if plain else "",
        f"{most:.1f}",
        f"{geometric(both):.2f}" if both else "",
    ]
    return f"| {' | '.join(cells)} |\n"

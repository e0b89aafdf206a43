"""Textbook kernels in many shapes beside plain C: `python -m bench shapes`.

BENCH_ONLY=matvec chooses cases by their labels, BENCH_SECONDS how long each is measured, BENCH_THREADS=1 leaves out the
second thread, BENCH_SAVE=FILE keeps the numbers (JSON) and BENCH_PAGE=FILE writes the page of docs/.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.shapes import grids, pointwise, products, reductions, scans
from bench.shapes.textbook import Textbook

BOOKS: tuple[Textbook, ...] = (
    *pointwise.BOOKS,
    *grids.BOOKS,
    *products.BOOKS,
    *reductions.BOOKS,
    *scans.BOOKS,
)


def main() -> None:
    from bench.shapes.measure import measured
    from bench.shapes.report import HEAD, line, summary
    from bench.shapes.textbook import cases

    seconds = float(os.environ.get("BENCH_SECONDS", "0.2"))
    two = os.environ.get("BENCH_THREADS", "2") != "1"
    print(HEAD, flush=True)
    times = []
    for case in cases(BOOKS, os.environ.get("BENCH_ONLY", "")):
        times.append(measured(case, seconds, two))
        print(line(times[-1]), flush=True)
    print("\n".join(summary(times)))

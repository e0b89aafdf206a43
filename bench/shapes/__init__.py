"""Textbook kernels in many shapes beside plain C: `python -m bench shapes`.

BENCH_ONLY='matvec|csr' chooses cases by labels, BENCH_FEW=1 one type and size and two threadgroups of each kernel;
BENCH_SECONDS says how long each is measured, BENCH_THREADS=1 leaves out the second thread, and BENCH_PAGE=docs/speed.md
writes that page, with the sentence BENCH_NOTE.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.shapes import (
    engines,
    grids,
    groups,
    images,
    lookups,
    mixed,
    more_rows,
    pointwise,
    products,
    reductions,
    rows,
    scans,
)
from bench.shapes.textbook import Textbook

BOOKS: tuple[Textbook, ...] = (
    *pointwise.BOOKS,
    *grids.BOOKS,
    *products.BOOKS,
    *reductions.BOOKS,
    *rows.BOOKS,
    *more_rows.BOOKS,
    *scans.BOOKS,
    *lookups.BOOKS,
    *images.BOOKS,
    *mixed.BOOKS,
    *engines.BOOKS,
    *groups.BOOKS,
)


def main() -> None:
    from bench.shapes import page
    from bench.shapes.measure import measured
    from bench.shapes.report import HEAD, line, summary
    from bench.shapes.textbook import cases

    seconds = float(os.environ.get("BENCH_SECONDS", "0.2"))
    two = os.environ.get("BENCH_THREADS", "2") != "1"
    only = os.environ.get("BENCH_ONLY", "")
    chosen = cases(BOOKS, only, "BENCH_FEW" in os.environ)
    if not chosen:
        names = ", ".join(dict.fromkeys(book.name for book in BOOKS))
        raise SystemExit(f"BENCH_ONLY is {only!r}, which is in no case's name. Kernels: {names}.")
    print(HEAD, flush=True)
    times = []
    for case in chosen:
        times.append(measured(case, seconds, two))
        print(line(times[-1]), flush=True)
        if path := os.environ.get("BENCH_PAGE"):  # after each: a long run may be stopped
            page.write(Path(path), times)
    print("\n".join(summary(times)))

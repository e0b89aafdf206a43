"""The part of docs/support.md that says which launches were compared, from the record of second opinions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from conformance.results import record
from conformance.results.record import Entry

TITLE = "## Kernels that were run"
TEXT = """\
Kernels are launched as their own host code does it, and what they compute is compared with numpy, `gguf`, MLX or
`hashlib`: on the oracle, one thread after the other, and on the engine with every number of lanes, guarded and not. By
family, with the commits: [second opinion](second-opinion.md). `python -m conformance results --backend cpu` runs them
at sizes that keep a processor busy.

| source | processor | launches run | ways to run them | agree |
|---|---|---|---|---|
"""


def section() -> list[str]:
    """Lines of Markdown; none while nothing was run."""
    rows = [row for processor in record.processors() for row in _rows(processor)]
    return [TITLE, "", *TEXT.splitlines(), *rows, ""] if rows else []


def _rows(processor: str) -> Iterator[str]:
    suites: dict[str, list[Entry]] = defaultdict(list)
    for label, entry in record.load(processor).items():
        suites[label.split()[0]].append(entry)
    for suite, entries in sorted(suites.items()):
        ways, agree = sum(e.ways for e in entries), sum(e.passed for e in entries)
        yield f"| {suite} | {processor} | {len(entries)} | {ways} | {agree} |"

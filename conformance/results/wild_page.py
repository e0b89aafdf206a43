"""The numbers of docs/found-in-the-wild.md, from the record: `python -m conformance wild --record` writes them anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from conformance.packages import ROOT
from conformance.results import wild_record
from conformance.results.wild_record import Verdict

PAGE = ROOT / "docs/found-in-the-wild.md"
BEGIN, END = "<!-- the record, in numbers -->\n", "<!-- end of the record -->\n"
WAYS = {"source": "from source", "library": "from MLX's compiled library"}


def write(labels: Mapping[str, Sequence[str]]) -> None:
    """`labels`: of the cases that there are, by way."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}{''.join(_lines(labels))}{END}{tail}", encoding="utf-8")


def _lines(labels: Mapping[str, Sequence[str]]) -> Iterable[str]:
    yield "| kernels of | launches | run under check | without a finding | with |\n|---|---|---|---|---|\n"
    for way, names in labels.items():
        known = wild_record.load(way)
        for suite in sorted({name.split()[0] for name in names}):
            here = [name for name in names if name.split()[0] == suite]
            yield f"| {suite}, {WAYS[way]} | {len(here)} | {_row([known[n] for n in here if n in known])} |\n"


def _row(ran: Sequence[Verdict]) -> str:
    rules = Counter(rule for verdict in ran for rule in verdict.rules)
    clean = sum(not verdict.rules for verdict in ran)
    return f"{len(ran)} | {clean} | {', '.join(f'{rule} ({count})' for rule, count in sorted(rules.items()))}"

"""docs/second-opinion.md: how many launches of others agree on the oracle and on the engine, and of which commits."""

from __future__ import annotations

from collections import Counter, defaultdict

from conformance.packages import ROOT
from conformance.results import record
from conformance.results.case import Case
from conformance.results.record import Labels

PAGE = ROOT / "docs/second-opinion.md"
HEAD = """\
# A second opinion for launches of others

This page is written by `python -m conformance results --backend both`. It runs small cases of ggml's, MLX's, mlx-lm's,
PyTorch's and hashcat's kernels, launched as their host code does, on the oracle, one thread after the other, and on the
engine on the same data: with as many lanes as it chooses and with 1 to 64, with and without guards, first and last
instances first, in good code, in baseline code and without LLVM's optimiser (kernels with SIMD-group operations have 32
lanes). Every run is compared with a reference (numpy, `gguf`, MLX, `hashlib`) and with the oracle's bits; sums may be
off by as many ulps as their order costs. Verdicts stay in `conformance/results/second.json`; cases that never ran come
first in the next run, then those whose verdict is oldest.
"""


def write(cases: list[Case]) -> None:
    lines = [HEAD]
    for processor in record.processors():
        lines += _section(processor, cases, record.load(processor))
    PAGE.write_text("\n".join(lines), encoding="utf-8")


def _section(processor: str, cases: list[Case], known: Labels) -> list[str]:
    ran = [known[case.label] for case in cases if case.label in known]
    agree = [entry for entry in ran if entry.passed]
    commits = Counter(entry.commit for entry in ran)
    same, tried = sum(entry.ulps == 0 for entry in agree), sum(entry.ways for entry in ran)
    lines = [f"## {processor}", ""]
    lines += [
        f"{len(ran)} of {len(cases)} cases run, in {tried} ways together: {len(agree)} agree, "
        f"{same} of them in every bit; {len(ran) - len(agree)} differ.",
        "Verdicts: " + ", ".join(f"{count} of commit {name}" for name, count in commits.most_common()) + ".",
        "",
        "| source | family | cases | run | agree | in every bit |",
        "|---|---|---|---|---|---|",
        *_rows(cases, known),
        "",
    ]
    different = [c.label for c in cases if c.label in known and not known[c.label].passed]
    if different:
        lines += ["Those that differ:", "", *(f"- {label}: {known[label].reason}" for label in different), ""]
    return lines


def _rows(cases: list[Case], known: Labels) -> list[str]:
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    for case in cases:
        families[case.suite, case.family].append(case.label)
    rows = []
    for (suite, family), labels in sorted(families.items()):
        ran = [known[label] for label in labels if label in known]
        agree = [entry for entry in ran if entry.passed]
        numbers = (len(labels), len(ran), len(agree), sum(entry.ulps == 0 for entry in agree))
        rows.append(f"| {suite} | {family} | {' | '.join(map(str, numbers))} |")
    return rows

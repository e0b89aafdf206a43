"""The part of docs/support.md that says which results were compared, from the last whole runs."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from conformance.packages import STORE

KEPT = STORE / "results.json"
TITLE = "## Kernels that were run"
CPU = """\
`python -m conformance results --backend cpu` runs kernels on the CPU, at sizes that keep it busy, and compares what
they compute with numpy, `gguf` or MLX: {passed} of {total} cases agree.
"""
BOTH = """\
`python -m conformance results --backend both` runs small ones on the oracle, one thread after the other, and on the
engine on the same data: with as many lanes as it chooses and with 1 to 64, with and without guards, first and last
instances first (kernels with SIMD-group operations have 32 lanes). {passed} of {total} cases agree with the reference
and with each other in all of {ways} runs: {same} in every bit, {close} within the ulps that the
order of their sums may cost.
"""

Verdicts = list[dict[str, Any]]


def section() -> list[str]:
    """Lines of Markdown; none while nothing was run."""
    if not KEPT.is_file():
        return []
    kept: dict[str, Verdicts] = json.loads(KEPT.read_text(encoding="utf-8"))
    cpu, both = kept.get("cpu", []), kept.get("both", [])
    lines = [TITLE, ""]
    if cpu:
        lines += [*CPU.format(passed=_passed(cpu), total=len(cpu)).splitlines(), ""]
    if both:
        agree = [v for v in both if v["passed"]]
        same = sum(v["ulps"] == 0 for v in agree)
        numbers = {"same": same, "close": len(agree) - same, "ways": sum(v["ways"] for v in both)}
        lines += [*BOTH.format(passed=len(agree), total=len(both), **numbers).splitlines(), ""]
    lines += ["| source | family | cases | right on the CPU | small | agree in all ways | in every bit |"]
    lines += ["|---|---|---|---|---|---|---|", *_rows(cpu, both), ""]
    different = [v for v in (*cpu, *both) if not v["passed"]]
    if different:
        lines += ["Those that differ:", "", *map(_failed, different), ""]
    return lines


def _rows(cpu: Verdicts, both: Verdicts) -> list[str]:
    families: dict[tuple[str, str], tuple[Verdicts, Verdicts]] = defaultdict(lambda: ([], []))
    for place, verdicts in enumerate((cpu, both)):
        for v in verdicts:
            families[v["suite"], v["family"]][place].append(v)
    rows = []
    for (suite, family), (large, small) in sorted(families.items()):
        same = sum(v["passed"] and v["ulps"] == 0 for v in small)
        numbers = (len(large), _passed(large), len(small), _passed(small), same)
        rows.append(f"| {suite} | {family} | {' | '.join(map(str, numbers))} |")
    return rows


def _passed(verdicts: Verdicts) -> int:
    return sum(v["passed"] for v in verdicts)


def _failed(v: dict[str, Any]) -> str:
    reason = " ".join(v["reason"].replace(f"{STORE}/", "").split())[:200]
    return f"- {v['suite']} {v['family']}, {v['name']} ({v['backend']}): {reason}"

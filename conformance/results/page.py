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
they compute with numpy, `gguf` or MLX: {passed} of {total} cases agree. Small ones run in many ways
([second opinion](second-opinion.md)).
"""
Verdicts = list[dict[str, Any]]


def section() -> list[str]:
    """Lines of Markdown; none while nothing was run."""
    if not KEPT.is_file():
        return []
    kept: dict[str, Verdicts] = json.loads(KEPT.read_text(encoding="utf-8"))
    cpu = kept.get("cpu", [])
    if not cpu:
        return []
    lines = [TITLE, "", *CPU.format(passed=_passed(cpu), total=len(cpu)).splitlines(), ""]
    lines += ["| source | family | cases | agree |", "|---|---|---|---|", *_rows(cpu), ""]
    if different := [v for v in cpu if not v["passed"]]:
        lines += ["Those that differ:", "", *map(_failed, different), ""]
    return lines


def _rows(verdicts: Verdicts) -> list[str]:
    families: dict[tuple[str, str], Verdicts] = defaultdict(list)
    for v in verdicts:
        families[v["suite"], v["family"]].append(v)
    return [
        f"| {suite} | {family} | {len(members)} | {_passed(members)} |"
        for (suite, family), members in sorted(families.items())
    ]


def _passed(verdicts: Verdicts) -> int:
    return sum(v["passed"] for v in verdicts)


def _failed(v: dict[str, Any]) -> str:
    reason = " ".join(v["reason"].replace(f"{STORE}/", "").split())[:200]
    return f"- {v['suite']} {v['family']}, {v['name']} ({v['backend']}): {reason}"

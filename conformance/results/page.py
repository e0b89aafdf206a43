"""The part of docs/support.md that says which results were compared, from the last whole runs."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from conformance.packages import STORE

KEPT = STORE / "results.json"
BACKENDS = {"cpu": "engine", "oracle": "oracle"}

SECTION = """\
## Results

`python -m conformance results` runs these kernels as their host code launches them and compares what they compute
with numpy, with gguf's dequantisers, and with MLX's own operations. "Error" is the largest over the family, of
float32 outputs, relative to the largest magnitude.

| suite | family | cases | {heads} | error |
|---|---|---|{rules}---|
{rows}

{failed}"""


def section() -> str:
    """Markdown; empty while nothing was run."""
    if not KEPT.exists():
        return ""
    kept: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text())
    shown = [backend for backend in BACKENDS if backend in kept]
    families: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for backend in shown:
        for verdict in kept[backend]:
            families[verdict["suite"], verdict["family"]][backend].append(verdict)
    rows = [_row(suite, family, runs, shown) for (suite, family), runs in families.items()]
    failed = [
        f"- {BACKENDS[backend]}, {v['suite']} {v['family']} {v['name']}: {_sentence(v['reason'])}"
        for backend in shown
        for v in kept[backend]
        if not v["passed"]
    ]
    heads = " | ".join(f"pass on the {BACKENDS[backend]}" for backend in shown)
    missed = "Not right yet:\n\n" + "\n".join(failed) if failed else "All are right."
    return SECTION.format(heads=heads, rules="---|" * len(shown), rows="\n".join(rows), failed=missed)


def _row(suite: str, family: str, runs: dict[str, list[dict[str, Any]]], shown: list[str]) -> str:
    passed = " | ".join(str(sum(v["passed"] for v in runs[backend])) for backend in shown)
    count = max(len(run) for run in runs.values())
    single = [v["error"] for run in runs.values() for v in run if v["passed"] and v["tolerance"] < 1e-4]
    return f"| {suite} | {family} | {count} | {passed} | {max(single, default=0.0):.0e} |"


def _sentence(reason: str) -> str:
    return " ".join(reason.split())[:160]

"""docs/binaries.md: what became of the kernels of compiled libraries, from the last finding about each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from conformance.binaries import lines, sweep
from conformance.binaries.lines import Found
from conformance.packages import MLX, ROOT, TORCH

TITLES = {
    "mlx": f"MLX ({MLX.name} {MLX.version}, macOS 14)",
    "torch": f"PyTorch ({TORCH.name} {TORCH.version}, the first of two)",
    "torch-26": f"PyTorch ({TORCH.name} {TORCH.version}, the second)",
}
PAGE = """\
# Kernels of compiled libraries

This page is written by `python -m conformance binaries page` from what `binaries sweep`, `binaries mlx` and
`binaries torch` found. A sweep may be done in parts; the numbers say how far it is. How a kernel of a `.metallib`
becomes code: [design/air.md](design/air.md).

## Lowered and vectorised

| library | kernels | looked at | lowered and vectorised | median seconds |
|---|---|---|---|---|
{swept}

{refused}

## Launched

| library | launches | right | different kernels | the same bits as from source |
|---|---|---|---|---|
{launched}

MLX's kernels are launched as MLX's host code launches them, with the arrays of `conformance/results/mlx`, and held
against numpy in double precision; PyTorch's against torch on the CPU.

{wrong}
"""


def latest(table: str) -> list[Found]:
    """The last finding about each name."""
    path = lines.FOLDER / f"{table}.jsonl"
    found: dict[str, Found] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        entry = json.loads(line)
        entry.pop("key")
        found[entry["name"]] = Found(**{**entry, "kernels": tuple(entry["kernels"])})
    return list(found.values())


def write() -> None:
    (ROOT / "docs" / "binaries.md").write_text(page(), encoding="utf-8")


def page() -> str:
    swept, reasons, launched, wrong = [], [], [], []
    for which, title in TITLES.items():
        found = latest(f"sweep-{which}")
        if found:
            passed = sum(one.passed for one in found)
            total = len(sweep.kernels(which))
            swept.append(f"| {title} | {total} | {len(found)} | {passed} | {_median(found):.2f} |")
            reasons += _reasons(title, found)
        if which in ("mlx", "torch") and (done := latest(which)):
            right = [one for one in done if one.passed]
            kernels = len({kernel for one in right for kernel in one.kernels})
            same = sum(one.same_bits for one in done) if which == "mlx" else "-"
            launched.append(f"| {title} | {len(done)} | {len(right)} | {kernels} | {same} |")
            wrong += [f"- {one.name}: {one.reason}" for one in done if not one.passed]
    return PAGE.format(
        swept="\n".join(swept),
        refused="\n".join(["Refused, by reason:", "", *reasons] if reasons else ["None was refused."]),
        launched="\n".join(launched),
        wrong="\n".join(["Those that are wrong:", "", *wrong] if wrong else ["None was wrong."]),
    )


def _reasons(title: str, found: Sequence[Found]) -> list[str]:
    counted = Counter(one.reason for one in found if not one.passed)
    return [f"- {title}: {count} times, {reason}" for reason, count in counted.most_common()]


def _median(found: Sequence[Found]) -> float:
    return sorted(one.seconds for one in found)[len(found) // 2]

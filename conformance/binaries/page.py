"""docs/binaries.md: what became of the kernels of compiled libraries, from the last finding about each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Sequence

from conformance.binaries import lines, mlx, record, sweep, times, torch
from conformance.binaries.lines import Found
from conformance.packages import MLX, ROOT, TORCH

TITLES = {
    "mlx": f"MLX ({MLX.name} {MLX.version}, macOS 14)",
    "torch": f"PyTorch ({TORCH.name} {TORCH.version}, the first of two)",
    "mlx-26": f"MLX ({MLX.name} {MLX.version}, macOS 26), kernels with tensor operations",
    "torch-26": f"PyTorch ({TORCH.name} {TORCH.version}, the second), kernels with tensor operations",
}
_LABELS = {"mlx": mlx.labels, "torch": torch.labels}
_PLACE = re.compile(r"\S*/\.conformance/")  # where packages lie on this machine
PAGE = """\
# Kernels of compiled libraries

This page is written by `python -m conformance binaries page` from what `binaries sweep`, `binaries mlx` and
`binaries torch` found. A sweep may be done in parts, on several machines; the numbers say how far it is, and
`conformance/binaries/found.json` which commit and processor each is of. How a kernel of a `.metallib` becomes code:
[design/air.md](design/air.md).

## Lowered and vectorised

| library | kernels | lowered, of those looked at | lowered and vectorised, of those looked at |
|---|---|---|---|
{swept}

{refused}

## Launched

| library | launches | right | different kernels | the same bits as from source |
|---|---|---|---|---|
{launched}

MLX's kernels are launched as MLX's host code launches them, with the arrays of `conformance/results/mlx`, and held
against numpy in double precision; PyTorch's against torch on the CPU.

{wrong}

## How long it takes

{times}
"""


def names_of(table: str) -> tuple[list[str], list[str]]:
    """The names that a run's findings have, and the kernels of its library."""
    which = table.removeprefix("sweep-").removesuffix("-scalar")
    library = [name for name, _ in sweep.kernels(which)] if which in sweep.LIBRARIES else []
    if table.startswith("sweep-"):
        tensors = which.endswith("-26")
        return ([name for name, _ in sweep.kernels(which, tensors)] if tensors else library), []
    return sorted(_LABELS[table]()), library


def recorded(table: str) -> dict[str, Found]:
    return record.load(table, *names_of(table))


def latest(table: str) -> list[Found]:
    """The last finding about each name: of this machine's runs, or the record's, which has them all after that."""
    names, library = names_of(table)
    found = record.load(table, names, library)
    now = _of_this_machine(table, set(names))
    if now:
        record.store(table, names, found | now, library)
    return list((found | now).values())


def _of_this_machine(table: str, names: Container[str]) -> dict[str, Found]:
    path = lines.FOLDER / f"{table}.jsonl"
    found: dict[str, Found] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # a run that was stopped left it half-written
            continue
        entry.pop("key")
        if entry["name"] not in names:  # of a table that has changed since
            continue
        found[entry["name"]] = Found(**{**entry, "kernels": tuple(entry["kernels"])})
    return found


def write() -> None:
    (ROOT / "docs" / "binaries.md").write_text(page(), encoding="utf-8")


def page() -> str:
    swept, reasons, launched, wrong = [], [], [], []
    for which, title in TITLES.items():
        names, _ = names_of(f"sweep-{which}")
        scalar, vector = latest(f"sweep-{which}-scalar"), latest(f"sweep-{which}")
        if scalar or vector:
            lowered = {one.name: one for one in (*scalar, *vector)}.values()
            swept.append(f"| {title} | {len(names)} | {_share(list(lowered))} | {_share(vector)} |")
            reasons += _reasons(title, list(lowered))
        if which in _LABELS and (done := latest(which)):
            right = [one for one in done if one.passed]
            kernels = len({kernel for one in right for kernel in one.kernels})
            same = sum(one.same_bits for one in done) if which == "mlx" else "-"
            launched.append(f"| {title} | {len(done)} | {len(right)} | {kernels} | {same} |")
            wrong += [f"- {one.name}: {_PLACE.sub('', one.reason)}" for one in done if not one.passed]
    return PAGE.format(
        swept="\n".join(swept),
        refused="\n".join(["Refused, by reason:", "", *reasons] if reasons else ["None was refused."]),
        launched="\n".join(launched),
        wrong="\n".join(["Those that are wrong:", "", *wrong] if wrong else ["None was wrong."]),
        times=_times(),
    )


def _times() -> str:
    found = [one for one in _of_this_machine("times", mlx.labels()).values() if one.passed]
    if not found:
        return "Not measured yet: `python -m conformance binaries times`."
    source, binary = times.medians(found)
    return (
        f"From a source to machine code {source:.2f} s of a processor, from the binary {binary:.2f} s: the medians of\n"
        f"{len(found)} of MLX's kernels (`python -m conformance binaries times`). Only what all kernels share\n"
        "comes from the cache."
    )


def _reasons(title: str, found: Sequence[Found]) -> list[str]:
    counted = Counter(one.reason for one in found if not one.passed)
    return [f"- {title}: {count} times, {reason}" for reason, count in counted.most_common()]


def _share(found: Sequence[Found]) -> str:
    return f"{sum(one.passed for one in found)} of {len(found)}"

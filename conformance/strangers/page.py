"""docs/strangers.md: what came of the kernels that were run on numbers nobody chose for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

from conformance.packages import ROOT

PAGE = """\
# Strangers' kernels on plain numbers

This page is written by `python -m conformance strangers`. Nobody here launches these kernels, so their buffers get
small integers and floats around 1, by the types of their elements, and threadgroups of a line and of a block. What the
oracle leaves in them is compared with what the engine leaves, at several widths, guarded and not, bit by bit but for
NaNs, with safe math. Accesses outside read 0 and write nothing, on both. Where several threads write to one place,
a single thread runs instead.
{commits}

| suite | kernels | run | runs that agree | not run | wrong |
|---|---|---|---|---|---|
{rows}

Not run: {why}.

## Wrong

{wrong}
"""


class Told(Protocol):
    @property
    def suite(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def agreed(self) -> int: ...
    @property
    def skipped(self) -> tuple[str, ...]: ...
    @property
    def wrong(self) -> tuple[str, ...]: ...
    @property
    def commit(self) -> str: ...


def write_page(told: Sequence[Told]) -> None:
    (ROOT / "docs" / "strangers.md").write_text(page(told), encoding="utf-8")


def page(told: Sequence[Told]) -> str:
    suites: dict[str, list[Told]] = defaultdict(list)
    for one in told:
        suites[one.suite].append(one)
    wrong = [f"- {t.name}: {t.wrong[0]}" for t in told if t.wrong]
    idle = Counter(_kind(t.skipped[0]) for t in told if t.skipped and not t.agreed and not t.wrong)
    why = "; ".join(f"{count} {reason}" for reason, count in idle.most_common()) or "none"
    rows = "\n".join(_row(suite, members) for suite, members in suites.items())
    counted = Counter(
        f"commit {t.commit}" if t.commit else "a commit that was not noted" for t in told
    ).most_common()
    commits = f"Verdicts: {', '.join(f'{count} of {name}' for name, count in counted)}."
    return PAGE.format(commits=commits, rows=rows, why=why, wrong="\n".join(wrong) or "None.")


def _row(suite: str, told: Sequence[Told]) -> str:
    run, wrong = sum(bool(t.agreed) for t in told), sum(bool(t.wrong) for t in told)
    agreed = sum(t.agreed for t in told)
    return f"| {suite} | {len(told)} | {run} | {agreed} | {len(told) - run - wrong} | {wrong} |"


def _kind(reason: str) -> str:
    """Reasons that differ in a place or a type only are one."""
    kinds = {"an address": "that want addresses", "refused": "refused by rule (textures, rays)"}
    return next(
        (told for begin, told in kinds.items() if reason.startswith(begin)), "stopped by a limit or a fault"
    )

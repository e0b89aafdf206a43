"""`docs/tinygrad.md`: which operations came out right."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.packages import ROOT
from conformance.tinygrad.case import Outcome

PAGE = ROOT / "docs" / "tinygrad.md"


def write_page(outcomes: Sequence[Outcome], jit: str) -> None:
    right = [o for o in outcomes if not o.wrong]
    families = sorted({o.name.split(" ")[0] for o in right})
    wrong = [f"| {o.name} | {o.wrong.replace('|', '/')} |" for o in outcomes if o.wrong]
    lines = [
        "# tinygrad on `import Metal`",
        "",
        "Written by `python -m conformance tinygrad`: tinygrad 0.9.0, the last release that drives Metal through",
        "PyObjC, unchanged, with `METAL=1` on the CPU; each operation beside torch in float64, results and gradients",
        "of a weighted sum, within 1e-4.",
        "",
        f"**{len(right)} of {len(outcomes)} operations are right, {sum(o.grad for o in right)} of them with their"
        f" gradients.** A network under `TinyJit`, which encodes indirect command buffers: {jit or 'right'}.",
        "",
        f"The methods among them, {len(families)}: " + ", ".join(f"`{name}`" for name in families) + ".",
        "",
    ]
    if wrong:
        lines += ["| operation | what is wrong |", "|---|---|", *wrong, ""]
    PAGE.write_text("\n".join(lines), encoding="utf-8")

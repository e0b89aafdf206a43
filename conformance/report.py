"""The table on the terminal, the page in docs/, and the counts that must not fall."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from conformance.check import Outcome
from conformance.packages import LLAMA, MLX, MLX_LM, MLX_VLM, ROOT, STORE
from conformance.results.page import TITLE, section

TITLES = {
    "ggml": f"ggml-metal ({LLAMA.name} {LLAMA.version}; bfloat on, tensor path off)",
    "mlx": f"MLX kernel headers ({MLX.name} {MLX.version})",
    "mlx-nax": f"MLX NAX headers ({MLX.name} {MLX.version}): tensor operations of Metal 4",
    "mlx-lm": f"inline kernels of {MLX_LM.name} {MLX_LM.version}",
    "mlx-vlm": f"inline kernels of {MLX_VLM.name} {MLX_VLM.version}",
    "spirv-cross": "compute shaders translated by SPIRV-Cross (references in Debian's source package; "
    "textures and rays must be refused by name)",
    "pytorch": "kernels of PyTorch 2.6.0 (ATen; Debian's source package), templates filled in with several types",
}

_FAILED = "## Kernels that do not pass"

# Kernels that must pass, by suite: a run below these has regressed.
EXPECTED = {
    "ggml": 1066,
    "mlx": 737,
    "mlx-nax": 22,
    "mlx-lm": 23,
    "mlx-vlm": 142,
    "spirv-cross": 307,
    "pytorch": 315,
}


def table(outcomes: Sequence[Outcome], console: Console) -> None:
    view = Table("source", "file", "kernels", "passed", "failed", title="conformance")
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.suite, outcome.file].append(outcome)
    for (suite, file), members in groups.items():
        failed = sum(not o.passed for o in members)
        numbers = map(str, (len(members), len(members) - failed, failed))
        view.add_row(suite, file, *numbers, style="red" if failed else "")
    console.print(view)
    for suite, (passed, total) in counts(outcomes).items():
        console.print(f"{suite}: {passed} of {total}")


def failures(outcomes: Sequence[Outcome], console: Console, limit: int) -> None:
    """Each failure with its first diagnostic, at most `limit` in full."""
    failed = [o for o in outcomes if not o.passed]
    for outcome in failed[:limit]:
        console.print(f"[red]{outcome.suite} {outcome.file} {outcome.kernel}[/red]")
        console.print(f"    {outcome.reason}", markup=False, highlight=False)
    if len(failed) > limit:
        console.print(f"... and {len(failed) - limit} more; --failures {len(failed)} shows them all")


def counts(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    total = Counter(o.suite for o in outcomes)
    passed = Counter(o.suite for o in outcomes if o.passed)
    return {suite: (passed[suite], total[suite]) for suite in TITLES if suite in total}


def regressions(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"{suite}: {passed} passed, {EXPECTED[suite]} expected"
        for suite, (passed, _) in counts(outcomes).items()
        if passed < EXPECTED[suite]
    ]


def page(outcomes: Sequence[Outcome], unresolved: Sequence[str]) -> str:
    """docs/support.md."""
    rows = [_row(suite, *numbers) for suite, numbers in counts(outcomes).items()]
    return PAGE.format(
        rows="\n".join(rows),
        failed="\n".join(_failed(outcomes) or ["None."]),
        unresolved="\n".join([f"- {entry}" for entry in unresolved] or ["None."]),
        computed="\n".join(section()),
    )


def _row(suite: str, passed: int, total: int) -> str:
    return f"| {TITLES[suite]} | {total} | {passed} |"


def _failed(outcomes: Sequence[Outcome]) -> list[str]:
    return [f"- `{o.kernel}` ({o.suite}, {o.file}): {_line(o.reason)}" for o in outcomes if not o.passed]


PAGE = """\
# What is supported

This page is written by `make conformance`, which downloads the packages below, compiles every kernel in them
and checks the IR it gets: it verifies, and holds no vector types, no generic pointers, and no calls but
LLVM's and metalloid's intrinsics. Run it again after a change; it fails when fewer kernels pass than before.

| source | kernels | pass |
|---|---|---|
{rows}

MLX's templates are instantiated as MLX does it: `conformance/instantiations.py`. Inline kernels are found by
reading the Python files, with every text that a flag can select; dtypes the file does not tell are guessed
(`metalloid.forms.reading`).

{computed}
## Processors

| processor | what was done |
|---|---|
| x86-64 with AVX-512, AVX2 or SSE | the tests run; those of AVX2 and SSE limit what a processor with AVX-512 may use |
| aarch64, Linux | the suite runs natively: [what it found](design/aarch64.md). No speed was measured |
| aarch64, macOS | the runtime and the kernels of the bench compile; nothing was run |

## Not supported yet

Each of these is refused in one sentence that names the construct and the line: textures, ray tracing,
function tables, tensors that the host binds (`tensor_handle`) and convolutions of MetalPerformancePrimitives.

## Kernels that do not pass

{failed}

## Inline kernels whose text only a running program has

{unresolved}
"""


def _line(reason: str) -> str:
    return " ".join(reason.replace(f"{STORE}/", "").split())[:200]


def write_page(outcomes: Sequence[Outcome], unresolved: Sequence[str]) -> None:
    (ROOT / "docs" / "support.md").write_text(page(outcomes, unresolved), encoding="utf-8")


def update_page(outcomes: Sequence[Outcome]) -> None:
    """Bring the rows and the failures of these suites up to date; the rest stays."""
    path = ROOT / "docs" / "support.md"
    text = path.read_text(encoding="utf-8")
    for suite, numbers in counts(outcomes).items():
        lines = _with_row(text.splitlines(), _row(suite, *numbers))
        text = (
            "\n".join(line for line in lines if not line.startswith("- `") or f" ({suite}, " not in line)
            + "\n"
        )
    before, title, after = text.partition(f"{_FAILED}\n")
    left, _, rest = after.partition("\n## ")
    listed = [line for line in left.splitlines() if line.startswith("- `")] + _failed(outcomes)
    path.write_text("\n".join([before + title, *(listed or ["None."]), "", "## " + rest]), encoding="utf-8")


def _with_row(lines: Sequence[str], row: str) -> list[str]:
    """A suite's row in place of its old one; behind the others where it is new."""
    heads = tuple(f"| {title} |" for title in TITLES.values())
    rows = [n for n, line in enumerate(lines) if line.startswith(heads)]
    same = [n for n in rows if lines[n].split(" |")[0] == row.split(" |")[0]]
    at, until = (same[0], same[0] + 1) if same else (rows[-1] + 1, rows[-1] + 1)
    return [*lines[:at], row, *lines[until:]]


def write_results() -> None:
    """Bring the part of the page up to date that tells of the last run of results; the rest stays."""
    path = ROOT / "docs" / "support.md"
    begin, end = f"{TITLE}\n", "## Processors\n"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    if after and (told := section()):
        path.write_text("\n".join([before.rstrip(), "", *told, end]) + after, encoding="utf-8")

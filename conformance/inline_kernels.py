"""The kernels written inside mlx-lm and mlx-vlm, found by reading their Python."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from conformance.cases import Case
from conformance.mlx_headers import KERNELS, include_folder
from conformance.packages import MLX_LM, MLX_VLM, fetch
from metalloid.forms.inline import FACTORIES, InlineKernel, Unresolved, find
from metalloid.forms.mlx_source import Generated
from metalloid.source import Source

PACKAGES = {"mlx-lm": MLX_LM, "mlx-vlm": MLX_VLM}

# Functions that read a kernel's header from the installed MLX: a running program would get this text.
LOADERS = {"_load_mlx_steel_gemm_header": f'#include "{KERNELS}/steel/gemm/gemm.h"\n'}

# Kernels that are not valid MSL, by words of their name, and what a compiler must say of them.
INVALID = {
    # One copy of the same lines per repeated head, all in one scope.
    ("turboquant_fully_fused", "_rht"): "'rht_scale' is declared a second time",
}


def cases() -> list[Case]:
    return _search()[0]


def unresolved() -> list[tuple[str, Unresolved]]:
    return _search()[1]


@cache
def _search() -> tuple[list[Case], list[tuple[str, Unresolved]]]:
    found: list[Case] = []
    missing: list[tuple[str, Unresolved]] = []
    for suite, package in PACKAGES.items():
        folder = fetch(package)
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(f"{factory}(" in text for factory in FACTORIES):
                name = str(path.relative_to(folder))
                result = find(_with_loaders(text), name)
                missing += [(name, entry) for entry in result.unresolved]
                found += _cases(suite, name, result.kernels)
    return found, missing


def _with_loaders(text: str) -> str:
    """The file with the result of each loader put in, on the same number of lines."""
    for loader, header in LOADERS.items():
        start = re.search(rf"(?m)^def {loader}\(.*\n", text)
        if start is not None:
            rest = text[start.end() :].partition("\n")[2]
            text = f"{text[: start.end()]}    return {header!r}\n{rest}"
    return text


def _cases(suite: str, file: str, kernels: tuple[InlineKernel, ...]) -> list[Case]:
    seen: dict[str, int] = {}
    made = []
    for kernel in kernels:
        seen[kernel.name] = seen.get(kernel.name, 0) + 1
        label = kernel.name if seen[kernel.name] == 1 else f"{kernel.name} ({seen[kernel.name]})"
        wrong = (said for words, said in INVALID.items() if all(word in kernel.name for word in words))
        attempts = tuple(map(_attempt, kernel.attempts()))
        made.append(Case(suite, file, label, attempts, invalid=next(wrong, "")))
    return made


def _attempt(attempt: Generated | Source) -> tuple[Source, str]:
    if isinstance(attempt, Source):
        return attempt, ""
    includes = (include_folder(),) if KERNELS in attempt.source.text else ()
    return replace(attempt.source, include=includes), attempt.kernel

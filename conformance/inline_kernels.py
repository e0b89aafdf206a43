"""The kernels written inside mlx-lm and mlx-vlm, found by reading their Python."""

from __future__ import annotations

from conformance.cases import Case
from conformance.packages import MLX_LM, MLX_VLM, fetch
from metalloid.forms.inline import FACTORIES, Unresolved, find
from metalloid.forms.mlx_source import Generated

PACKAGES = {"mlx-lm": MLX_LM, "mlx-vlm": MLX_VLM}


def cases() -> list[Case]:
    return _search()[0]


def unresolved() -> list[tuple[str, Unresolved]]:
    return _search()[1]


def _search() -> tuple[list[Case], list[tuple[str, Unresolved]]]:
    found: list[Case] = []
    missing: list[tuple[str, Unresolved]] = []
    for suite, package in PACKAGES.items():
        folder = fetch(package)
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(f"{factory}(" in text for factory in FACTORIES):
                name = str(path.relative_to(folder))
                result = find(text, name)
                missing += [(name, entry) for entry in result.unresolved]
                seen: dict[str, int] = {}
                for kernel in result.kernels:
                    attempts = tuple(
                        (a.source, a.kernel) if isinstance(a, Generated) else (a, "")
                        for a in kernel.attempts()
                    )
                    seen[kernel.name] = seen.get(kernel.name, 0) + 1
                    label = kernel.name if seen[kernel.name] == 1 else f"{kernel.name} ({seen[kernel.name]})"
                    found.append(Case(suite, name, label, attempts))
    return found, missing

"""MLX's kernel headers, instantiated as MLX's own builds instantiate them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from conformance.cases import Case
from conformance.instantiations import NAX, NAX_CONSTANTS, NAX_INVALID, ROWS, Row, expand
from conformance.packages import MLX, fetch
from metalloid.source import Source

KERNELS = "mlx/backend/metal/kernels"


def include_folder() -> Path:
    return fetch(MLX) / "mlx" / "include"


def cases() -> list[Case]:
    """All of them."""
    return usual_cases() + nax_cases()


def usual_cases() -> list[Case]:
    folder = include_folder()
    return [case for row in ROWS for case in _row(row, folder)] + _indexing(folder)


def nax_cases() -> list[Case]:
    """Those for the matrix units of Metal 4."""
    return [case for row in NAX for case in _nax(row, include_folder())]


def missing() -> set[str]:
    """Kernels of the headers that the table does not instantiate."""
    table = {f"{header}: {template}" for header, _, rows in (*ROWS, *NAX) for template in rows}
    return {t for t in templates() if re.sub(r"^reduction/reduce_\w+\.h", "reduce.h", t) not in table}


def templates() -> set[str]:
    """Every kernel in the headers, as `header: name`, by their text."""
    folder = include_folder() / KERNELS
    names = set()
    for path in sorted(folder.rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(
            r"\[\[\s*kernel\b[^\]]*\]\]\s*(?:\[\[[^\]]*\]\]\s*)?void\s+(\w+)\s*\(", text
        ):
            names.add(f"{path.relative_to(folder)}: {match.group(1)}")
    return names


def _nax(row: Row, folder: Path) -> list[Case]:
    """Kernels for the matrix units of Metal 4, with tensor operations."""
    made = []
    for case in _row(row, folder):
        wrong = next((why for name, why in NAX_INVALID.items() if case.kernel.startswith(f"{name}_")), "")
        given = next((c for name, c in NAX_CONSTANTS.items() if case.kernel.startswith(f"{name}_")), {})
        made.append(replace(case, suite="mlx-nax", constants=given, invalid=wrong))
    return made


def _row(row: Row, folder: Path) -> list[Case]:
    header, before, table = row
    texts = {"hadamard_radix_m": hadamard_radix_m()}
    lines = [texts.get(part, f'#include "{KERNELS}/{part}"') for part in (*before, header)]
    names: list[str] = []
    for template, lists in table.items():
        for arguments in (a for pattern in lists for a in expand(pattern)):
            if not arguments:
                names.append(template)
                continue
            name = re.sub(r"\W+", "_", f"{template}_{arguments}").strip("_")
            instance = f"{template}<{arguments}>"
            lines.append(f'template [[host_name("{name}")]] [[kernel]] decltype({instance}) {instance};')
            names.append(name)
    source = Source("\n".join(lines) + "\n", name=header, include=(folder,), math="safe")
    return [Case("mlx", header, name, ((source, name),)) for name in names]


def _indexing(folder: Path) -> list[Case]:
    """Gather and scatter, whose kernels MLX writes by filling in a text of its own."""
    text = (folder / "mlx/backend/metal/jit/indexing.h").read_text(encoding="utf-8")
    patterns = dict(re.findall(r'(\w+) = R"\((.*?)\)"', text, re.DOTALL))
    found = []
    for dtype, index, count, dims in (("float", "int32_t", 1, 1), ("bfloat16_t", "uint32_t", 2, 2)):
        declared = "\n".join(f"const device {index}* idx{i} [[buffer({20 + i})]]," for i in range(count))
        listed = ", ".join(f"idx{i}" for i in range(count))
        gather = patterns["gather_kernels"].format("_x", dtype, index, count, declared, listed, dims, "int")
        scatter = patterns["scatter_kernels"].format(
            "_x", dtype, index, f"Sum<{dtype}>", count, declared, listed, "true", 2, "int"
        )
        for header, body in (("indexing/gather.h", gather), ("indexing/scatter.h", scatter)):
            operators = "" if "gather" in header else f'#include "{KERNELS}/reduce_utils.h"\n'
            head = f'#include "{KERNELS}/utils.h"\n{operators}#include "{KERNELS}/{header}"\n'
            source = Source(head + body, name=header, include=(folder,), math="safe")
            name = re.search(r"void (\w+)\(", body)
            assert name is not None
            found.append(Case("mlx", header, name.group(1), ((source, name.group(1)),)))
    return found


def hadamard_12() -> list[list[int]]:
    """Paley's 12 x 12 Hadamard matrix, over the squares modulo 11."""
    squares = {n * n % 11 for n in range(1, 11)}

    def sign(row: int, column: int) -> int:
        if row == 0 or column == 0:
            return 1 if row == 0 else -1
        return 1 if row == column or (column - row) % 11 in squares else -1

    return [[sign(row, column) for column in range(12)] for row in range(12)]


def hadamard_radix_m() -> str:
    """The transform by a 12 x 12 Hadamard matrix, written out."""
    lines = ["METAL_FUNC void hadamard_radix_m(thread float* x) {", "  float t[12];"]
    for row, signs in enumerate(hadamard_12()):
        terms = "".join(f" {'+' if sign > 0 else '-'} x[{c}]" for c, sign in enumerate(signs))
        lines.append(f"  t[{row}] ={terms};")
    return "\n".join([*lines, "  for (int i = 0; i < 12; i++) x[i] = t[i];", "}"])

"""Ask LLVM whether a module is well formed."""

from __future__ import annotations

import re

from metalloid.errors import DeviceError
from metalloid.ir.module import Module
from metalloid.ir.write import write

_PLACE = re.compile(r":(\d+):(\d+): error: (.*)")


def verify(module: Module | str) -> None:
    """Raise DeviceError where LLVM cannot read the module or finds it broken.

    Parsing alone is not enough: LLVM reads code whose values do not dominate
    their uses, and its optimiser then hangs.
    """
    import llvmlite.binding as llvm  # 30 ms that a cached kernel need not pay

    text = module if isinstance(module, str) else write(module)
    try:
        # A context of its own: in a shared one LLVM renames struct types that meet a namesake.
        parsed = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise DeviceError(_parse_message(str(error), text)) from None
    try:
        parsed.verify()
    except RuntimeError as error:
        raise DeviceError(f"[ir] LLVM finds the module broken: {str(error).strip()}") from None


def _parse_message(error: str, text: str) -> str:
    found = _PLACE.search(error)
    if not found:
        return f"[ir] LLVM cannot read the module: {error.strip()}"
    line, column = int(found[1]), int(found[2])
    excerpt = text.splitlines()[line - 1]
    return f"[ir] line {line}, column {column}: {found[3]}\n    {excerpt}\n    {' ' * (column - 1)}^"

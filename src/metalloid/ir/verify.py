"""Ask LLVM whether a module is well formed."""

from __future__ import annotations

import re

from metalloid.errors import DeviceError
from metalloid.ir.module import Module
from metalloid.ir.write import write

_VERSION = '!"Debug Info Version"'
# One after the other: literal beginnings are found ten times as fast as a choice of them.
_DEBUG = tuple(map(re.compile, (r", !dbg !\d+", r" !dbg !\d+", r"\n!llvm\.dbg\.cu = [^\n]*")))
_PLACE = re.compile(r":(\d+):(\d+): error: (.*)")


def verify(module: Module | str) -> None:
    """Raise DeviceError where LLVM cannot read the module or finds it broken.

    Parsing alone is not enough: LLVM reads code whose values do not dominate
    their uses, and its optimiser then hangs.
    """
    text = module if isinstance(module, str) else write(module)
    verify_code(text)
    _verify(text)


def verify_code(text: str) -> None:
    """The same, but for what the module says of the user's lines.

    LLVM's reader ends the process where a module with debug info is broken (it looks whether that is of an old
    form), so whatever may be broken is read without first. 1% of a cold compile of flash attention.
    """
    if _VERSION in text:
        text = text.replace(_VERSION, '!"no debug info"')
        for debug in _DEBUG:
            text = debug.sub("", text)
        _verify(text)


def _verify(text: str) -> None:
    import llvmlite.binding as llvm  # 30 ms that a cached kernel need not pay

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

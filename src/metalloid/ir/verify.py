"""Ask LLVM whether a module is well formed."""

from __future__ import annotations

from functools import cache

from metalloid.errors import DeviceError
from metalloid.ir.dominance import dominators
from metalloid.ir.module import Function, Module
from metalloid.ir.values import Local
from metalloid.ir.write import write
from metalloid.patterns import pattern

_PLACE = pattern(r":(\d+):(\d+): error: (.*)")


def verify(module: Module | str) -> None:
    """Raise DeviceError where LLVM cannot read the module or finds it broken.

    Parsing alone is not enough: LLVM reads code whose values do not dominate
    their uses, and its optimiser then hangs.
    """
    from metalloid import llvm

    text = module if isinstance(module, str) else write(module)
    survive_broken()
    try:
        parsed = llvm.parse(text)
    except RuntimeError as error:
        raise DeviceError(_parse_message(str(error), text)) from None
    try:
        parsed.verify()
    except RuntimeError as error:
        raise DeviceError(f"[ir] LLVM finds the module broken: {str(error).strip()}") from None


def misplaced(function: Function) -> str:
    """The name of a value that is read where it need not have been made; "" where all are."""
    tree = dominators(function)
    made = {p.name: tree.root for p in function.parameters} | dict(function.home)
    for block in function.blocks:
        later = {i.name for i in block.instructions}
        above = {block.name}  # blocks that are known to come first
        for i in block.instructions:
            if i.opcode == "phi":
                for value, end in i.cases:
                    if isinstance(value, Local) and not tree.dominates(made.get(value.name, ""), end):
                        return value.name
            else:
                for name in i.uses:
                    home = made.get(name, "")
                    if home not in above and not tree.dominates(home, block.name):
                        return name
                    above.add(home)
                    if home == block.name and name in later:
                        return name
            later.discard(i.name)
    return ""


@cache
def survive_broken() -> None:
    """Let LLVM's reader return where a module is broken, so that somebody can say so.

    It looks whether debug info is of an old form, and ends the process where what it meets there is no module at all.
    None of ours is old, and whoever reads one verifies it.
    """
    from metalloid import llvm

    llvm.set_option("--disable-auto-upgrade-debug-info")


def _parse_message(error: str, text: str) -> str:
    found = _PLACE.search(error)
    if not found:
        return f"[ir] LLVM cannot read the module: {error.strip()}"
    line, column = int(found[1]), int(found[2])
    excerpt = text.splitlines()[line - 1]
    return f"[ir] line {line}, column {column}: {found[3]}\n    {excerpt}\n    {' ' * (column - 1)}^"

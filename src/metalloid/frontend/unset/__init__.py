"""Private variables that are read where nobody has set them, told while a checked kernel runs.

Clang's own warnings see a variable that no way sets. Whether `a[k]` was set is known when the kernel runs only. So a
checked compile stops before the optimiser, where every variable is memory still; each one that is declared without a
value gets a twin of the same shape that says which of its bytes were set (`code.py`), and the optimiser takes both
through to the end: where all indices are known, nothing of the twin is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalloid.frontend import clang
from metalloid.frontend.unset.cast_arrays import with_uses
from metalloid.frontend.unset.code import watched
from metalloid.frontend.unset.early import kept, without_uses
from metalloid.records import replace

_LIMIT = "-ftrivial-auto-var-init-max-size="
LARGEST = 1 << 16  # bytes of a variable that is followed
TEXT = (
    6 << 20
)  # characters of a kernel before the optimiser, above which nothing is followed: it would take seconds
# Calls are expanded, and nothing else is done; what is not `always_inline` may still be expanded later.
_FIRST = ("-O0", "-disable-O0-optnone")
_SECOND = ("-x", "ir", "-triple", clang.TRIPLE, *(word for word in clang.CHECKED if word != clang.WATCHES))


def compiled(
    run: Callable[[Sequence[str]], clang.Result], arguments: Sequence[str], with_casts: bool
) -> clang.Result:
    """A source up to the optimiser, and from there to the end with twins of what nobody sets; in one go where it has
    nothing of the kind. `run` gives the source to clang; `arguments` are those of one go;
    `with_casts` says that private pointers are cast."""
    first = run(_until_optimiser(arguments))
    if first.failed:
        return first
    if len(first.output) < TEXT:
        text = watched(first.output) or first.output
        text = kept(with_uses(text) if with_casts else text)
        if text != first.output:
            second = clang.run((*_SECOND, "-o", "-", "-"), text)
            if not second.failed:
                return replace(second, output=without_uses(second.output))
    return run(arguments)


def _until_optimiser(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for word in arguments:
        if word == "-O2":
            kept += _FIRST
        elif word.startswith(_LIMIT):
            kept.append(f"{_LIMIT}{LARGEST}")
        else:
            kept.append(word)
    return kept

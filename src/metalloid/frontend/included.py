"""What a source includes, precompiled: the next kernel of the same headers has only its own text parsed.

A kernel of MLX is a line behind 100 KB of headers, and reading those was four fifths of clang's time. The text up to
the last `#include` is made into a header of its own, on top of Metal's, and kept. Making it and using it once costs
little more than reading it once (0.32 s in the place of 0.26), using it again less than half (0.11). What does not
compile so is compiled in one piece, which then tells why.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from metalloid import cache
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.frontend.header import header_key

LONG = 16_000  # characters that are worth a file
# Both begin with a line end, which is found ten times as fast as a line's beginning.
_MARKER = re.compile(r'\n# \d+ ("(?:[^"\\\n]|\\.)*")( 1| 2)?')
# Pragmas that end with the statement behind them. Others may hold for the rest of the text, which does not see them.
_PRAGMA = re.compile(
    r"\n[ \t]*#[ \t]*pragma (?!once\b|unroll\b|nounroll\b|clang loop\b|METAL internals\b|unused\b|mark\b)"
)
_MOST = 256  # texts


class _NotAlone(Exception):
    """What is included is no text of its own: a namespace is open at its end, or it has a mistake."""

    def __init__(self, result: clang.Result) -> None:
        self.result = result


@lru_cache(maxsize=16)
def end(text: str) -> int:
    """Where a text goes on behind its last `#include`; 0 where what is included is not worth a file."""
    main, cut = "", 0
    lines = f"\n{text}"  # the line end in front of a line is where the line is in the text
    for marker in _MARKER.finditer(lines):
        main = main or marker[1]
        if marker[2] == " 2" and marker[1] == main:
            cut = marker.start()
    return 0 if cut < LONG or _PRAGMA.search(lines, 0, cut + 1) else cut


def parted(text: str) -> tuple[str, str] | None:
    """A rewritten text up to its last `#include`, and the rest; None where that is not worth a file."""
    if not (cut := end(text)):
        return None
    here = text.index("\n", cut)
    return text[:cut], text[cut:here].removesuffix(" 2") + text[here:]


def precompiled(text: str, language: Sequence[str], header: Sequence[str]) -> tuple[str, ...] | clang.Result:
    """Flags that put a text in front of another, in the place of `header`, which it was compiled with; else why not."""
    key = hashlib.sha256(repr((text, *language, *header, header_key(), clang.DEBUG)).encode()).hexdigest()
    if key in _refused:
        return _refused[key]

    def build(path: Path) -> None:
        # Without the time of Metal's header, which the cache touches.
        flags = (*header, *language, "-O2", *clang.DEBUG, "-fno-pch-timestamp", "-emit-pch")
        result = clang.run([*flags, "-o", str(path), "-"], text)
        if result.failed:
            raise _NotAlone(result)

    try:
        return ("-fno-validate-pch", "-include-pch", str(cache.default().path(key, "pch", build)))
    except _NotAlone as error:
        if len(_refused) < _MOST:
            _refused[key] = error.result
        return error.result
    except DeviceError as error:
        return clang.Result("", str(error), failed=True)


_refused: dict[str, clang.Result] = {}

"""What a source includes, precompiled: the next kernel of the same headers has only its own text parsed.

A kernel of MLX is a line behind 100 KB of headers, and reading those was four fifths of clang's time. The text up to
the last `#include` is made into headers of their own, each on top of the one before and the first on top of Metal's,
and kept: two sources that begin with the same includes share those. Making them and using them once costs little more
than reading the text once (0.32 s in the place of 0.26), using them again less than half (0.11). What does not compile
so is compiled in one piece, which then tells why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from metalloid import cache
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.frontend.header import header_key
from metalloid.hashes import sha256
from metalloid.patterns import pattern
from metalloid.records import dataclass

LONG = 16_000  # characters that are worth a file
# In line markers of a source that only includes. As long as the name of a text that comes from no file: its tokens
# stand where those of the nameless text stand, and are the same objects.
NAMELESS = '"<includer.h>"'
# Both begin with a line end, which is found ten times as fast as a line's beginning.
_MARKER = pattern(r'\n# \d+ ("(?:[^"\\\n]|\\.)*")( 1| 2)?')
# Pragmas that end with the statement behind them. Others may hold for the rest of the text, which does not see them.
_PRAGMA = pattern(
    r"\n[ \t]*#[ \t]*pragma (?!once\b|unroll\b|nounroll\b|clang loop\b|METAL internals\b|unused\b|mark\b)"
)
_NO_CODE = pattern(r"(?:\s|using namespace [\w:]+;)*")
_MOST = 256  # texts


class _NotAlone(Exception):
    """What is included is no text of its own: a namespace is open at its end, or it has a mistake."""

    def __init__(self, result: clang.Result) -> None:
        self.result = result


@dataclass(frozen=True)
class Parted:
    """What a text includes, in pieces that other texts may have, too, and the rest."""

    name: str  # of the source, in quotes, which stands as NAMELESS in pieces without code of its own
    pieces: tuple[str, ...]
    rest: str

    def together(self) -> Parted:
        """The pieces as one."""
        return Parted(self.name, ("".join(self.pieces),), self.rest)


def end(text: str) -> int:
    """Where a text goes on behind its last `#include`; 0 where what is included is not worth a file."""
    return _ends(text)[1][-1]


@lru_cache(maxsize=16)
def _ends(text: str) -> tuple[str, tuple[int, ...]]:
    """The source's name, and where the pieces end that are each worth a file, or the last."""
    name, cuts, last = "", [0], 0
    lines = f"\n{text}"  # the line end in front of a line is where the line is in the text
    for marker in _MARKER.finditer(lines):
        name = name or marker[1]
        if marker[2] == " 2" and marker[1] == name:
            last = marker.start()
            if last >= cuts[-1] + LONG:
                cuts.append(last)
    if last < LONG or _PRAGMA.search(lines, 0, last + 1):
        return name, (0,)
    return name, (*cuts[1:], last) if last > cuts[-1] else tuple(cuts[1:])


@lru_cache(maxsize=16)
def parted(text: str) -> Parted | None:
    """A text in its pieces; None where what is included is not worth a file."""
    name, cuts = _ends(text)
    if not cuts[-1]:
        return None
    pieces = (_nameless(text[first:last], name) for first, last in zip((0, *cuts), cuts, strict=False))
    return Parted(name, tuple(pieces), text[cuts[-1] :])


def _nameless(piece: str, name: str) -> str:
    """A piece without the name of its source, where no code in it is the source's own."""
    lines, here, made = f"\n{piece}", 0, list[str]()
    own = False
    for marker in _MARKER.finditer(lines):
        if own and not _NO_CODE.fullmatch(lines, lines.find("\n", here), marker.start()):
            return piece
        if own := marker[1] == name:
            made += lines[here : marker.start(1)], NAMELESS
            here = marker.end(1)
        else:
            made.append(lines[here : marker.end(1)])
            here = marker.end(1)
    if own and not _NO_CODE.fullmatch(lines, lines.find("\n", here)):
        return piece
    return "".join((*made, lines[here:]))[1:]


def standing_alone(text: str) -> str:
    """A piece, or the rest, as a text that is not gone back to from an `#include`."""
    first, line_end, others = text.partition("\n")
    return first.removesuffix(" 2") + line_end + others


def precompiled(text: str, language: Sequence[str], header: Sequence[str]) -> tuple[str, ...] | clang.Result:
    """Flags that put a text in front of another, in the place of `header`, which it was compiled with; else why not."""
    key = sha256(repr((text, *language, *header, header_key(), clang.DEBUG)).encode()).hexdigest()
    if key in _refused:
        return _refused[key]

    def build(path: Path) -> None:
        # Without the time of Metal's header, which the cache touches. The text is a file that stays: clang looks there
        # for its lines, and takes all that came from its standard input for one file.
        flags = (*header, *language, "-O2", *clang.DEBUG, "-fno-pch-timestamp", "-emit-pch")
        result = clang.run([*flags, "-o", str(path), str(lines)], "")
        if result.failed:
            raise _NotAlone(result)

    def write(path: Path) -> None:
        path.write_bytes(text.encode("utf-8", "replace"))

    try:
        lines = cache.default().path(key, "h", write)
        return ("-fno-validate-pch", "-include-pch", str(cache.default().path(key, "pch", build)))
    except _NotAlone as error:
        if len(_refused) < _MOST:
            _refused[key] = error.result
        return error.result
    except DeviceError as error:
        return clang.Result("", str(error), failed=True)


_refused: dict[str, clang.Result] = {}


def forget() -> None:
    """Look at texts again."""
    _ends.cache_clear()
    parted.cache_clear()

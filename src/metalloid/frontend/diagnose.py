"""Turn clang's messages into diagnostics at the user's own line and column."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from metalloid.errors import Diagnostic
from metalloid.frontend.declarations import Entry
from metalloid.frontend.rewritten import Rewritten
from metalloid.frontend.tokens import Token, tokenize
from metalloid.frontend.unit import unescaped
from metalloid.patterns import pattern
from metalloid.records import dataclass, field, replace
from metalloid.source import Source

if TYPE_CHECKING:
    from metalloid.frontend.hints import Known

MESSAGE = pattern(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+):(?:(?P<ranges>(?:\{[^}]*\})+):)? "
    r"(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)
_MARKER = pattern(r'^# (\d+) "((?:[^"\\]|\\.)*)"', re.MULTILINE)


MISFIT, NO_CALL = "does not name one kernel", "cannot be called"
ENTRY_FILE = "<metalloid>"  # what `entry` calls the text it adds


@dataclass(frozen=True)
class Texts(Mapping[str, str]):
    """The user's files by name, for excerpts. Nothing outside the include paths is ever read."""

    source: Source
    _read: dict[str, list[str]] = field(default_factory=dict, compare=False)

    def __getitem__(self, file: str) -> str:
        lines = self.lines(file)
        if not lines:
            raise KeyError(file)
        return "\n".join(lines)

    def __iter__(self) -> Iterator[str]:
        read = (file for file, lines in self._read.items() if lines)
        return iter(dict.fromkeys((self.source.name, *self.source.quoted, *read)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def lines(self, file: str) -> list[str]:
        if file not in self._read:
            # Quoted ones first: a form may quote a text under the source's own name.
            given = {self.source.name: self.source.text, **self.source.quoted}.get(file)
            self._read[file] = given.split("\n") if given is not None else self._from_disk(file)
        return self._read[file]

    def line(self, file: str, number: int) -> str:
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _from_disk(self, file: str) -> list[str]:
        roots = [*self.source.include, *([self.source.directory] if self.source.directory else [])]
        try:
            path = Path(file).resolve()
            if any(path.is_relative_to(root.resolve()) for root in roots):
                return path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            pass
        return []


@dataclass(frozen=True)
class Wanted:
    """The kernel that was asked for, and where it is written."""

    entry: Entry
    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Preimage:
    """The rewritten text by its presumed lines, to find a message's place in it again."""

    rewritten: Rewritten

    @cached_property
    def _pieces(self) -> dict[str, list[tuple[int, list[int], list[str]]]]:
        """What stands between two line markers, by file: its first line, the offset of each line, the lines."""
        text = self.rewritten.text
        found: dict[str, list[tuple[int, list[int], list[str]]]] = {}
        file, first, start = "", 1, 0
        for marker in (*_MARKER.finditer(text), None):
            end = marker.start() - 1 if marker else len(text)
            if start <= end:
                lines = text[start:end].split("\n")
                offsets = list(accumulate((len(line) + 1 for line in lines), initial=start))
                found.setdefault(file, []).append((first, offsets, lines))
            if marker:
                end = text.find("\n", marker.end())
                file, first = unescaped(marker[2]), int(marker[1])
                start = end + 1 if end >= 0 else len(text) + 1
        return found

    def lines(self, file: str, number: int) -> list[tuple[int, str]]:
        """(offset, text) of each line of the rewritten text that is this line of a file."""
        pieces = self._pieces.get(file, ())
        return [
            (offsets[number - first], lines[number - first])
            for first, offsets, lines in pieces
            if 0 <= number - first < len(lines)
        ]

    def column(self, file: str, line: int, column: int, written: str) -> int:
        """The column in a line as written of one in the rewritten text; 0 where there is none."""
        for offset, text in self.lines(file, line):
            if column <= len(text) + 1:
                before = self.rewritten.before
                original = self.rewritten.original_offset(offset + column - 1)
                start = before.rfind("\n", 0, original) + 1
                end = before.find("\n", start)
                return align(before[start : end if end >= 0 else None], original - start, written)
        return 0


def diagnose(
    messages: str,
    texts: Texts,
    preimage: Preimage | None,
    parameters: tuple[Known, ...] = (),
    wanted: Wanted | None = None,
) -> tuple[Diagnostic, ...]:
    """All errors in clang's output, in the user's coordinates, explained and without their echoes."""
    from metalloid.frontend.hints import (  # many words, for kernels that are wrong
        Context,
        fold,
        improve,
        out_of_step,
    )

    context = Context(texts, parameters=parameters, form="mlx" if texts.source.form == "mlx" else "metal")
    found: list[Diagnostic] = []
    for error, notes in _grouped(messages, texts):
        if not texts.lines(error.file) and (user := next((n for n in notes if texts.lines(n.file)), None)):
            # An error inside the header: the note says where the user asked for it.
            error = replace(error, file=user.file, line=user.line, column=user.column)
        if error.file == ENTRY_FILE and wanted is not None:
            error = _about_the_entry(error, wanted)
        placed = place(error, texts, preimage)
        found.append(improve(placed, context, [place(n, texts, preimage) for n in notes]))
    kept = fold(found)
    if any(map(out_of_step, kept)):  # a brace that is missing swallows the call as well
        kept = [d for d in kept if NO_CALL not in d.message]
    return tuple(kept) or (Diagnostic("the compiler failed without a message", texts.source.name, 0),)


def misfit(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether the kernel could not even be called as it was asked for."""
    return any(MISFIT in d.message or NO_CALL in d.message for d in diagnostics)


def _about_the_entry(error: Diagnostic, wanted: Wanted) -> Diagnostic:
    """Clang's complaint about how the kernel is called, told at the kernel."""
    name, expression = wanted.entry.kernel.name, wanted.entry.expression.replace(" ", "")
    if error.message.startswith("no matching function"):
        message = f"'{expression}' {MISFIT}: its template arguments do not fit '{name}'"
    else:
        message = f"kernel '{name}' {NO_CALL}: {error.message}"
    return replace(
        error, message=message, file=wanted.file, line=wanted.line, column=wanted.column, rule="M605"
    )


def _grouped(messages: str, texts: Texts) -> list[tuple[Diagnostic, list[Diagnostic]]]:
    """Each error with the notes that follow it."""
    groups: list[tuple[Diagnostic, list[Diagnostic]]] = []
    for line in messages.splitlines():
        match = MESSAGE.match(line)
        if match is None:
            if line.startswith(("error:", "fatal error:")):
                groups.append((Diagnostic(line.split(":", 1)[1].strip(), texts.source.name, 0), []))
            continue
        one = Diagnostic(match["text"], match["file"], int(match["line"]), int(match["column"]))
        if match["severity"] == "note":
            if groups:
                groups[-1][1].append(one)
        elif match["severity"] != "warning":
            groups.append((one, []))
    return groups


def place(diagnostic: Diagnostic, texts: Texts, preimage: Preimage | None) -> Diagnostic:
    """Put excerpt and caret on the user's own line."""
    excerpt = texts.line(diagnostic.file, diagnostic.line)
    if preimage is None or not excerpt:
        return replace(diagnostic, excerpt=excerpt, length=_word_length(excerpt, diagnostic.column))
    column = preimage.column(diagnostic.file, diagnostic.line, diagnostic.column, excerpt)
    if not column:
        return replace(diagnostic, excerpt=excerpt, column=0)
    return replace(diagnostic, excerpt=excerpt, column=column, length=_word_length(excerpt, column))


def align(expanded: str, offset: int, written: str) -> int:
    """The column in the line as written of a position in the line after macro expansion.

    A token that came out of a macro is shown at the macro's name.
    """
    ends, spots = _spots(expanded, written)
    target = bisect_left(ends, offset)
    if target == len(ends):
        return len(written.rstrip()) + 1
    start, there, length = spots[target]
    return there + max(0, min(offset - start, length)) + 1


@lru_cache(maxsize=16)
def _spots(expanded: str, written: str) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Of each token after expansion: its end; its start, where it stands in the line as written, and for how many
    characters. Once for a line: one that a program wrote has thousands of places, and each asked for all tokens."""
    after, before = _tokens(expanded), _tokens(written)
    words, written_words = [t.text for t in after], [t.text for t in before]
    spots: list[tuple[int, int, int]] = []
    j = 0
    while len(spots) < len(after) and j < len(before):
        i = len(spots)
        if words[i] == written_words[j]:
            spots.append((after[i].start, before[j].start, len(before[j].text)))
            j += 1
            continue
        until, following = _resume(words, written_words, i, j) or (len(after), j)
        spots += [(t.start, before[j].start, 0) for t in after[i:until]]
        j = following
    end = before[j].start if j < len(before) else len(written.rstrip())
    spots += [(t.start, end, 0) for t in after[len(spots) :]]
    return [t.end for t in after], spots


def _resume(after: list[str], before: list[str], i: int, j: int) -> tuple[int, int] | None:
    """Where the two lines agree again after a macro."""
    places: dict[str, list[int]] = {}
    for k in range(i, len(after)):
        places.setdefault(after[k], []).append(k)
    for skipped in range(1, len(before) - j):
        rest = before[j + skipped : j + skipped + 3]
        for k in places.get(rest[0], ()):
            if after[k : k + len(rest)] == rest:
                return k, j + skipped
    return None


def _tokens(line: str) -> list[Token]:
    return tokenize(line.split("//")[0])


def _word_length(excerpt: str, column: int) -> int:
    match = re.compile(r"[A-Za-z_0-9]+").match(excerpt, column - 1) if column else None
    return len(match[0]) if match else 1

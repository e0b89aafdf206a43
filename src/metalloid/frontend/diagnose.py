"""Turn clang's messages into diagnostics at the user's own line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalloid.errors import Diagnostic
from metalloid.frontend.rewrite import Rewritten
from metalloid.frontend.tokens import Token, tokenize
from metalloid.source import Source

_MESSAGE = re.compile(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+):(?:(?P<ranges>(?:\{[^}]*\})+):)? "
    r"(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)
_RANGE = re.compile(r"\{(\d+):(\d+)-(\d+):(\d+)\}")
_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"')
# Names of the header that stand for something the user wrote.
_SPELLINGS = (
    (re.compile(r"metal::(?=\w)"), ""),
    (re.compile(r"__attribute__\(\(opencl_global\)\)|__global\b|__attribute__\(\(sycl_global\)\)"), "device"),
    (re.compile(r"__attribute__\(\(opencl_local\)\)|__local\b"), "threadgroup"),
    (re.compile(r"const __attribute__\(\(opencl_global_device\)\)|const __global_device\b|__global_device\b"), "constant"),
    (re.compile(r"_Float16"), "half"),
    (re.compile(r"__bf16"), "bfloat"),
    (re.compile(r"\bunsigned (int|short|char|long)\b"), r"u\1"),
    (re.compile(r"\bvec<(\w+), (\d)>"), r"\1\2"),
)


@dataclass(frozen=True)
class Texts:
    """The user's files, for excerpts. Nothing outside the include paths is ever read."""

    source: Source
    _read: dict[str, list[str]] = field(default_factory=dict, compare=False)

    def lines(self, file: str) -> list[str]:
        if file == self.source.name:
            return self.source.text.split("\n")
        if file in self.source.quoted:
            return self.source.quoted[file].split("\n")
        if file not in self._read:
            self._read[file] = self._from_disk(file)
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
class Preimage:
    """The rewritten text by its presumed lines, to find a message's place in it again."""

    rewritten: Rewritten

    @cached_property
    def buffer_lines(self) -> dict[tuple[str, int], list[tuple[int, str]]]:
        """(file, line) -> [(offset, text)] of the rewritten text."""
        found: dict[tuple[str, int], list[tuple[int, str]]] = {}
        file, number, offset = "", 1, 0
        for line in self.rewritten.text.split("\n"):
            marker = _MARKER.match(line)
            if marker:
                file, number = marker[2], int(marker[1])
            else:
                found.setdefault((file, number), []).append((offset, line))
                number += 1
            offset += len(line) + 1
        return found


def diagnose(messages: str, texts: Texts, preprocessed: Preimage | None) -> tuple[Diagnostic, ...]:
    """All errors in clang's output, in the user's coordinates; notes are dropped."""
    found: list[Diagnostic] = []
    lines = messages.splitlines()
    for index, line in enumerate(lines):
        match = _MESSAGE.match(line)
        if not match:
            if line.startswith("error:") or line.startswith("fatal error:"):
                found.append(Diagnostic(line.split(":", 1)[1].strip(), texts.source.name, 0))
            continue
        if match["severity"] in ("note", "warning"):
            continue
        file, number, column = match["file"], int(match["line"]), int(match["column"])
        if not texts.lines(file):
            file, number, column = _user_note(lines[index + 1 :], texts) or (file, number, column)
        diagnostic = Diagnostic(plain(match["text"]), file, number, column)
        found.append(place(diagnostic, texts, preprocessed))
    return tuple(found) or (Diagnostic("the compiler failed without a message", texts.source.name, 0),)


def plain(message: str) -> str:
    """A message in Metal's words."""
    for pattern, spelling in _SPELLINGS:
        message = pattern.sub(spelling, message)
    return message


def _user_note(lines: list[str], texts: Texts) -> tuple[str, int, int] | None:
    """An error inside the header: the first note that points into the user's text."""
    for line in lines:
        match = _MESSAGE.match(line)
        if not match or match["severity"] != "note":
            return None
        if texts.lines(match["file"]):
            return match["file"], int(match["line"]), int(match["column"])
    return None


def place(diagnostic: Diagnostic, texts: Texts, preimage: Preimage | None) -> Diagnostic:
    """Put excerpt and caret on the user's own line."""
    excerpt = texts.line(diagnostic.file, diagnostic.line)
    if preimage is None or not excerpt:
        return replace(diagnostic, excerpt=excerpt, length=_word_length(excerpt, diagnostic.column))
    candidates = preimage.buffer_lines.get((diagnostic.file, diagnostic.line), [])
    for offset, text in candidates:
        if diagnostic.column <= len(text) + 1:
            before = preimage.rewritten.before
            original = preimage.rewritten.original_offset(offset + diagnostic.column - 1)
            start = before.rfind("\n", 0, original) + 1
            end = before.find("\n", start)
            column = align(before[start : end if end >= 0 else None], original - start, excerpt)
            return replace(diagnostic, excerpt=excerpt, column=column, length=_word_length(excerpt, column))
    return replace(diagnostic, excerpt=excerpt, column=0)


def align(expanded: str, offset: int, written: str) -> int:
    """The column in the line as written of a position in the line after macro expansion.

    A token that came out of a macro is shown at the macro's name.
    """
    after, before = _tokens(expanded), _tokens(written)
    target = next((i for i, t in enumerate(after) if t.end >= offset + (offset == t.start)), len(after))
    if target == len(after):
        return len(written.rstrip()) + 1
    within = max(0, offset - after[target].start)
    i = j = 0
    while i < len(after) and j < len(before):
        if after[i].text == before[j].text:
            if i == target:
                return before[j].start + min(within, len(before[j].text)) + 1
            i, j = i + 1, j + 1
            continue
        resume = _resume(after, before, i, j)
        if resume is None or resume[0] > target:
            return before[j].start + 1
        i, j = resume
    return (before[j].start if j < len(before) else len(written.rstrip())) + 1


def _resume(after: list[Token], before: list[Token], i: int, j: int) -> tuple[int, int] | None:
    """Where the two lines agree again after a macro."""
    for skipped in range(1, len(before) - j):
        rest = [t.text for t in before[j + skipped : j + skipped + 3]]
        for k in range(i, len(after)):
            if [t.text for t in after[k : k + len(rest)]] == rest:
                return k, j + skipped
    return None


def _tokens(line: str) -> list[Token]:
    return tokenize(line.split("//")[0])


def _word_length(excerpt: str, column: int) -> int:
    match = re.compile(r"[A-Za-z_0-9]+").match(excerpt, column - 1) if column else None
    return len(match[0]) if match else 1

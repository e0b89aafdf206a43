"""Mend what is certain. A hint becomes an edit where it names the very text to write, and an edit is offered only
where the text with it, linted again, has lost that message and got no new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from metalloid.errors import Diagnostic

Lint = Callable[[str], tuple[Diagnostic, ...]]


@dataclass(frozen=True)
class Edit:
    """Replace some characters of a line; line and column are 1-based."""

    title: str
    line: int
    column: int
    length: int
    text: str

    def applied(self, text: str) -> str:
        lines = text.split("\n")
        row = lines[self.line - 1]
        lines[self.line - 1] = row[: self.column - 1] + self.text + row[self.column - 1 + self.length :]
        return "\n".join(lines)


Maker = Callable[[re.Match[str], Diagnostic, str], Edit | None]


def _insert(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    mark = found[1]
    return Edit(f"add '{mark}'", said.line, said.column, 0, mark) if said.column else None


def _word(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    """Another word in place of the one at the caret."""
    return _instead(said, line, found[1])


def _instead(said: Diagnostic, line: str, new: str, old: str = r"[A-Za-z_]\w*") -> Edit | None:
    there = re.compile(old).match(line, said.column - 1) if said.column else None
    return Edit(f"write '{new}'", said.line, said.column, len(there[0]), new) if there else None


def _cuda(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    """`__syncthreads()` as a whole; of another call the name; of a qualifier the word."""
    word, metal = found[1], found[2]
    name = metal.partition("(")[0]
    if re.match(re.escape(word) + r"\s*\(\s*\)", line[said.column - 1 :]) and "(" in metal:
        return _instead(said, line, metal, re.escape(word) + r"\s*\(\s*\)")
    if not re.fullmatch(r"[\w:]+", name):
        return None
    return _instead(said, line, name, re.escape(word) + r"\b")


def _component(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    there = re.compile(r"([A-Za-z_]\w*)\.\w+").match(line, said.column - 1) if said.column else None
    if there is None:
        return None
    return Edit(f"write '{there[1]}'", said.line, said.column, len(there[0]), there[1])


def _space(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    """`device` in front of the type of a pointer."""
    written = found[1].removeprefix("device ")
    at = line.find(written)
    if at < 0 or line.count(written) != 1:
        return None
    return Edit(f"write '{found[1]}'", said.line, at + 1, len(written), found[1])


def _attribute(found: re.Match[str], said: Diagnostic, line: str) -> Edit | None:
    wrong = re.match(r"\[\[(\w+)", said.message)
    at = line.find(wrong[1]) if wrong else -1
    if wrong is None or at < 0:
        return None
    return Edit(f"write [[{found[1]}]]", said.line, at + 1, len(wrong[1]), found[1])


# Rule, what its message and hint say, and what is done then.
TABLE: tuple[tuple[str, re.Pattern[str], Maker], ...] = (
    ("M601", re.compile(r"^missing '([^\w\s])'"), _insert),
    ("M602", re.compile(r"did you mean '(\w+)'\?"), _word),
    ("M603", re.compile(r"^'(\w+)' is CUDA; Metal has `([^`]+)`"), _cuda),
    ("M604", re.compile(r"or drop `\.\w+`"), _component),
    ("M611", re.compile(r"\bwrite `(float)`"), _word),
    ("M615", re.compile(r"write `(device [^`]+)`"), _space),
    ("M619", re.compile(r"did you mean \[\[(\w+)\]\]\?"), _attribute),
)


def candidates(said: Diagnostic, text: str) -> Iterator[Edit]:
    """What might mend a message."""
    lines = text.split("\n")
    if not 0 < said.line <= len(lines):
        return
    for rule, pattern, make in TABLE:
        found = pattern.search(f"{said.message}\n{said.hint}") if said.rule == rule else None
        if found and (edit := make(found, said, lines[said.line - 1])) is not None:
            yield edit


def certain(said: Diagnostic, text: str, known: tuple[Diagnostic, ...], lint: Lint) -> list[Edit]:
    """The edits that mend a message and do nothing else."""
    return [edit for edit in candidates(said, text) if _mends(edit, said, text, known, lint)]


def _mends(edit: Edit, said: Diagnostic, text: str, known: tuple[Diagnostic, ...], lint: Lint) -> bool:
    """Several mistakes of a kind on one line are told one after the other; so lines and rules are compared."""
    before = [(d.rule, d.line) for d in known]
    after = [(d.rule, d.line) for d in lint(edit.applied(text))]
    new = [place for place in after if after.count(place) > before.count(place)]
    return not new and len(after) < len(before)

"""Turn clang's diagnostics into what the author of a kernel needs to read.

`improve` looks at one diagnostic: the first recogniser that knows the mistake gives rule, message and hint;
the rest keep clang's sentence in Metal's words. `fold` then drops what only follows from a mistake already
reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints import atomics, calls, constants, names, syntax, values
from metalloid.frontend.hints.beginners import beginners
from metalloid.frontend.hints.context import Context, Known, Table
from metalloid.frontend.hints.formatting import placeholder_type
from metalloid.frontend.hints.nearest import nearest
from metalloid.frontend.hints.words import metal_words
from metalloid.records import replace

__all__ = ["Context", "Known", "fold", "improve", "metal_words", "nearest", "out_of_step"]

_TABLE: Table = names.TABLE + constants.TABLE + atomics.TABLE + values.TABLE + calls.TABLE + syntax.TABLE
_NAMED = re.compile(r"^'([^']+)'")
# After these the rest of the file is read out of step, and what clang says of it is noise.
_OUT_OF_STEP = re.compile(r"is never closed|is not closed before|closes nothing|was not found next to")


def improve(diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic] = ()) -> Diagnostic:
    """The same place with a better message; `notes` are the notes clang attached to it."""
    plain = replace(
        diagnostic,
        message=metal_words(diagnostic.message),
        excerpt=diagnostic.excerpt or context.line(diagnostic.file, diagnostic.line),
    )
    if diagnostic.rule:
        return plain
    notes = tuple(replace(note, message=metal_words(note.message)) for note in notes)
    better = _recognise(plain, context, notes)
    if better is None:
        return plain
    if better.line != plain.line or better.file != plain.file:
        return replace(better, excerpt=context.line(better.file, better.line) or better.excerpt)
    return better


def fold(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """First causes only: one per line and one per name, none after the braces went out of step."""
    diagnostics = list(diagnostics)
    if any(d.excerpt for d in diagnostics):  # what is said of the headers follows from what the user wrote
        diagnostics = [d for d in diagnostics if d.excerpt or not d.line]
    errors = [d for d in diagnostics if d.severity == "error"]
    kept: list[Diagnostic] = []
    lines: set[tuple[str, int]] = set()
    blamed: set[str] = set()
    lost: set[str] = set()
    for diagnostic in errors:
        place = (diagnostic.file, diagnostic.line)
        name = _NAMED.match(diagnostic.message)
        named = name[1] if name and diagnostic.rule in ("M602", "M603", "M605", "M606", "M616") else ""
        repeated = named in blamed if named else False
        blamed.add(named)
        # CUDA words on one line are as many mistakes, not one and its echoes.
        echo = place in lines and not (diagnostic.rule == "M603" and named)
        if repeated or echo or diagnostic.file in lost:
            continue
        lines.add(place)
        kept.append(diagnostic)
        if out_of_step(diagnostic):
            lost.add(diagnostic.file)
    others = [d for d in diagnostics if d.severity != "error" and (d.file, d.line) not in lines]
    return kept + list(dict.fromkeys(others))


def out_of_step(diagnostic: Diagnostic) -> bool:
    """Whether the text is read out of step from here on."""
    return _OUT_OF_STEP.search(diagnostic.message) is not None


def _recognise(diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]) -> Diagnostic | None:
    if found := beginners(diagnostic, context):
        return found
    word = context.word_at(diagnostic) if diagnostic.severity == "error" else ""
    if word not in context.names and (found := names.cuda_word(word, diagnostic, context)):
        return found
    if diagnostic.severity == "error" and (found := placeholder_type(diagnostic, context)):
        return found
    for pattern, recogniser in _TABLE:
        match = pattern.search(diagnostic.message)
        if match and (better := recogniser(match, diagnostic, context, notes)):
            return better
    return None

"""Expand macros and includes before anything is rewritten.

Real sources make kernels with macros, so the rewriter must see their expansion. The Metal headers a
source includes are empty files here: what they declare comes later, precompiled.
"""

from __future__ import annotations

import re
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import clang
from metalloid.frontend.diagnose import Texts, diagnose
from metalloid.frontend.plain import plain_text
from metalloid.frontend.unit import place_of, unescaped
from metalloid.patterns import pattern
from metalloid.records import dataclass
from metalloid.source import MathMode, Source

STUBS = clang.INCLUDE / "stubs"
MACROS = clang.INCLUDE / "macros.h"
BOM = "\ufeff"  # what some editors put in front of a file
LONGEST = 4 << 20  # characters after the preprocessor; the largest real source has 0.3 million
# What -ffast-math defines in any clang. Relaxed math honours infinities and NaNs, and is not -ffast-math.
MATH_MACROS: dict[MathMode, dict[str, str]] = {
    "safe": {"__FINITE_MATH_ONLY__": "0"},
    "relaxed": {"__FINITE_MATH_ONLY__": "0"},
    "fast": {"__FAST_MATH__": "1", "__FINITE_MATH_ONLY__": "1"},
}
_MARKER = pattern(r'^# (\d+) "((?:[^"\\]|\\.)*)"(.*)$')
_DEFINE = pattern(r"#define (\w+)(?:\(([^)]*)\))?(?: (.*))?$")
_UNDEFINE = pattern(r"#undef (\w+)")
_UNROLL = pattern(r"(#pragma (?:clang loop )?\w*unroll\w*)(.*)")
# A directive that survives: #embed, or one whose `#` came out of a macro and would work in the next stage.
_LATE = pattern(r"^(?:[ \t\f\v]+#|[ \t\f\v]*%:|#(?!(?:define|undef|pragma|ident|sccs)\b| \d))", re.MULTILINE)
_UNSUPPORTED = pattern(r"#pragma metalloid unsupported (\S+)")


@dataclass(frozen=True)
class Preprocessed:
    text: str
    files: tuple[Path, ...]  # every user file that was read, for cache keys


def preprocess(source: Source) -> Preprocessed:
    """The text after the preprocessor, with line markers and without macro definitions."""
    given = {**MATH_MACROS[source.math], **source.defines}
    written = source.text.removeprefix(BOM)
    plain = None if source.include else plain_text(written, source.name, MACROS, given, STUBS)
    if plain is not None and len(plain) <= LONGEST:
        return Preprocessed(plain, ())
    arguments = [*clang.PREPROCESS, "-include", str(MACROS)]
    arguments += [f"-D{name}={value}" for name, value in given.items()]
    if source.directory is not None:
        arguments += ["-iquote", str(source.directory)]
    for path in source.include:
        arguments += ["-I", str(path)]
    arguments += ["-I", str(STUBS), "-o", "-", "-"]
    result = clang.run(arguments, f'#line 1 "{_escape(source.name)}"\n{written}\n')
    files = _files_read(result.output)
    _refuse_outside(source, files)
    if result.failed:
        raise CompileError(diagnose(result.messages, Texts(source), preimage=None))
    if len(result.output) > LONGEST:
        message = f"with its macros expanded this source has more than {LONGEST:,} characters"
        raise CompileError([Diagnostic(message, source.name, 0)])
    _refuse_late(source, result.output)
    return Preprocessed(_tidy(source, result.output), files)


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _files_read(text: str) -> tuple[Path, ...]:
    """Files entered, by the markers clang leaves: flag 1 is the start of an included file."""
    names: dict[str, None] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            match = _MARKER.match(line)
            if match and " 1" in match[3] and not match[2].startswith("<"):
                names[unescaped(match[2])] = None
    ours = clang.INCLUDE.resolve()
    return tuple(path for path in map(Path, names) if not path.resolve().is_relative_to(ours))


def _refuse_outside(source: Source, files: tuple[Path, ...]) -> None:
    """A kernel may include only from its own directory and the given paths."""
    roots = [root.resolve() for root in (*source.include, *([source.directory] if source.directory else []))]
    for path in files:
        full = path.resolve()
        if not any(full.is_relative_to(root) for root in roots):
            message = f"'{path.name}' is outside the include paths and was not read"
            hint = "put the file beside the source, or pass its folder in include=[...]"
            line = _include_line(source, path)
            raise CompileError([Diagnostic(message, source.name, line, rule="M617", hint=hint)])


def _refuse_late(source: Source, text: str) -> None:
    found = _LATE.search(text)
    if found:
        file, line, _ = place_of(text, found.start())
        message = "this directive cannot be used: #embed and directives made by macros are not part of Metal"
        excerpt = Texts(source).line(file, line)
        raise CompileError([Diagnostic(message, file, line, rule="M617", excerpt=excerpt)])


def _include_line(source: Source, path: Path) -> int:
    for number, line in enumerate(source.text.splitlines(), 1):
        if "include" in line and path.name in line:
            return number
    return 0


def _tidy(source: Source, text: str) -> str:
    """Blank macro definitions; put their values into unroll pragmas, which -E leaves alone."""
    macros: dict[str, Macro] = {}
    place = ("", 0)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith("#"):
            place = (place[0], place[1] + 1)
            continue
        if marker := _MARKER.match(line):
            if marker[2].startswith(("<", str(MACROS))):
                lines[number] = ""
            if not marker[2].startswith(str(clang.INCLUDE)):
                place = (unescaped(marker[2]), int(marker[1]) - 1)
            continue
        if define := _DEFINE.match(line):
            parameters = None if define[2] is None else tuple(p.strip() for p in define[2].split(","))
            macros[define[1]] = Macro(parameters, define[3] or "")
            lines[number] = ""
        elif undefine := _UNDEFINE.match(line):
            macros.pop(undefine[1], None)
            lines[number] = ""
        elif unroll := _UNROLL.match(line):
            lines[number] = unroll[1] + _substitute(unroll[2], macros)
        elif unsupported := _UNSUPPORTED.match(line):
            message = f"{unsupported[1]} is not supported yet; see docs/support.md"
            at = place[1] + 1 if place[0] == source.name else _include_line(source, Path(unsupported[1]))
            raise CompileError([Diagnostic(message, place[0] or source.name, at, rule="M616")])
        place = (place[0], place[1] + 1)
    return "\n".join(lines).lstrip("\n")


@dataclass(frozen=True)
class Macro:
    parameters: tuple[str, ...] | None  # None for one without parentheses
    body: str


_CALL = pattern(r"\b([A-Za-z_]\w*)\b(\s*\(([^()]*)\))?")


def _substitute(text: str, macros: dict[str, Macro]) -> str:
    """Expand macros inside a pragma. Arguments without parentheses of their own are enough there."""

    def expand(match: re.Match[str]) -> str:
        macro = macros.get(match[1])
        if macro is None:
            return match[0]
        if macro.parameters is None:
            return macro.body + (match[2] or "")
        if match[2] is None:
            return match[0]
        values = dict(zip(macro.parameters, (a.strip() for a in match[3].split(",")), strict=False))
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: values.get(m[0], m[0]), macro.body)

    for _ in range(8):
        new = _CALL.sub(expand, text)
        if new == text:
            break
        text = new
    return text

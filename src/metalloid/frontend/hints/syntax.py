"""M601, missing and stray punctuation; M617, includes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Table
from metalloid.frontend.hints.formatting import doubled_braces, placeholder_braces
from metalloid.frontend.hints.macros import macro_use, semicolon_of_macro
from metalloid.records import replace

_CLOSED = re.compile(r"[;{}:,(\[]\s*$|^\s*#|^\s*$")

_PLACES = {
    "at end of declaration": "at the end of this declaration",
    "at end of declaration list": "at the end of this declaration",
    "after expression": "after this expression",
    "after top level declarator": "after this declaration",
    "after return statement": "after this return",
    "after struct": "after the closing brace of this struct",
    "after class": "after the closing brace of this class",
    "after union": "after the closing brace of this union",
    "after enum": "after the closing brace of this enum",
    "after do/while statement": "after this do/while",
    "after break statement": "after this break",
    "after continue statement": "after this continue",
}


def semicolon(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    where = match[1].strip()
    line = context.line(diagnostic.file, diagnostic.line)
    if where == "in 'for' statement specifier":
        return commas_in_for(diagnostic)
    if braces := doubled_braces(diagnostic, context):
        return braces
    column = diagnostic.column if diagnostic.column <= len(line) + 1 else len(line.rstrip()) + 1
    place = _PLACES.get(where, "here")
    if use := macro_use(line, diagnostic.column - 1, context):
        return semicolon_of_macro(*use, line, diagnostic)
    return replace(
        diagnostic,
        rule="M601",
        message=f"missing ';' {place}",
        hint="add ';' where the caret points",
        column=column,
    )


def commas_in_for(diagnostic: Diagnostic) -> Diagnostic:
    message = "missing ';' in the head of this for loop"
    hint = "semicolons separate its three parts: `for (uint i = 0; i < n; i++)`"
    return replace(diagnostic, rule="M601", message=message, hint=hint)


def expression(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`expected expression`: what stands there often shows what is missing in front of it."""
    line = context.line(diagnostic.file, diagnostic.line)
    before, rest = line[: diagnostic.column - 1], line[diagnostic.column - 1 :]
    if not before.strip() and (found := previous_end(diagnostic, context)):
        return found
    if braces := placeholder_braces(diagnostic, context) or doubled_braces(diagnostic, context):
        return braces
    if rest.startswith("}") and re.search(r"\b(return|break|continue)\s*$", before):
        message = f"missing ';' after this {before.split()[-1]}"
        column = len(before.rstrip()) + 1
        return replace(
            diagnostic, rule="M601", message=message, column=column, hint="add ';' where the caret points"
        )
    if rest.startswith('"') and rest.count('"') % 2:
        return replace(
            diagnostic, rule="M601", message="this string has no closing quote", hint="end it with '\"'"
        )
    if rest.startswith("'") and rest.count("'") % 2:
        return replace(
            diagnostic, rule="M601", message="this character has no closing quote", hint="end it with '"
        )
    what = f"'{rest.split()[0][:20]}'" if rest.split() else "the end of the line"
    after = f" after '{before.split()[-1][-20:]}'" if before.split() else ""
    return replace(
        diagnostic,
        rule="M601",
        message=f"a value is missing{after}: found {what}",
        hint="look for a missing operand, or for a ',', ')' or operator too many",
    )


def previous_end(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """The end of the last line above with text on it, where that line lacks its ';'."""
    lines = context.lines(diagnostic.file)
    for number in range(min(diagnostic.line - 1, len(lines)), 0, -1):
        text = re.sub(r"//.*|/\*.*?\*/", "", lines[number - 1]).rstrip()
        if not text:
            continue
        if _CLOSED.search(text):
            return None
        return replace(
            diagnostic,
            rule="M601",
            line=number,
            column=len(text) + 1,
            length=1,
            message="missing ';' at the end of this line",
            hint="add ';' where the caret points",
            excerpt=lines[number - 1],
        )
    return None


def struct_semicolon(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`struct A { ... }` without ';' swallows the function below as its declarator."""
    lines = context.lines(diagnostic.file)
    for number in range(min(diagnostic.line, len(lines)), max(0, diagnostic.line - 200), -1):
        text = re.sub(r"//.*", "", lines[number - 1]).rstrip()
        if number == diagnostic.line:
            text = text[: diagnostic.column - 1].rstrip() if "}" in text[: diagnostic.column - 1] else ""
        if text.endswith("}"):
            return replace(
                diagnostic,
                rule="M601",
                line=number,
                column=len(text) + 1,
                length=1,
                message="missing ';' after the closing brace of this struct",
                hint="a struct, union or enum ends in `};`",
                excerpt=lines[number - 1],
            )
    return None


def closer(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A bracket that is never closed: point at the one that was opened."""
    missing = match[1]
    opened = next((n for n in notes if n.message.startswith("to match this")), None)
    if braces := doubled_braces(diagnostic, context):
        return braces
    if opened is None or (missing == ")" and opened.line == diagnostic.line):
        return replace(
            diagnostic,
            rule="M601",
            message=f"missing '{missing}'",
            hint=f"add '{missing}' where the caret points",
        )
    line, column = opened.line, opened.column
    if missing == "}":
        line, column = unclosed(context.source.get(opened.file, "")) or (line, column)
    return replace(
        diagnostic,
        rule="M601",
        file=opened.file,
        line=line,
        column=column,
        length=1,
        message=f"this '{'{(['['})]'.index(missing)]}' is never closed",
        hint=f"add the missing '{missing}'",
        excerpt=context.line(opened.file, line),
    )


def nested_function(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A function inside a function: the one above lacks a '}'."""
    lines = context.lines(diagnostic.file)[: diagnostic.line - 1]
    found = unclosed("\n".join(lines))
    if found is None:
        return None
    return replace(
        diagnostic,
        rule="M601",
        line=found[0],
        column=found[1],
        length=1,
        message=f"this '{{' is not closed before the next function begins on line {diagnostic.line}",
        hint="add the missing '}'",
        excerpt=lines[found[0] - 1],
    )


def unclosed(text: str) -> tuple[int, int] | None:
    """Line and column of a '{' without its '}': the one whose end the indentation shows to be missing."""
    opened: list[tuple[int, int, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        code = re.sub(r'//.*|"(?:[^"\\]|\\.)*"', lambda m: " " * len(m[0]), line)
        indent = len(code) - len(code.lstrip())
        for column, character in enumerate(code, 1):
            if character == "{":
                opened.append((number, column, indent))
            elif character == "}" and opened:
                first_on_line = column - 1 == indent
                if first_on_line and opened[-1][2] > indent and any(o[2] == indent for o in opened):
                    return opened[-1][:2]
                opened.pop()
    return opened[-1][:2] if opened else None


def stray(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    return doubled_braces(diagnostic, context) or replace(
        diagnostic,
        rule="M601",
        message="this '}' closes nothing",
        hint="one '}' too many here or above, or a '{' missing above",
    )


def outside(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """Something that cannot begin a declaration."""
    if braces := placeholder_braces(diagnostic, context) or doubled_braces(diagnostic, context):
        return braces
    rest = context.line(diagnostic.file, diagnostic.line)[diagnostic.column - 1 :].split()
    what = f"'{rest[0][:20]}'" if rest else "this"
    if rest and rest[0].startswith("}"):
        return stray(match, diagnostic, context, notes)
    return replace(
        diagnostic,
        rule="M601",
        message=f"a declaration cannot continue with {what}",
        hint="look for a missing ';' or '}' above, a stray character, or a statement outside of any function",
    )


def include(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    name = match[1]
    if "MetalPerformancePrimitives" in name or "metal_tensor" in name:
        return replace(
            diagnostic,
            rule="M616",
            message=f"<{name}> is not supported yet",
            hint="<metal_tensor> and <MetalPerformancePrimitives/MetalPerformancePrimitives.h> have what is",
        )
    if re.search(r"cuda|cub/|cooperative_groups|mma\.h", name):
        hint = "a kernel in MSL includes <metal_stdlib>; CUDA's headers do not exist here"
        return replace(diagnostic, rule="M603", message=f"'{name}' is a header of CUDA", hint=hint)
    if re.fullmatch(
        r"c?(vector|iostream|cstdio|stdio\.h|string|algorithm|cmath|math\.h|stdlib\.h|memory)", name
    ):
        hint = "use <metal_stdlib> and `using namespace metal;`: MSL has no C++ standard library"
        return replace(diagnostic, rule="M617", message=f"<{name}> is not part of Metal", hint=hint)
    return replace(
        diagnostic,
        rule="M617",
        message=f"'{name}' was not found next to the source nor on the include paths",
        hint="pass its directory in include=[...]; text given as a string has no directory of its own",
    )


TABLE: Table = (
    (re.compile(r"expected ';'(.*)"), semicolon),
    (re.compile(r"invalid '.' at end of declaration; did you mean ';'|expected ','? or ';'()"), semicolon),
    (re.compile(r"cannot combine with previous '(?:struct|union|enum|class)' declaration"), struct_semicolon),
    (re.compile(r"an attribute list cannot appear here"), struct_semicolon),
    (re.compile(r"'.*' cannot be defined in the result type of a function"), struct_semicolon),
    (re.compile(r"expected '([])}])'"), closer),
    (re.compile(r"extraneous closing brace"), stray),
    (re.compile(r"function definition is not allowed here"), nested_function),
    (re.compile(r"expected expression|expected statement"), expression),
    (re.compile(r"expected unqualified-id|expected identifier|expected member name"), outside),
    (re.compile(r"expected external declaration|expected parameter declarator"), outside),
    (re.compile(r"'([^']+)' file not found"), include),
)

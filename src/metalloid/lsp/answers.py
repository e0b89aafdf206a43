"""Answers in the protocol's words. Positions go through the document's codec: an editor counts in UTF-16."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp
from pygls.workspace import TextDocument

from metalloid.errors import Diagnostic
from metalloid.lsp.completing import Choice, choices
from metalloid.lsp.fixes import Edit
from metalloid.lsp.names import Declared, declarations
from metalloid.lsp.names import definition as declared
from metalloid.lsp.reference import look_up, rule_text
from metalloid.lsp.texts import Region, part

_WORD = re.compile(r"[A-Za-z_]\w*")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_ITEMS = {
    "function": lsp.CompletionItemKind.Function,
    "attribute": lsp.CompletionItemKind.Property,
    "word": lsp.CompletionItemKind.Keyword,
    "type": lsp.CompletionItemKind.Struct,
    "name": lsp.CompletionItemKind.Variable,
    "snippet": lsp.CompletionItemKind.Snippet,
}
_SYMBOLS = {
    "kernel": lsp.SymbolKind.Event,
    "function": lsp.SymbolKind.Function,
    "struct": lsp.SymbolKind.Struct,
    "macro": lsp.SymbolKind.Constant,
}


@dataclass(frozen=True)
class Place:
    """A position in the Metal of a document, counted in characters."""

    uri: str
    path: str
    document: TextDocument
    position: lsp.Position
    region: Region

    @property
    def text(self) -> str:
        """The Metal around it, at the places it has in the document."""
        source = self.document.source
        return source if self.path.endswith((".metal", ".h", ".msl")) else part(source, self.region)

    @property
    def offset(self) -> int:
        lines = self.document.source.split("\n")
        return sum(len(line) + 1 for line in lines[: self.position.line]) + self.position.character

    def word(self) -> re.Match[str] | None:
        line = self.document.source.split("\n")[self.position.line]
        at = self.position.character
        return next((m for m in _WORD.finditer(line) if m.start() <= at <= m.end()), None)


def diagnostics(found: Iterable[Diagnostic], path: str, document: TextDocument) -> list[lsp.Diagnostic]:
    return [diagnostic(said, path, document) for said in found]


def diagnostic(said: Diagnostic, path: str, document: TextDocument) -> lsp.Diagnostic:
    """A message; one about another file stands in the first line, with the place it speaks of beside it."""
    here = said.file in (path, "") or not Path(said.file).is_file()
    hint = f"\nhint: {said.hint}" if said.hint else ""
    made = lsp.Diagnostic(
        range=_range(document, said.line, said.column, said.length) if here else _range(document, 1, 0, 0),
        message=said.message + hint,
        severity=_SEVERITIES.get(said.severity, lsp.DiagnosticSeverity.Error),
        code=said.rule or None,
        source="metalloid",
    )
    if not here:
        line = max(0, said.line - 1)
        spot = lsp.Range(
            lsp.Position(line, max(0, said.column - 1)), lsp.Position(line, said.column + said.length)
        )
        place = lsp.Location(Path(said.file).resolve().as_uri(), spot)
        made.related_information = [lsp.DiagnosticRelatedInformation(place, said.message)]
    return made


def _range(document: TextDocument, line: int, column: int, length: int) -> lsp.Range:
    """Line and column are 1-based; column 0 is the whole line."""
    lines = document.lines or [""]
    row = min(max(line, 1), len(lines)) - 1
    text = lines[row].rstrip("\r\n")
    start = column - 1 if column else len(text) - len(text.lstrip())
    end = min(len(text), start + max(1, length)) if column else len(text)
    made = lsp.Range(lsp.Position(row, min(start, len(text))), lsp.Position(row, max(end, start)))
    return document.position_codec.range_to_client_units(lines, made)


def meet(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def hover(place: Place, found: Sequence[Diagnostic]) -> lsp.Hover | None:
    """What the word means; below it the rule of a message that stands here."""
    parts = []
    if word := place.word():
        line = place.document.source.split("\n")[place.position.line]
        opened = line.rfind("[[", 0, word.start())
        entry = look_up(word[0], attribute=opened >= 0 and "]]" not in line[opened : word.start()])
        own = declared(place.text, word[0], place.offset)
        if own is not None and (entry is None or own.kind in ("parameter", "variable")):
            parts.append(f"```metal\n{_line_at(place.text, own.start)}\n```\n{own.kind}")
        elif entry is not None:
            parts.append(entry.markdown)
        elif rule := rule_text(word[0]) if re.fullmatch(r"M[1-9]\d\d", word[0]) else "":
            parts.append(rule)
    client = place.document.position_codec.position_to_client_units(place.document.lines, place.position)
    for said in found:
        spot = diagnostic(said, place.path, place.document).range
        if said.rule and spot.start <= client <= spot.end and (text := rule_text(said.rule)):
            parts.append(text)
    joined = "\n\n---\n\n".join(dict.fromkeys(parts))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, joined)) if joined else None


def _line_at(text: str, offset: int) -> str:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return text[start : end if end >= 0 else None].strip()


def completion(place: Place) -> lsp.CompletionList:
    return lsp.CompletionList(
        is_incomplete=False, items=[_item(c) for c in choices(place.text, place.offset)]
    )


def _item(choice: Choice) -> lsp.CompletionItem:
    made = lsp.CompletionItem(choice.label, kind=_ITEMS[choice.kind], detail=choice.detail or None)
    if choice.meaning:
        made.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, choice.meaning)
    if choice.snippet:
        made.insert_text, made.insert_text_format = choice.snippet, lsp.InsertTextFormat.Snippet
    return made


def definition(place: Place) -> lsp.Location | None:
    """Of a name: in this text, in a file it includes, or the Python list that names an MLX kernel's inputs."""
    line = place.document.source.split("\n")[place.position.line]
    folder = Path(place.path).parent
    if (included := _INCLUDE.match(line)) and (file := folder / included[1]).is_file():
        return lsp.Location(file.resolve().as_uri(), _point(0, 0, 0))
    word = place.word()
    if word is None:
        return None
    if (found := declared(place.text, word[0], place.offset)) is not None:
        return lsp.Location(place.uri, _of(place.document, place.text, found))
    return _in_headers(place.text, folder, word[0], set()) or _python_name(place, word[0])


def _in_headers(text: str, folder: Path, name: str, seen: set[Path]) -> lsp.Location | None:
    for included in re.findall(_INCLUDE.pattern, text, re.MULTILINE):
        file = (folder / included).resolve()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        inner = file.read_text(encoding="utf-8", errors="replace")
        if (found := declared(inner, name, len(inner))) is not None:
            row, column = _row_and_column(inner, found.start)
            return lsp.Location(file.as_uri(), _point(row, column, len(name)))
        if deeper := _in_headers(inner, file.parent, name, seen):
            return deeper
    return None


def _python_name(place: Place, name: str) -> lsp.Location | None:
    """An input or output of an MLX kernel, or an argument of `mt.metal_kernel`: nearest to the call that takes it."""
    pattern = re.compile(rf"""["']({re.escape(name)})["']|\b({re.escape(name)})\s*=(?!=)""")
    lines = place.document.source.split("\n")
    outside = (n for n in range(len(lines)) if n + 1 not in place.region)
    for row in sorted(outside, key=lambda n: abs(n + 1 - place.region.site)):
        if found := pattern.search(lines[row]):
            column = found.start(1 if found[1] else 2)
            made = _point(row, column, len(name))
            return lsp.Location(
                place.uri, place.document.position_codec.range_to_client_units(place.document.lines, made)
            )
    return None


def _row_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1


def _point(row: int, column: int, length: int) -> lsp.Range:
    return lsp.Range(lsp.Position(row, column), lsp.Position(row, column + length))


def _of(document: TextDocument, text: str, found: Declared) -> lsp.Range:
    row, column = _row_and_column(text, found.start)
    made = _point(row, column, len(found.name))
    return document.position_codec.range_to_client_units(document.lines, made)


def symbols(document: TextDocument, regions: Iterable[Region]) -> list[lsp.DocumentSymbol]:
    """Kernels, functions, structs and macros of every Metal text of a file."""
    made: dict[tuple[int, str], lsp.DocumentSymbol] = {}
    for region in regions:
        text = part(document.source, region)
        for found in declarations(text):
            if found.kind in _SYMBOLS:
                spot = _of(document, text, found)
                symbol = lsp.DocumentSymbol(found.name, _SYMBOLS[found.kind], spot, spot, detail=found.kind)
                made.setdefault((found.start, found.name), symbol)
    return list(made.values())


def action(edit: Edit, shown: lsp.Diagnostic, uri: str, document: TextDocument) -> lsp.CodeAction:
    row, column = edit.line - 1, edit.column - 1
    spot = document.position_codec.range_to_client_units(document.lines, _point(row, column, edit.length))
    return lsp.CodeAction(
        title=edit.title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[shown],
        is_preferred=True,
        edit=lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(spot, edit.text)]}),
    )

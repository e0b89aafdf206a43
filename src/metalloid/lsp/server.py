"""The protocol, by pygls: documents come and go, messages are told when the fingers rest, questions are answered."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from metalloid.errors import Diagnostic
from metalloid.lsp import answers
from metalloid.lsp.fixes import certain
from metalloid.lsp.mistakes import mistakes
from metalloid.lsp.texts import PYTHON, Regions
from metalloid.version import __version__

REST = 0.25  # seconds without a key until a text is looked at
TRIGGERS = ["[", ":", ".", ">"]


class Server(LanguageServer):
    """What is known of each open document."""

    def __init__(self) -> None:
        super().__init__(
            "metalloid", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental
        )
        self.regions = Regions()
        self.found: dict[str, tuple[Diagnostic, ...]] = {}  # by URI, of the text that was linted last
        self.waiting: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> TextDocument:
        return self.workspace.get_text_document(uri)

    def look_at(self, uri: str, rest: float) -> None:
        """Lint a document soon; what waits for the same one is given up."""
        self.leave(uri)
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._look(uri, rest))

    def leave(self, uri: str) -> None:
        if task := self.waiting.pop(uri, None):
            task.cancel()

    async def _look(self, uri: str, rest: float) -> None:
        await asyncio.sleep(rest)
        document = self.document(uri)
        text, version = document.source, document.version
        found = await asyncio.to_thread(mistakes, path_of(uri), text)
        if self.document(uri).version != version:
            return  # a later look is on its way
        self.found[uri] = found
        told = answers.diagnostics(found, path_of(uri), document)
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=told, version=version)
        )


def path_of(uri: str) -> str:
    """The path of a file; a name with a suffix for a text that has none yet."""
    parts = urlsplit(uri)
    path = unquote(parts.path) if parts.scheme == "file" else f"{parts.scheme}-{Path(parts.path).name}"
    known = path.endswith((".metal", ".h", ".msl", *PYTHON))
    return path if known else f"{path}.metal"


server = Server()


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    ls.look_at(params.text_document.uri, 0.0)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def did_change(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    ls.look_at(params.text_document.uri, REST)


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
def did_save(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
    ls.look_at(params.text_document.uri, 0.0)  # an included file may have changed


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.leave(uri)
    ls.found.pop(uri, None)
    ls.regions.forget(path_of(uri))
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    place = _place(ls, params.text_document.uri, params.position)
    return answers.hover(place, ls.found.get(params.text_document.uri, ())) if place else None


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS))
def completion(ls: Server, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    place = _place(ls, params.text_document.uri, params.position)
    return answers.completion(place) if place else None


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    place = _place(ls, params.text_document.uri, params.position)
    return answers.definition(place) if place else None


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def symbols(ls: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    uri = params.text_document.uri
    document = ls.document(uri)
    return answers.symbols(document, ls.regions.of(path_of(uri), document.source))


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
)
async def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Each edit is tried on the text before it is offered, so this takes as long as a look at the text or two."""
    uri = params.text_document.uri
    document, known = ls.document(uri), ls.found.get(uri, ())
    text = document.source
    made: list[lsp.CodeAction] = []
    for said in known:
        shown = answers.diagnostic(said, path_of(uri), document)
        if not answers.meet(shown.range, params.range):
            continue
        edits = await asyncio.to_thread(certain, said, text, known, partial(mistakes, path_of(uri)))
        made += [answers.action(edit, shown, uri, document) for edit in edits]
    return made


def _place(ls: Server, uri: str, asked: lsp.Position) -> answers.Place | None:
    """Where in the Metal of a document somebody asks; None in Python around it."""
    document = ls.document(uri)
    found = document.position_codec.position_from_client_units(document.lines, asked)
    region = ls.regions.at(path_of(uri), document.source, found.line + 1)
    position = lsp.Position(found.line, found.character)
    return answers.Place(uri, path_of(uri), document, position, region) if region else None

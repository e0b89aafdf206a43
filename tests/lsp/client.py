"""A client that speaks the Language Server Protocol over standard input and output, and nothing else."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds: other tests compile at the same time


class Client:
    """Starts `metalloid lsp`, sends requests, keeps what is published."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "metalloid", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._versions = itertools.count(1)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        capabilities = {"general": {"positionEncodings": ["utf-16"]}}
        try:
            self.offered = self.ask("initialize", processId=None, rootUri=None, capabilities=capabilities)
        except queue.Empty:
            self._process.kill()
            self._leave()
            raise AssertionError("the server does not answer") from None
        self.tell("initialized")

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        while True:
            length = 0
            while (line := pipe.readline().strip()) or not length:
                if not line:
                    return
                name, _, value = line.decode().partition(": ")
                length = int(value) if name == "Content-Length" else length
            self._heard.put(json.loads(pipe.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        answer = self._wait(lambda m: m.get("id") == number and "method" not in m)
        assert "error" not in answer, answer
        return answer["result"]

    def _wait(self, wanted: Any) -> dict[str, Any]:
        for n, message in enumerate(self._kept):
            if wanted(message):
                return self._kept.pop(n)
        while True:
            message = self._heard.get(timeout=PATIENCE)
            if wanted(message):
                return message
            self._kept.append(message)

    # ---- documents --------------------------------------------------------------------------------------------------

    def open(self, path: Path, text: str) -> str:
        uri, language = path.as_uri(), "python" if path.suffix == ".py" else "metal"
        document = {"uri": uri, "languageId": language, "version": next(self._versions), "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return uri

    def change(self, uri: str, text: str) -> int:
        version = next(self._versions)
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return version

    def close(self, uri: str) -> None:
        self.tell("textDocument/didClose", textDocument={"uri": uri})

    def published(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next messages about a document, of one version where it is given."""

        def wanted(m: dict[str, Any]) -> bool:
            told = m.get("params", {})
            return (
                m.get("method") == "textDocument/publishDiagnostics"
                and told["uri"] == uri
                and version in (None, told.get("version"))
            )

        found = self._wait(wanted)["params"]["diagnostics"]
        assert isinstance(found, list)
        return found

    def at(self, method: str, uri: str, text: str, mark: str, inside: int = 0, **more: Any) -> Any:
        """Ask about the place in a text where `mark` stands; `inside` characters further on."""
        return self.ask(
            f"textDocument/{method}", textDocument={"uri": uri}, position=place(text, mark, inside), **more
        )

    def end(self) -> None:
        self.ask("shutdown")
        self.tell("exit")
        self._leave()

    def _leave(self) -> None:
        self._process.wait(timeout=PATIENCE)
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


def place(text: str, mark: str, inside: int = 0) -> dict[str, int]:
    """As editors count: lines from 0, UTF-16 units from 0."""
    at = text.index(mark) + inside
    before = text[:at].rpartition("\n")[2]
    return {"line": text.count("\n", 0, at), "character": len(before.encode("utf-16-le")) // 2}


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text with edits of the protocol applied."""
    lines = text.split("\n")
    for edit in edits:
        start, end = edit["range"]["start"], edit["range"]["end"]
        assert start["line"] == end["line"]
        row = lines[start["line"]].encode("utf-16-le")
        new = edit["newText"].encode("utf-16-le")
        lines[start["line"]] = (row[: 2 * start["character"]] + new + row[2 * end["character"] :]).decode(
            "utf-16-le"
        )
    return "\n".join(lines)

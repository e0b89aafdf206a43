"""The studio over HTTP, on loopback, from the standard library: a page for one person needs no framework to install.

Files of the page go out by GET, calls come in by POST as JSON. Each request passes the gate first.
"""

from __future__ import annotations

import json
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from metalloid.studio import limits
from metalloid.studio.api import Studio
from metalloid.studio.gate import LOOPBACK, Gate, Refused, new_token

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Nothing is loaded from elsewhere and nobody frames the page; drawings colour their parts by a style of their own.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
QUIET = 20.0  # seconds that a connection may say nothing


class Server(ThreadingHTTPServer):
    """Listens on loopback only; `address` has the token."""

    daemon_threads = True

    def __init__(self, file: Path | None = None, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), Handler)
        self.studio = Studio(file)
        self.gate = Gate(self.server_address[1], new_token())

    @property
    def address(self) -> str:
        return self.gate.address

    def server_bind(self) -> None:
        """Without the look-up of this machine's name, which may take seconds."""
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would let another program take the port as well
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was closed before it had its answer is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.studio.end()


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "metalloid", ""
    protocol_version = "HTTP/1.1"
    timeout = QUIET

    def do_GET(self) -> None:
        try:
            path = self.server.gate.enter(self.path, self.headers, sends=False)  # type: ignore[arg-type]
        except Refused as refused:
            self._refuse(refused)
            return
        found = page_file(path or "index.html")
        if found is None:
            self._refuse(Refused(404, "there is no such file"))
        else:
            self._send(200, *found)

    def do_POST(self) -> None:
        try:
            path = self.server.gate.enter(self.path, self.headers, sends=True)  # type: ignore[arg-type]
            asked = self._body()
        except Refused as refused:
            self._refuse(refused)
            return
        answer = (
            self.server.studio.answer(path.removeprefix("api/"), asked) if path.startswith("api/") else None
        )
        if answer is None:
            self._refuse(Refused(404, "there is no such call"))
        else:
            self._send(200, "application/json", json.dumps(answer).encode())

    def _body(self) -> dict[str, object]:
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Refused(415, "a call is sent as JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > limits.TEXT:
            raise Refused(413, f"a call has at most {limits.TEXT} bytes")
        try:
            asked = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "this is no JSON") from None
        if not isinstance(asked, dict):
            raise Refused(400, "a call is a JSON object")
        return asked

    def _refuse(self, refused: Refused) -> None:
        self.close_connection = True  # what it sent is not read
        self._send(refused.code, "text/plain; charset=utf-8", f"{refused.reason}\n".encode())

    def _send(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the address in each line has the token."""


def page_file(name: str) -> tuple[str, bytes] | None:
    """A file of the page, by its own name: there are no folders to climb out of."""
    kind = KINDS.get(name.rpartition(".")[2])
    if kind is None or "/" in name or "\\" in name or name.startswith("."):
        return None
    file = resources.files("metalloid.studio") / "page" / name
    return (kind, file.read_bytes()) if file.is_file() else None

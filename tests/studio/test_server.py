"""The studio over HTTP: on loopback only, to its own page only, and nothing but its own files."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from metalloid.studio import limits
from metalloid.studio.gate import Gate
from metalloid.studio.server import Server

TEXT = "kernel void one(device float* x [[buffer(0)]]) { x[0] = 1; }\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    file = tmp_path / "one.metal"
    file.write_text(TEXT)
    made = Server(file)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Message
    body: bytes


def asked(server: Server, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    parts = urlsplit(server.address)
    sent = (
        {"Origin": f"http://{parts.netloc}", "Content-Type": "application/json"} if method == "POST" else {}
    )
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body)
    with closing(http.client.HTTPConnection("127.0.0.1", server.gate.port, timeout=60)) as connection:
        connection.request(method, parts.path + path, data, {k: v for k, v in sent.items() if v})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())


def called(server: Server, call: str, **given: Any) -> dict[str, Any]:
    answer = asked(server, "POST", f"api/{call}", given)
    assert answer.status == 200
    found = json.loads(answer.body)
    assert isinstance(found, dict)
    return found


def test_it_listens_on_loopback_only(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    outside = [i[4][0] for i in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {a for a in outside if not a.startswith("127.")}:
        with pytest.raises(OSError), socket.create_connection((address, server.gate.port), timeout=2):
            pass


def test_the_page_may_load_nothing_from_elsewhere(server: Server) -> None:
    answer = asked(server, "GET", "")
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "http" not in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Access-Control-Allow-Origin"] is None
    assert b"https://" not in answer.body


def test_another_origin_and_another_name_are_refused(server: Server) -> None:
    assert asked(server, "POST", "api/open", {}, Origin="https://evil.example").status == 403
    assert asked(server, "POST", "api/open", {}, Origin="").status == 403
    assert asked(server, "GET", "", Host=f"evil.example:{server.gate.port}").status == 403
    assert asked(server, "GET", "", Sec_Fetch_Site="cross-site").status == 403
    assert asked(server, "OPTIONS", "api/open").status == 501  # no preflight is ever granted
    assert asked(server, "PUT", "api/open", {}).status == 501


def test_a_wrong_token_finds_nothing(server: Server) -> None:
    assert asked(server, "GET", "").status == 200
    right, server.gate = server.gate, Gate(server.gate.port, "another")
    wrong = asked(server, "GET", "")  # the address says "another"
    assert wrong.status == 200
    server.gate = right
    with closing(http.client.HTTPConnection("127.0.0.1", right.port, timeout=10)) as connection:
        connection.request("GET", "/another/")
        answer = connection.getresponse()
        assert answer.status == 404 and right.token not in str(answer.headers) + answer.read().decode()


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "..%2fserver.py",
        "page/main.js",
        ".hidden.js",
        "server.py",
        "__init__.py",
        "nothing.js",
        "..\\x.js",
    ],
)
def test_only_files_of_the_page_are_served(server: Server, path: str) -> None:
    assert asked(server, "GET", path).status == 404


def test_every_file_that_the_page_names_is_served(server: Server) -> None:
    import re
    from importlib import resources

    folder = resources.files("metalloid.studio") / "page"
    named = {"main.js"}
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8")
        named |= set(re.findall(r'(?:from|href=|src=) ?"(?:\./)?([\w.]+\.(?:js|css|svg))"', text))
    assert {f.name for f in folder.iterdir()} == named | {"index.html"}
    for name in named:
        assert asked(server, "GET", name).status == 200


def test_a_call_is_json_and_not_too_long(server: Server) -> None:
    assert asked(server, "POST", "api/open", b"{", Content_Type="application/json").status == 400
    assert asked(server, "POST", "api/open", [1]).status == 400
    assert asked(server, "POST", "api/open", b"[" * 100_000).status == 400
    assert (
        asked(server, "POST", "api/open", {}, Content_Type="text/plain").status == 415
    )  # what a form can send
    assert asked(server, "POST", "api/open", b"x", Content_Length=str(limits.TEXT + 1)).status == 413
    assert asked(server, "POST", "api/nothing", {}).status == 404
    assert asked(server, "POST", "other", {}).status == 404


def test_the_file_is_opened_saved_and_kept_from_other_programs_changes(server: Server) -> None:
    assert called(server, "open")["text"] == TEXT
    assert called(server, "save", text="// mine\n") == {"saved": True}
    file = server.studio.file
    assert file is not None and file.read_text() == "// mine\n"
    file.write_text("// theirs, and longer\n")
    assert called(server, "save", text="// mine again\n")["changed"]
    assert file.read_text() == "// theirs, and longer\n"
    assert called(server, "save", text="// mine again\n", over=True) == {"saved": True}


def test_the_page_cannot_choose_another_file_or_folder(server: Server, tmp_path: Path) -> None:
    other = tmp_path.parent / "other.metal"
    called(server, "save", text="// x\n", path=str(other), name=str(other), file=str(other))
    assert not other.exists()
    (tmp_path.parent / "secret.h").write_text("SECRET")
    said = called(server, "diagnose", text='#include "secret.h"\n' + TEXT, folder=str(tmp_path.parent))
    assert "SECRET" not in json.dumps(said)
    assert [d["rule"] for d in said["diagnostics"]] == ["M617"]


def test_without_a_file_there_is_nothing_to_save() -> None:
    made = Server()
    try:
        assert "no file is open" in made.studio.answer("save", {"text": ""})["error"]  # type: ignore[index]
        assert made.studio.answer("open", {})["lesson"] == "M201"  # type: ignore[index]
    finally:
        made.server_close()

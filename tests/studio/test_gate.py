"""Who may ask the studio: each header that another origin cannot forge is looked at, and the token."""

from __future__ import annotations

import pytest

from metalloid.studio.gate import Gate, Refused, new_token

GATE = Gate(4711, "secret")
OURS = {"Host": "127.0.0.1:4711", "Origin": "http://127.0.0.1:4711", "Sec-Fetch-Site": "same-origin"}


def test_the_page_of_the_studio_enters() -> None:
    assert GATE.enter("/secret/", {"Host": "127.0.0.1:4711"}, sends=False) == ""
    assert GATE.enter("/secret/main.js?x=1", OURS, sends=False) == "main.js"
    assert GATE.enter("/secret/api/open", OURS, sends=True) == "api/open"
    local = {**OURS, "Host": "localhost:4711", "Origin": "http://localhost:4711"}
    assert GATE.enter("/secret/api/open", local, sends=True) == "api/open"


REFUSED = {
    "no host": {},
    "a name that was made to point here": {
        **OURS,
        "Host": "evil.example:4711",
        "Origin": "http://evil.example:4711",
    },
    "a name without the port": {**OURS, "Host": "127.0.0.1"},
    "another port": {**OURS, "Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:80"},
    "another origin": {**OURS, "Origin": "https://evil.example"},
    "another server of this machine": {**OURS, "Origin": "http://127.0.0.1:8080"},
    "an origin without a name": {**OURS, "Origin": "null"},
    "our own name, the other origin": {**OURS, "Origin": "http://localhost:4711"},
    "a call without an origin": {"Host": "127.0.0.1:4711"},
    "a page of another site": {**OURS, "Sec-Fetch-Site": "cross-site"},
    "a page of the same site, another port": {**OURS, "Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
def test_others_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        GATE.enter("/secret/api/open", headers, sends=True)
    assert refused.value.code == 403


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/secre/", "/secrets/", "//", "/api/open", "/ünicode/", "/?token=secret"]
)
def test_a_wrong_token_finds_nothing(path: str) -> None:
    with pytest.raises(Refused) as refused:
        GATE.enter(path, OURS, sends=True)
    assert refused.value.code == 404


def test_tokens_are_long_and_new() -> None:
    assert len(new_token()) >= 32
    assert new_token() != new_token()

"""`metalloid.patterns.pattern` is `re.compile`, later."""

from __future__ import annotations

import re

import pytest

from metalloid.patterns import pattern

TEXT = "a1 b2\nc3"


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.match(TEXT)[0],
        lambda p: p.search(TEXT, 1)[1],
        lambda p: p.fullmatch("x9")["name"],
        lambda p: p.sub(r"<\1>", TEXT),
        lambda p: p.findall(TEXT),
        lambda p: [m.span() for m in p.finditer(TEXT)],
        lambda p: (p.pattern, p.flags, p.groups, dict(p.groupindex)),
    ],
)
def test_it_answers_as_a_compiled_one(call) -> None:
    given = (r"^(?P<name>[a-z])\d", re.MULTILINE)
    ours = pattern(*given)
    for _ in range(2):
        assert call(ours) == call(re.compile(*given))


def test_it_is_compiled_by_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or real(*given))
    one = pattern(rb"\d+")
    assert not compiled
    assert one.findall(b"1 22") == one.findall(b"1 22") == [b"1", b"22"]
    assert len(compiled) == 1

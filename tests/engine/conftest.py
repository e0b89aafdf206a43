"""Tests of the engine look at good code, unless they ask for another: baseline code has hardly an access in it, only
calls of functions that make them."""

import pytest


@pytest.fixture(autouse=True)
def _good_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", "0")

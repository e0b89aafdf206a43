"""SHA-256 without OpenSSL is the same function."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from metalloid import hashes


@pytest.mark.parametrize("length", [0, 1, 64, 10_000, hashes._LONG, hashes._LONG + 1])
@pytest.mark.parametrize("openssl", [False, True])
def test_it_says_what_hashlib_says(length: int, openssl: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not openssl:
        monkeypatch.delitem(sys.modules, "_hashlib", raising=False)
    data = bytes(n % 251 for n in range(length))
    made = hashes.sha256(data)
    copied = made.copy()
    copied.update(b"more")
    assert made.hexdigest() == hashlib.sha256(data).hexdigest()
    assert copied.digest() == hashlib.sha256(data + b"more").digest()


def test_a_python_without_its_own_takes_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "_OWN", "_no_such_module")
    hashes._maker.cache_clear()
    assert hashes._maker(False)(b"text").digest() == hashlib.sha256(b"text").digest()
    hashes._maker.cache_clear()


def test_openssl_is_loaded_for_what_is_long() -> None:
    code = """
import sys
from metalloid.hashes import _LONG, sha256
sha256(b"short"), print("_hashlib" in sys.modules)
sha256(b"", more=_LONG + 1), print("_hashlib" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

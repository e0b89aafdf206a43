"""SHA-256, for names and checksums.

`hashlib` loads OpenSSL, which takes a start 4 to 5 ms. Python has the same function itself, at half the speed: good for
what is short.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashlib import _Hash

_LONG = 1 << 18  # bytes
_OWN = "_sha2" if sys.version_info >= (3, 12) else "_sha256"


def sha256(data: bytes = b"", more: int = 0) -> _Hash:
    """As hashlib's. `more`: so many bytes are still to come."""
    made: _Hash = _maker(len(data) + more > _LONG or "_hashlib" in sys.modules)(data)
    return made


@cache
def _maker(openssl: bool) -> Any:
    if not openssl:
        try:
            return import_module(_OWN).sha256
        except ImportError:  # a Python that was built without
            pass
    return import_module("hashlib").sha256

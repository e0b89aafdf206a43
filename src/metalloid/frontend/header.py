"""The Metal header, precompiled once per math mode and kept in the cache.

Parsing it costs 0.1 s, loading it 0.02 s.
"""

from __future__ import annotations

import hashlib
from functools import cache as memoise
from importlib.metadata import version
from pathlib import Path

from metalloid import cache
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.source import MathMode

HEADER = clang.INCLUDE / "metalloid" / "metalloid.h"


def header_arguments(math: MathMode, all_swizzles: bool) -> tuple[str, ...]:
    """Flags that put the header in front of a source."""
    flags = clang.language(math, all_swizzles)
    key = hashlib.sha256(repr((flags, header_key(), clang.DEBUG)).encode()).hexdigest()

    def build(path: Path) -> None:
        result = clang.run([*flags, "-O2", *clang.DEBUG, "-emit-pch", "-o", str(path), str(HEADER)], "")
        if result.failed:
            raise DeviceError(f"the Metal header does not compile:\n{result.messages}")

    # clang compares time stamps of the header's files; their contents are in the key.
    return ("-fno-validate-pch", "-include-pch", str(cache.default().path(key, "pch", build)))


@memoise
def header_key() -> str:
    """A hash of the header's files and the compiler's version: part of every cache key."""
    state = hashlib.sha256(version("ziglang").encode())
    for path in sorted(clang.INCLUDE.rglob("*")):
        if path.is_file():
            state.update(str(path).encode())
            state.update(path.read_bytes())
    return state.hexdigest()

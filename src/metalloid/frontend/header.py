"""The Metal header, precompiled once per math mode and kept in the cache.

Parsing it costs 0.1 s, loading it 0.02 s. It can be built in the background while a source is read.
"""

from __future__ import annotations

from functools import cache as memoise
from pathlib import Path

from metalloid import background, cache
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.hashes import sha256
from metalloid.source import MathMode
from metalloid.stamps import stamp, stamps

HEADER = clang.INCLUDE / "metalloid" / "metalloid.h"


def header_arguments(math: MathMode, all_swizzles: bool) -> tuple[str, ...]:
    """Flags that put the header in front of a source."""
    background.wait(("header", math, all_swizzles))
    # The files are in the key; clang need not compare them again.
    return ("-fno-validate-pch", "-include-pch", str(_precompiled(math, all_swizzles)))


def begin(math: MathMode) -> None:
    """Build the header that most sources of a math mode need, unless it is there."""
    background.begin(("header", math, False), lambda: _precompiled(math, False))


def _precompiled(math: MathMode, all_swizzles: bool) -> Path:
    flags = clang.language(math, all_swizzles)
    key = sha256(repr((flags, header_key(), clang.DEBUG)).encode()).hexdigest()

    def build(path: Path) -> None:
        result = clang.run([*flags, "-O2", *clang.DEBUG, "-emit-pch", "-o", str(path), str(HEADER)], "")
        if result.failed:
            raise DeviceError(f"the Metal header does not compile:\n{result.messages}")

    return cache.default().path(key, "pch", build)


@memoise
def header_key() -> str:
    """What identifies the header's files and the compiler: part of every cache key.

    Sizes and times stand for contents: hashing them would cost more than a hit in the cache.
    """
    parts = (str(clang.INCLUDE), stamp(clang.executable()), stamps(clang.INCLUDE))
    return sha256(repr(parts).encode()).hexdigest()


def forget_header() -> None:
    """Look at the header's files again: they changed while this process ran."""
    header_key.cache_clear()

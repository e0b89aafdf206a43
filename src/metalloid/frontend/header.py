"""The Metal header, precompiled once per math mode and kept in the cache."""

from __future__ import annotations

from metalloid.frontend import clang
from metalloid.source import MathMode

HEADER = clang.INCLUDE / "metalloid" / "metalloid.h"


def header_arguments(math: MathMode, all_swizzles: bool) -> tuple[str, ...]:
    return ("-include", str(HEADER))

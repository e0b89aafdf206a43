"""What LLVM knows of this machine, and its own version."""

from __future__ import annotations

from functools import cache

from metalloid.llvm.library import call, told


@cache
def version() -> tuple[int, ...]:
    found = int(call("GetVersionInfo"))  # a byte for each part
    return tuple(found.to_bytes((found.bit_length() + 7) // 8, "big"))


def processor() -> str:
    return told("GetHostCPUName")[1]


def features() -> str:
    """What the processor can and cannot do, as a machine takes it, by name."""
    given, text = told("GetHostCPUFeatures")
    return ",".join(sorted(filter(None, text.split(",")), key=lambda word: word[1:])) if given else ""


def triple() -> str:
    """Of this process."""
    return told("GetProcessTriple")[1]


def default_triple() -> str:
    return told("GetDefaultTargetTriple")[1]

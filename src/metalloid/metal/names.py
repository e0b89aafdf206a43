"""The names of `Metal`: classes, functions, enumerations, structs."""

from __future__ import annotations

from functools import cache
from typing import Any

from metalloid.metal import (
    blit,
    commands,
    compute,
    counters,
    descriptors,
    device,
    enumerations,
    events,
    facts,
    foundation,
    indirect,
    memory,
    programs,
    reflecting,
    structs,
)
from metalloid.metal.objects import NSObject

_PARTS = (
    blit,
    commands,
    compute,
    counters,
    descriptors,
    device,
    events,
    facts,
    indirect,
    memory,
    programs,
    reflecting,
)
_DOMAINS = (
    "MTLLibraryErrorDomain",
    "MTLCommandBufferErrorDomain",
    "MTLBinaryArchiveDomain",
    "MTLCaptureErrorDomain",
    "MTLCounterErrorDomain",
    "MTLDynamicLibraryDomain",
    "MTLCommandBufferEncoderInfoErrorKey",
)


@cache
def classes() -> dict[str, Any]:
    """Metal's classes by name."""
    return {
        name: value
        for part in _PARTS
        for name, value in vars(part).items()
        if name.startswith("MTL") and isinstance(value, type) and issubclass(value, NSObject)
    }


@cache
def names() -> dict[str, Any]:
    """All of `Metal`, and of Foundation, which it brings along."""
    functions = {
        name: value
        for part in (device, structs)
        for name, value in vars(part).items()
        if name.startswith(("MTL", "NS")) and callable(value)
    }
    return {
        **foundation.NAMES,
        **enumerations.types(),
        **enumerations.values(),
        **{name: name for name in _DOMAINS},
        "MTLCommonCounterSetTimestamp": counters.NAME,
        "MTLCommonCounterTimestamp": "GPUTimestamp",
        **classes(),
        **functions,
    }

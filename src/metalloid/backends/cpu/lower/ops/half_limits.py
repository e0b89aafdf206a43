"""The least and the greatest of two halves, where a processor computes halves in float: LLVM calls a function for each
lane there, and also where both are widened before, which it takes back. So they are compared, and chosen."""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter

GREATER = {
    "maxnum": "olt",
    "maximumnum": "olt",
    "minnum": "ogt",
    "minimumnum": "ogt",
}  # when the second one is it


def half_limit(e: Emitter, name: str, lanes: int, a: str, b: str, numbers: bool = False) -> str:
    """The other number where one is a NaN; `numbers`: none is."""
    type, flag = (f"<{lanes} x {kind}>" if lanes else kind for kind in ("half", "i1"))
    second = e.put(f"fcmp {GREATER[name]} {type} {a}, {b}")
    if not numbers:
        second = e.put(f"or {flag} {second}, {e.put(f'fcmp uno {type} {a}, {a}')}")
    return e.put(f"select {flag} {second}, {type} {b}, {type} {a}")

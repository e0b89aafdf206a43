"""Atomics that are used like plain numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Table
from metalloid.records import replace

_CHANGES = {
    "+=": "atomic_fetch_add_explicit(&x, value, memory_order_relaxed)",
    "-=": "atomic_fetch_sub_explicit(&x, value, memory_order_relaxed)",
    "&=": "atomic_fetch_and_explicit(&x, value, memory_order_relaxed)",
    "|=": "atomic_fetch_or_explicit(&x, value, memory_order_relaxed)",
    "^=": "atomic_fetch_xor_explicit(&x, value, memory_order_relaxed)",
    "=": "atomic_store_explicit(&x, value, memory_order_relaxed)",
    "increment": "atomic_fetch_add_explicit(&x, 1, memory_order_relaxed)",
    "decrement": "atomic_fetch_sub_explicit(&x, 1, memory_order_relaxed)",
    "": "atomic_load_explicit(&x, memory_order_relaxed)",
}
_NAME = re.compile(r"\w+\Z")


def _told(diagnostic: Diagnostic, change: str) -> Diagnostic:
    call = _CHANGES.get(change)
    return replace(
        diagnostic,
        rule="M605",
        message="an atomic is read and changed by functions, not by operators",
        hint=f"write `{call}`" if call else "write a loop of atomic_compare_exchange_weak_explicit",
    )


def changed(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`count[i] += 1`: the message names the operator only, so what is on its left is looked up."""
    left = _indexed(context.line(diagnostic.file, diagnostic.line)[: diagnostic.column - 1])
    if not left:
        return None
    declared = re.compile(rf"\batomic(?:_\w+|\s*<[^<>]*>)\s*[*&]?\s*{left}\b")
    found = any(declared.search(text) for text in context.source.values())
    return _told(diagnostic, match["change"]) if found else None


def _indexed(text: str) -> str:
    """The name that a text ends with, but for its indices; empty where there is none. From the end: patterns try every
    way to part `a[0][1]*b[1][0]+...` into indices."""
    text, depth = text.rstrip(), 0
    while text and (depth or text[-1] == "]"):
        depth += (text[-1] == "]") - (text[-1] == "[")
        text = text[:-1] if depth else text[:-1].rstrip()
    found = _NAME.search(text)
    return found[0] if found else ""


def counted(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    return _told(diagnostic, match["change"])


def read(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    return _told(diagnostic, "")


_ATOMIC = r"'[^']*\batomic(?:_\w+|<[^']*>)'"
TABLE: Table = (
    (re.compile(r"no viable overloaded '(?P<change>[^']*=)'"), changed),
    (re.compile(rf"cannot (?P<change>increment|decrement) value of type {_ATOMIC}"), counted),
    (re.compile(rf"no viable conversion from {_ATOMIC} to"), read),
    (re.compile(rf"invalid operands to binary expression \({_ATOMIC} and '[^'*]*'\)"), read),
    (re.compile(rf"invalid operands to binary expression \('[^'*]*' and {_ATOMIC}\)"), read),
)

"""M401-M406: what numbers do wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from metalloid.backends.interpret.examiner import CONSTANT
from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.findings import Finding

_CALL = re.compile(r"(?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)\s*\(")
_NAMED_NAN = re.compile(r"\bNAN\b|\bnan[fl]?\s*\(|_NaN\b|\bas_type\s*<|0[xX]7[fF][cC]")
_TEST = re.compile(r"\b(isnan|isinf|isfinite|isnormal|isordered|isunordered)\s*\(")


def numbers(case: Case) -> Iterator[Finding]:
    for record in case.observation.records:
        say = _SAY.get(record.rule)
        if say is not None:
            if record.detail.get("operation") == CONSTANT and _NAMED_NAN.search(case.kernel.source.text):
                continue  # somebody wrote it down
            message, hint = say(case, record)
            nobody = {"thread": None, "threadgroup": None} if record.rule == "M406" else {}
            yield case.finding(record, message, hint, **nobody)


def tested_under_fast_math(case: Case) -> Iterator[Finding]:
    """M405 without a run: a test for NaN or infinity that fast math allows to be left out."""
    if case.kernel.source.math != "fast":
        return
    for place in case.code.places:
        line = case.line(place)
        found = _TEST.match(line[max(0, place.column - 1) :])
        if found:
            yield Finding(
                "M405",
                f"{found[1]}() under fast math, which lets the compiler assume that its answer is known",
                case.launch.kernel,
                place,
                hint='compile with math="relaxed" or "safe" (in Metal: MTLMathMode), or test the bits as an integer',
                excerpt=line,
            )


def _call(case: Case, record: Record) -> str:
    """The function that is called where it happened, if one is."""
    place = record.access.location
    found = _CALL.match(case.line(place), max(0, place.column - 1)) if place else None
    return found[1] if found else ""


def _arguments(case: Case, record: Record) -> int:
    """How many arguments the call there has, as far as it is on one line."""
    place = record.access.location
    found = _CALL.match(case.line(place), max(0, place.column - 1)) if place else None
    if place is None or found is None:
        return 0
    count, depth = 1, 0
    for mark in case.line(place)[found.end() :]:
        depth += (mark in "([{") - (mark in ")]}")
        if depth < 0:
            break
        count += mark == "," and depth == 0
    return count


def _shown(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("-" if value < 0 else "") + "infinity" if math.isinf(value) else f"{value:.6g}"


def _how(case: Case, record: Record) -> str:
    """The operation with its numbers: `1 / 0`."""
    called, operation = _call(case, record), record.detail.get("operation", "")
    values = [_shown(v) for v in record.detail.get("operands", ())]
    if called:
        if operation == called:
            return f"{called}({', '.join(values)})"
        given, arguments = [_shown(v) for v in record.detail.get("given", ())], _arguments(case, record)
        if len(given) < arguments:  # the others are constants, or the same
            return f"{called}(){' of ' * bool(given)}{' and '.join(given)}"
        return f"{called}({', '.join(given[: max(1, arguments)])})"
    if operation in "+-*/" and len(values) == 2:
        return f"{values[0]} {operation} {values[1]}"
    if operation in ("fma", "fmuladd") and len(values) == 3:
        return f"{values[0]} * {values[1]} + {values[2]}"
    if operation == "conversion":
        return f"the conversion of {values[0]}" if values else "a conversion"
    return f"{operation}({', '.join(values)})"


def _stored(case: Case, record: Record) -> str:
    return f"; {case.called(record.memory)} gets {_shown(record.detail['stored'])}"


def _born(case: Case, record: Record) -> tuple[str, str]:
    result = record.detail["result"]
    if record.detail["operation"] == CONSTANT:
        return (
            f"{case.called(record.memory)} gets NaN from numbers that stand in the kernel, as in 0 / 0: no input went"
            " into it",
            "look for a loop that has no rounds in this thread, and a division behind it: divide only where the divisor"
            " is not 0, or write 0 where nothing was added up",
        )
    what = "NaN" if math.isnan(result) else "an infinity"
    return f"{what} is born: {_how(case, record)}{_stored(case, record)}", _born_hint(case, record)


_HINTS = {
    "log": "log of 0 is -infinity and of a negative number NaN: add a small epsilon, or use max(x, epsilon)",
    "exp": "exp of more than 88 does not fit a float: limit what it is given, or, in a softmax, subtract the maximum of"
    " the row first",
    "sqrt": "sqrt of a negative number is NaN; rounding makes differences negative: use max(x, 0.0f)",
    "rsqrt": "rsqrt of 0 is infinity and of a negative number NaN: add epsilon before it",
    "pow": "pow of a negative number with a fraction as exponent is NaN, of 0 with a negative one infinity: guard it",
    "acos": "acos of more than 1 is NaN; rounding takes numbers past 1: use clamp(x, -1.0f, 1.0f)",
    "asin": "asin of more than 1 is NaN; rounding takes numbers past 1: use clamp(x, -1.0f, 1.0f)",
}


def _born_hint(case: Case, record: Record) -> str:
    called, operation = _call(case, record), record.detail.get("operation", "")
    operands = record.detail.get("operands", ())
    given = record.detail.get("given", ()) or operands
    if called.startswith("exp") and any(map(math.isnan, given)):
        return (
            "its argument is NaN already: a row that is masked altogether has -infinity as its maximum, and -infinity"
            " minus -infinity is NaN; where the maximum is -infinity, write 0 for the row"
        )
    for name, hint in _HINTS.items():
        if name in (called, called.rstrip("0123456789"), operation):
            return hint
    if operation == "/" and len(operands) == 2 and operands[1] == 0:
        return "the divisor is 0: add epsilon, or divide only where it is not 0"
    if operation in ("-", "+", "*", "/", "fma", "fmuladd") and any(map(math.isinf, operands)):
        return "infinities meet: where everything is masked (all -infinity), write 0 instead, or mask with -FLT_MAX / 2"
    return "the result is beyond the type: scale the operands first, or test them"


def _half(case: Case, record: Record) -> tuple[str, str]:
    return (
        f"half overflows (65504 is its largest number): {_how(case, record)}{_stored(case, record)}",
        "compute in float, and convert to half at the end if the result fits; or scale the inputs down first",
    )


def _digits(case: Case, record: Record) -> tuple[str, str]:
    d = record.detail
    return (
        f"a sum of {d['adds']} terms in {d['type']} loses digits: {d['got']:.6g}, where exact terms add up to"
        f" {d['exact']:.6g}; {case.called(record.memory)} gets it",
        f"accumulate in float and convert once: float sum = 0; ... = {d['type']}(sum)",
    )


def _wraps(case: Case, record: Record) -> tuple[str, str]:
    each = max(1, case.element_size(record.memory) or record.access.size)
    exact, actual = record.detail["exact"] // each, record.detail["actual"] // each
    name = case.called(record.memory)
    message = f"index arithmetic wraps around: element {actual} of {name}, where {exact} is meant"
    if exact < 0:
        subtracts = "-" in case.line(record.access.location).split("//")[0]
        return (
            message,
            "an unsigned number went below 0: test before subtracting, or compute in int and test for >= 0"
            if subtracts
            else "a negative number came into the index and became a very large unsigned one: test it for >= 0 first,"
            " or find out where it comes from",
        )
    return (
        message,
        "the product does not fit 32 bits: make one factor wide first, as in ulong(row) * width + column",
    )


def _infinite(case: Case, record: Record) -> tuple[str, str]:
    values = [_shown(v) for v in record.detail.get("operands", ())]
    which = next((v for v in values if "inf" in v or v == "NaN"), "an infinity")
    called = _call(case, record)
    where = f"{called}() is given {which}" if called else f"arithmetic on {which}"
    return (
        f"{where} under fast math, which assumes that there are no infinities and NaNs",
        'mask with a large finite number such as -FLT_MAX / 2, or compile with math="safe" (MLX: math_mode="safe")',
    )


def _order(case: Case, record: Record) -> tuple[str, str]:
    d = record.detail
    hint = "let the position decide instead of who comes first: atomic min or max, or one writer per element"
    if _call(case, record).startswith("atomic_store"):
        hint = f"where this sets a start value, put a threadgroup_barrier behind it; else {hint}"
    return (
        f"the result depends on the order of threads: {case.called(record.memory)}[{d['index']}] is"
        f" {d['forward']} when they run forward and {d['other']} {d['order']}",
        hint,
    )


_SAY = {
    "M401": _born,
    "M402": _digits,
    "M403": _half,
    "M404": _wraps,
    "M405": _infinite,
    "M406": _order,
}

"""Calls and operators whose arguments do not fit (M605), and names declared twice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Table
from metalloid.frontend.hints.syntax import commas_in_for
from metalloid.frontend.hints.words import VECTOR, bare_type
from metalloid.records import replace

_NO_CONVERSION = re.compile(r"no known conversion from '(.*?)' to '(.*?)' for (\w+) argument")


def no_match(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A call that fits no overload: the note says why."""
    name = match["name"]
    here = replace(diagnostic, length=len(name) if context.word_at(diagnostic) == name else diagnostic.length)
    if name.startswith("atomic_"):
        return replace(
            here,
            rule="M605",
            message=f"'{name}' takes a pointer to an atomic, values of its type, and memory_order_relaxed",
            hint="pass atomic_outputs=True to metal_kernel: its outputs are atomics then"
            if context.form == "mlx"
            else "declare the memory `device atomic_uint*` (or atomic_int, atomic_float)",
        )
    if name in ("threadgroup_barrier", "simdgroup_barrier"):
        message = f"'{name}' takes the memory that it is for"
        return replace(here, rule="M605", message=message, hint=f"write `{name}(mem_flags::mem_threadgroup)`")
    for note in notes:
        conflict = re.search(
            r"deduced conflicting types for parameter '\w+' \('(.*?)' vs\. '(.*?)'\)", note.message
        )
        if conflict:
            first, second = conflict.groups()
            return replace(
                here,
                rule="M605",
                message=f"'{name}' is called with `{first}` and `{second}`: both must have the same type",
                hint=f"convert one of them: `{bare_type(first)}(...)`",
            )
    if (counted := _miscounted(name, notes)) is not None:
        message, hint = counted
        return replace(here, rule="M605", message=message, hint=hint or here.hint)
    if name in GEOMETRY and (unfit := _no_vector(name, notes)) is not None:
        return replace(here, rule="M605", message=unfit[0], hint=unfit[1])
    reasons = [r for note in notes if (r := _NO_CONVERSION.search(note.message))]
    for reason in reasons if name.endswith("=") else ():
        if (found := between_vectors(reason[1], reason[2])) is not None:
            return replace(
                here, rule="M605", message=found, hint=f"convert it: `{bare_type(reason[2])}(...)`"
            )
    for reason in reasons[:1]:
        message = f"'{name}' does not take `{reason[1]}` as its {reason[3]} argument; expected `{reason[2]}`"
        return replace(here, rule="M605", message=message, hint=_converted(reason[1], reason[2]))
    if diagnostic.message.startswith(("call to constructor", "call to deleted constructor")):
        message = f"a `{name}` cannot be made from these arguments"
        return replace(
            here, rule="M605", message=message, hint="give one value, or exactly as many as it has elements"
        )
    if diagnostic.message.startswith("call to") and "ambiguous" in diagnostic.message:
        return replace(
            here,
            rule="M605",
            message=f"'{name}' fits several overloads: its arguments have different types",
            hint="give all arguments one type, as in `max(x, half(1.0))`, `min(n, uint(4))`",
        )
    return None


_COUNTS = re.compile(r"requires (?:at least |at most )?(\d+|single) argument")
_GIVEN = re.compile(r"but (\d+|no) (?:arguments? )?(?:was|were) provided")
_NUMBERS = {"single": "1", "no": "0"}
_ONE_VALUE = "it takes in every lane that comes by; there is no number of lanes, mask or old value to give"


def _miscounted(name: str, notes: Sequence[Diagnostic]) -> tuple[str, str] | None:
    """What to say of a call with too few or too many arguments, and a hint."""
    counts = {_NUMBERS.get(m[1], m[1]) for n in notes if (m := _COUNTS.search(n.message))}
    given = next((_NUMBERS.get(m[1], m[1]) for n in notes if (m := _GIVEN.search(n.message))), None)
    if len(counts) != 1 or given is None:
        return None
    wanted = counts.pop()
    one = wanted == "1" and int(given) > 1 and name.startswith(("simd_", "quad_"))
    return f"'{name}' takes {wanted} argument(s); {given} given", _ONE_VALUE if one else ""


GEOMETRY = frozenset(
    "dot cross length length_squared distance distance_squared normalize reflect refract faceforward".split()
)
_WITH = re.compile(r"\[with \w+ = (?P<type>\w+)(?:, N = (?P<n>\d))?")


def _no_vector(name: str, notes: Sequence[Diagnostic]) -> tuple[str, str] | None:
    """What to say of a geometric function that was not given vectors of floating-point numbers, and what to write."""
    found = next((m for n in notes if (m := _WITH.search(n.message))), None)
    given = found["type"] + (found["n"] or "3" * (name == "cross")) if found else ""
    kind = re.fullmatch(r"(u?(?:char|short|int|long)|bool)([234])", given)
    if kind:
        wide = f"float{kind[2]}"
        hint = f"convert it: `{wide}(...)`"
        if name == "dot":
            hint += "; for a sum of whole numbers write it out, `a.x * b.x + a.y * b.y`"
        return f"'{name}' takes vectors of float or half; `{given}` given", hint
    if re.fullmatch(r"float|half|bfloat|u?(?:char|short|int|long)", given):
        return f"'{name}' takes vectors; `{given}` given", _OF_NUMBERS.get(name, "")
    return None


_OF_NUMBERS = {
    "dot": "of two numbers it is `a * b`",
    "length": "of one number it is `abs(x)`",
    "distance": "of two numbers it is `abs(a - b)`",
    "normalize": "of one number it is `sign(x)`",
}


def _converted(given: str, expected: str) -> str:
    """What to write for an argument; functions of C and CUDA take addresses where Metal's take variables."""
    if given.endswith("*") and expected.endswith("&") and bare_type(given[:-1]) == bare_type(expected[:-1]):
        return "it takes the variable itself: leave out the `&`"
    return f"convert it: `{bare_type(expected)}(...)`"


def redefinition(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    line = context.line(diagnostic.file, diagnostic.line)
    if re.search(r"\bfor\s*\([^;)]*,[^;)]*,[^;)]*\)", line):
        return commas_in_for(diagnostic)
    first = next((note for note in notes if "previous" in note.message), None)
    where = f" on line {first.line}" if first else " above"
    what = "the kernel's parameter of that name" if context.parameter(match["name"]) else f"the one{where}"
    message = f"'{match['name']}' is declared a second time; it is declared already{where}"
    return replace(diagnostic, message=message, hint=f"rename it, or use {what}")


def operands(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    left, right = match[1], match[2]
    if (found := between_vectors(left, right)) is not None:
        return replace(
            diagnostic, rule="M605", message=found, hint=f"convert one side: `{bare_type(left)}(...)`"
        )
    message = f"no operator here takes `{left}` and `{right}`"
    if "*" in left or "*" in right:
        which = left if "*" in left else right
        return replace(diagnostic, message=message, hint=f"`{which}` is a pointer: index it, as in `p[i]`")
    hint = f"convert one side: `{bare_type(left)}(...)`"
    line = context.line(diagnostic.file, diagnostic.line)
    for pattern, better in _OF_INTEGERS if _REAL.search(left) or _REAL.search(right) else ():
        if pattern.match(line, max(0, diagnostic.column - 1)):
            hint = better
    return replace(diagnostic, rule="M605", message=message, hint=hint)


_REAL = re.compile(r"\b(?:float|half|bfloat|double)[234]?\b")
# Operators that floating-point numbers do not have.
_OF_INTEGERS = (
    (re.compile(r"%"), "the remainder of floating-point numbers is `fmod(x, y)`"),
    (
        re.compile(r"<<|>>|[&|^](?![&|])"),
        "convert to an integer, `int(x)`, or take the bits, `as_type<uint>(x)`",
    ),
)


def between_vectors(one: str, other: str) -> str | None:
    """What to say of two vectors that meet; None where they are not two different ones."""
    first, second = bare_type(one), bare_type(other)
    if first == second or not (VECTOR.fullmatch(first) and VECTOR.fullmatch(second)):
        return None
    return f"Metal does not convert vectors by itself, and these are `{first}` and `{second}`"


def arms(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`c ? a : b` of two types."""
    if (found := between_vectors(match[1], match[2])) is None:
        return None
    return replace(
        diagnostic, rule="M605", message=found, hint=f"convert one side: `{bare_type(match[1])}(...)`"
    )


def real_into_integers(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`int2(1) * 0.5f`: the operator is there to be refused (vec.h)."""
    return replace(
        diagnostic,
        rule="M605",
        message="a vector of integers and a floating-point number do not meet in an operator",
        hint="convert the vector, as in `float4(v) * x`, or the number, as in `v * int(x)`",
    )


def power(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    if "**" not in context.line(diagnostic.file, diagnostic.line)[max(0, diagnostic.column - 3) :]:
        return None
    return replace(
        diagnostic, rule="M601", message="Metal has no operator '**'", hint="write `pow(x, y)`, or `x * x`"
    )


def assertion(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """The text of a static_assert says it better than its condition."""
    return replace(diagnostic, message=match["text"]) if match["text"] else None


def order(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """Said by atomic.h."""
    return replace(
        diagnostic,
        rule="M613",
        message="Metal's atomics take memory_order_relaxed only",
        hint="write memory_order_relaxed, and a fence where order matters: "
        "`atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)`",
    )


def wide_atomic(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """Said by atomic.h."""
    return replace(
        diagnostic,
        rule="M613",
        message="Metal's atomic_ulong has a minimum and a maximum, and nothing else that changes it",
        hint="use atomic_min_explicit or atomic_max_explicit; for sums two atomic_uint, low and high half",
    )


def endless(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A function that calls itself whatever it is given."""
    return replace(
        diagnostic,
        rule="M614",
        message="this function calls itself on every way through it, and never ends",
        hint="return before the call where there is nothing left to do, or write a loop",
    )


def returned(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    return replace(
        diagnostic,
        rule="M605",
        message=f"'{match['name']}' is declared void and returns nothing",
        hint="a kernel writes what it has found to a buffer; another function is declared with the type it returns",
    )


TABLE: Table = (
    (re.compile(r"void function '(?P<name>[^']+)' should not return a value"), returned),
    (re.compile(r"all paths through this function will call itself"), endless),
    (re.compile(r"atomics are memory_order_relaxed"), order),
    (re.compile(r"an atomic of 64 bits has"), wide_atomic),
    (re.compile(r"static assertion failed[^:]*(?:'.*')?: (?P<text>.*)"), assertion),
    (re.compile(r"no matching (?:member )?function for call to '(?P<name>[^']+)'"), no_match),
    (re.compile(r"call to (?:member function |constructor of )?'(?P<name>[^']+)' is ambiguous"), no_match),
    (re.compile(r"call to deleted constructor of '(?P<name>[^']+)'"), no_match),
    (re.compile(r"no viable overloaded '(?P<name>[^']+)'"), no_match),
    (re.compile(r"no matching constructor for initialization of '(?P<name>[^']+)'"), no_match),
    (re.compile(r"redefinition of '(?P<name>[^']+)'"), redefinition),
    (re.compile(r"invalid operands to binary expression \('([^']+)' and '([^']+)'\)"), operands),
    (re.compile(r"incompatible operand types \('([^']+)' and '([^']+)'\)"), arms),
    (re.compile(r"overload resolution selected deleted operator"), real_into_integers),
    (re.compile(r"indirection requires pointer operand"), power),
)

"""Arithmetic that a checked run watches: divisors that are 0, and numbers that 8 or 16 bits do not hold.

Divisions are the front end's own operators, which tell a zero where they stand as `dv()` instead of `by()`
(operators.h; both are as long, so columns stay). Conversions to a narrow type that change a number are clang's to
test (`-fsanitize=implicit-*-integer-truncation`): only those that nobody wrote out, as in `ushort at = row * width`;
conversions of floats (`char q = round(x)`) are tested whoever wrote them out, and the checker looks at the text.
Its calls become markers, as those of `subscripts.py` do. Elements of narrow vectors are never promoted, so there is no
conversion to test: the header's own operators tell (`fitted` in operators.h) where `VECTORS` stands before a text.
"""

from __future__ import annotations

import re

from metalloid.ir.intrinsics import BOUNDS, FROM_FLOAT, FROM_UNSIGNED, narrow

_KINDS = "implicit-unsigned-integer-truncation,implicit-signed-integer-truncation,float-cast-overflow"
FLAGS = (f"-fsanitize={_KINDS}", f"-fsanitize-recover={_KINDS}")
VECTORS = "".join(
    f"template <> inline constexpr constant bool __mt::watched<{name}> = true;\n"
    for name in ("char", "signed char", "unsigned char", "short", "unsigned short")
)
_NARROW = re.compile(r"\b(?:u?short|u?char|u?int(?:8|16)_t)[234]?\b")
_DIVISION = re.compile(r"([/%]=? __mt::)by\(\)")
_HANDLER = "__ubsan_handle_(?:implicit_conversion|float_cast_overflow)"
_SPACE = r"(?: addrspace\(\d\))?"
_CALL = re.compile(
    rf"^.*call void @{_HANDLER}\(ptr{_SPACE} (?P<data>@[\w.]+), i64 (?P<value>[^,)]+)(?:, i64 [^)]+)?\)(?P<rest>.*)$",
    re.M,
)
_DECLARED = re.compile(rf"^declare void @{_HANDLER}\(.*\n", re.M)
_DATA = re.compile(
    rf"^(?P<name>@[\w.]+) = [^\n]*?, i32 \d+, i32 \d+ \}}, ptr{_SPACE} (?P<source>@[\w.]+), ptr{_SPACE}"
    r" (?P<type>@[\w.]+)(?:, i8 .*| \}.*)\n",
    re.M,
)
_TYPE = re.compile(
    r"^(?P<name>@[\w.]+) = [^\n]* \{ i16 (?P<kind>[01]), i16 (?P<info>\d+), \[\d+ x i8\] c\"'.*\n", re.M
)


def wanted(text: str) -> bool:
    """Whether a source speaks of numbers of 8 or 16 bits."""
    return bool(_NARROW.search(text))


def divisions(text: str) -> str:
    """A rewritten source whose divisions tell of zeros."""
    return _DIVISION.sub(r"\1dv()", text)


def told(ir: str) -> str:
    """The module with markers instead of clang's calls."""
    if not re.search(_HANDLER, ir):
        return ir
    types = {m["name"]: (m["kind"] == "1", int(m["info"])) for m in _TYPE.finditer(ir)}
    whole = (False, 0)
    codes = {
        m["name"]: _code(types.get(m["source"], whole), types.get(m["type"], whole))
        for m in _DATA.finditer(ir)
    }

    def marker(call: re.Match[str]) -> str:
        value, code = call["value"].removeprefix("noundef ").strip(), codes.get(call["data"], 0)
        if not code or not value.startswith("%"):  # a number that stands in the text was put there
            return ""
        return f"  call void @{BOUNDS}(i32 {code}, i64 {value}){call['rest']}"

    declared = "" if f"declare void @{BOUNDS}(" in ir else f"declare void @{BOUNDS}(i32, i64)\n"
    made = _DECLARED.sub(declared, _DATA.sub("", _CALL.sub(marker, ir)))
    return _TYPE.sub(lambda m: m[0] if _used(m["name"], made) else "", made)


def _code(source: tuple[bool, int], target: tuple[bool, int]) -> int:
    """What stands for a conversion in a marker; clang gives the logarithm of an integer's width and whether it is
    signed, and the width of a float, whose bits are the value then."""
    width, signed = 1 << (target[1] >> 1), target[1] & 1
    if width not in (8, 16):
        return 0
    lower = 0 if source[1] & 1 else FROM_UNSIGNED
    if source[0]:
        lower = FROM_FLOAT.get(source[1], 0)
    return narrow(width, bool(signed)) - lower


def _used(name: str, ir: str) -> bool:
    return len(re.findall(rf"{re.escape(name)}(?![\w.])", ir)) > 1

"""Indices that leave a dimension of an array, told by the compiler's own tests.

Clang tests every index of an array whose size it knows where it is asked to (`-fsanitize=array-bounds`), before the
optimiser leaves out what has no defined meaning. Its calls become an intrinsic, `__mt_check_bounds(size, index)`: the
markers of checked runs. Memory of one axis that threads share is watched anyway; so only sources are tested that have
arrays of several axes, or private ones.
"""

from __future__ import annotations

import re

from metalloid.ir.intrinsics import BOUNDS

# An array at the end of a struct has the size it says, too.
FLAGS = ("-fsanitize=array-bounds", "-fsanitize-recover=array-bounds", "-fstrict-flex-arrays=3")
_TWO_AXES = re.compile(r"\w\s*\[[^\[\]\n]*\]\s*\[")
_PRIVATE = re.compile(
    r"^(?!.*\bthreadgroup\b).*?\b(?!return\b|else\b)[A-Za-z_][\w:]*(?:<[^<>\n]*>)?\s+\w+\s*\[[^\[\]\n]+\]\s*[;=,{]",
    re.M,
)
_HANDLER = "__ubsan_handle_out_of_bounds"
_CALL = re.compile(
    rf"call void @{_HANDLER}\(ptr(?: addrspace\(\d\))? (?P<data>@[\w.]+), i64 (?P<index>[^)]+)\)"
)
_DECLARED = re.compile(rf"^declare void @{_HANDLER}\(.*i64\)", re.M)
_DATA = re.compile(
    r"^(?P<name>@[\w.]+) = [^\n]*?, i32 \d+, i32 \d+ \}, ptr(?: addrspace\(\d\))? (?P<type>@[\w.]+),", re.M
)
_TYPE = re.compile(r"^(?P<name>@[\w.]+) = [^\n]*? c\"'(?P<text>[^\"]*)\\00\" \}", re.M)
_SIZE = re.compile(r"\[(\d+)\]")


def wanted(text: str) -> bool:
    """Whether a source has arrays whose indices are to be tested."""
    return bool(_TWO_AXES.search(text) or _PRIVATE.search(text))


def told(ir: str) -> str:
    """The module with markers instead of clang's calls."""
    if _HANDLER not in ir:
        return ir
    types = {m["name"]: m["text"] for m in _TYPE.finditer(ir)}
    sizes = {m["name"]: _size(types.get(m["type"], "")) for m in _DATA.finditer(ir)}
    made = _CALL.sub(lambda m: f"call void @{BOUNDS}(i32 {sizes.get(m['data'], 0)}, i64 {m['index']})", ir)
    had = f"declare void @{BOUNDS}(" in made  # by divisions, or narrow numbers
    if had:
        made = re.sub(rf"^declare void @{_HANDLER}\(.*\n", "", made, flags=re.M)
    made = _DECLARED.sub(f"declare void @{BOUNDS}(i32, i64)", made)
    return "".join(line for line in made.splitlines(keepends=True) if not _unused(line, sizes, types))


def _size(type: str) -> int:
    found = _SIZE.search(type)
    return int(found[1]) if found else 0


def _unused(line: str, sizes: dict[str, int], types: dict[str, str]) -> bool:
    """Whether a line only describes an array to the calls that are gone."""
    name = line.split(" = ", 1)[0]
    return name in sizes or name in types or line.startswith("@.src")

"""Private arrays that are read or written as something wider: they stay memory, so that a run sees where.

`*(thread float4*)(a + 4)` of an array of bytes is no multiple of 16. With an index that the compiler knows, the
optimiser takes the array apart into values, and no access is left that could be told (M103). Before it such an array is
given uses, empty pieces of assembly that may change it, which go when the optimiser is done (`early.without_uses`).
"""

from __future__ import annotations

import re

from metalloid.frontend.unset.early import USE
from metalloid.frontend.unset.lines import DEBUG, NAME, Line, bits, parse
from metalloid.frontend.unset.pointers import pointers

_FUNCTION = re.compile(r"^define [^\n]*\{\n(?P<body>.*?)^\}", re.M | re.S)
_COPIED = re.compile(rf"ptr(?: addrspace\(\d\))? [^%@,]*?align (?P<align>\d+) (?P<of>{NAME})")
_ARRAY = re.compile(r"\[\d+ x (.+)\]")
_MAY_CHANGE = "nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)"
_WIDE = re.compile(r"\balign (?:[48]|16)\b")


def with_uses(ir: str) -> str:
    """The module before the optimiser, with uses of such arrays around each access that asks more than they do."""

    def changed(found: re.Match[str]) -> str:
        start = found.start("body") - found.start()
        return f"{found[0][:start]}{_body(found['body'])}}}"

    return _FUNCTION.sub(changed, ir)


def _body(body: str) -> str:
    if not _WIDE.search(body) or " = alloca [" not in body:
        return body
    texts = [(text, parse(text)) for text in body.splitlines()]
    known = pointers([(text, line) for text, line in texts if line is not None])
    made: list[str] = []
    for text, line in texts:
        uses: list[str] = []
        for pointer, align in _asked(text, line) if line is not None else ():
            array = known.base.get(pointer, "")
            if array and pointer != array and 0 < _natural(known.types[array]) < align:
                debug = DEBUG.search(text)
                uses.append(f"  {USE}(ptr addrspace(5) {array}) {_MAY_CHANGE}{debug[0] if debug else ''}\n")
        made += [*uses, f"{text}\n", *uses]
    return "".join(made)


def _asked(text: str, line: Line) -> list[tuple[str, int]]:
    """The pointers that an access goes through, with the alignment that it asks for."""
    if line.form in ("load", "store"):
        return [(line.of, int(line.align))]
    return [(m["of"], int(m["align"])) for m in _COPIED.finditer(text)] if line.form == "copy" else []


def _natural(type: str) -> int:
    """What an array of numbers or vectors is aligned to by its elements, in bytes; 0 of anything else."""
    found = _ARRAY.fullmatch(type)
    while found:
        type = found[1]
        found = _ARRAY.fullmatch(type)
    return 1 << (bits(type) // 8 - 1).bit_length() if bits(type) else 0

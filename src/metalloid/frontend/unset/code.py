"""The code of a checked kernel with twins of its private variables, which say what of them was set.

A twin has its variable's shape. Stores set its bytes, copies copy them, a declaration without a value clears them; a
value that is loaded brings its twin along through variables and choices. Where it is computed with, compared, or
leaves private memory, the twin is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from metalloid.frontend.unset.flow import flow
from metalloid.frontend.unset.lines import elements, parse
from metalloid.frontend.unset.pointers import pointers
from metalloid.frontend.unset.writer import ASK, Writer
from metalloid.ir.intrinsics import BOUNDS, UNSET

_NODE = re.compile(r'^(!\d+) = !\{!"auto-init"\}', re.M)
_STRUCT = re.compile(r'^(%(?:"[^"]+"|[\w.$-]+)) = type (<?\{.*\}>?)$', re.M)
_FUNCTION = re.compile(r"^define [^\n]*\{\n(?P<body>.*?)^\}", re.M | re.S)
_ASKED = f"""
define internal void @{ASK}(i1 %unset, i64 %index) alwaysinline convergent nounwind {{
  br i1 %unset, label %tell, label %end

tell:
  call void @{BOUNDS}(i32 {UNSET}, i64 %index) nomerge
  br label %end

end:
  ret void
}}
"""
_TELLS = f"declare void @{BOUNDS}(i32, i64)\n"
_FILLS = "declare void @llvm.memset.p5.i64(ptr addrspace(5) writeonly captures(none), i8, i64, i1 immarg)\n"


def watched(ir: str) -> str | None:
    """The module with twins; None where no variable can be followed."""
    node = _NODE.search(ir)
    if node is None:
        return None
    annotated = f", !annotation {node[1]}"
    structs = {m[1]: elements(m[2]) for m in _STRUCT.finditer(ir)}
    changed = False

    def body(found: re.Match[str]) -> str:
        nonlocal changed
        if annotated not in found["body"]:
            return found[0]
        made = _with_twins(found["body"], annotated, structs)
        changed |= made is not None
        start = found.start("body") - found.start()
        return found[0] if made is None else f"{found[0][:start]}{made}}}"

    made = _FUNCTION.sub(body, ir)
    if not changed:
        return None
    made = re.sub(r"^(attributes #\d+ = \{.*?) noinline\b", r"\1", made, flags=re.M)
    declared = "".join(line for line in (_TELLS, _FILLS) if line.partition("(")[0] not in ir)
    start = made.index("\ndeclare ")
    return f"{made[:start]}{_ASKED}\n{declared}{made[start:]}"


def _with_twins(body: str, annotated: str, structs: Mapping[str, Sequence[str]]) -> str | None:
    texts = [(text, parse(text)) for text in body.splitlines()]
    lines = [(text, line) for text, line in texts if line is not None]
    known = pointers(lines)
    found = flow(lines, known, annotated, structs)
    if not found.variables:
        return None
    writer = Writer(known, found, annotated)
    return "".join(f"{line}\n" for text, parsed in texts for line in writer.around(text, parsed))

"""The text of a module of vector code: types, constants, declarations, functions."""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.codegen import LOOPS
from metalloid.backends.cpu.lower.access import scopes
from metalloid.backends.cpu.lower.ops.constants import initial
from metalloid.backends.cpu.lower.output import Output
from metalloid.ir.tokens import quote
from metalloid.ir.write import write_value
from metalloid.patterns import pattern


def module_text(out: Output, texts: list[str], driver: str) -> str:
    constants = []
    for g in out.module.globals:
        if g.space in (1, 4) and g.constant and g.initializer is not None:
            held = _in_one_space(f"{g.type} {write_value(initial(out, g.initializer))}")
            constants.append(f'@"{g.name}" = internal constant {held}, align {max(g.align, 16)}')
    types = [f"{quote('%', t.name)} = type {_in_one_space(str(t.body))}" for t in out.module.types]
    if abi.OUTSIDE in out.declared:
        constants.append(_constant_ranges(out))
    parts = [*types, *constants, *out.declared.values(), *out.helpers.values(), *texts, driver]
    meta = [
        "!0 = !{}",
        '!1 = !{!"branch_weights", i32 100000, i32 1}',
        '!2 = !{!"branch_weights", i32 1, i32 100000}',
        "!3 = !{i32 1}",
        "!4 = !{i64 4}",
        "!5 = distinct !{!5, !6}",
        '!6 = !{!"llvm.loop.vectorize.enable", i1 false}',
        *scopes.nodes(out),
    ]
    head = [LOOPS] if out.lanes.width == 1 and out.check is None and not out.suspends else []
    return "\n".join([*head, *parts, *meta]) + "\n"


def _in_one_space(text: str) -> str:
    """Types and initial values without address spaces, which vector code does not have; strings stay."""
    return _SPACE.sub(lambda found: found[0] if found[0].startswith('"') else "", text)


def _constant_ranges(out: Output) -> str:
    """Where the constant tables lie, for pointers that may point into one; the last entry is empty."""
    found = [
        f'{{ ptr, i64 }} {{ ptr @"{g.name}", i64 {out.layout.size(g.type)} }}'
        for g in out.module.globals
        if g.space in (1, 4) and g.constant and g.initializer is not None
    ]
    entries = ", ".join([*found, "{ ptr, i64 } zeroinitializer"])
    return f"@{abi.CONSTANTS} = constant [{len(found) + 1} x {{ ptr, i64 }}] [{entries}]"


_SPACE = pattern(r'"[^"]*"| addrspace\([14]\)')

"""The total of sums that stand side by side (`transforms/partial_sums.py`), by halves; the greatest of many, too.

They are put into registers one behind the other, so that LLVM keeps them in registers all along their loop; written as
sums of two, it would take them two by two.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.ops.half_limits import half_limit
from metalloid.backends.cpu.lower.results import result, varies
from metalloid.ir import Instruction
from metalloid.transforms.folds import CHOOSES, SUM
from metalloid.transforms.partial_sums import kind_of

FEW = 8  # sums; four are those of elements that are looked up, which fill no register
_SHORT = {"float": "f32", "half": "f16", "double": "f64"}


def partial_total(e: Emitter, i: Instruction) -> None:
    kind, fold, many = lowered(i.type), kind_of(i), varies(e, i)
    lanes = min(len(i.operands), e.out.target.vector_bytes // e.out.layout.size(i.type))
    if e.registers is not None and (registers := e.registers.of(i)) is not None:
        result(e, i, False, total(e, fold, kind, _halved(e, fold, kind, lanes, registers), lanes))
        return
    parts = [e.ref(o, many) for o in i.operands]
    if many or len(parts) < FEW:
        result(e, i, many, _halved(e, fold, kind, e.width if many else 0, parts))
        return
    vectors = [_register(e, kind, parts[n : n + lanes]) for n in range(0, len(parts), lanes)]
    result(e, i, False, total(e, fold, kind, _halved(e, fold, kind, lanes, vectors), lanes))


def total(e: Emitter, fold: str, kind: str, whole: str, lanes: int) -> str:
    """Of the lanes of a register."""
    while lanes > 1:
        lanes //= 2
        low, high = (pick(e, kind, whole, 2 * lanes, list(range(n, n + lanes))) for n in (0, lanes))
        whole = both(e, fold, kind, lanes, low, high)
    return e.put(f"extractelement <1 x {kind}> {whole}, i64 0")


def _register(e: Emitter, kind: str, parts: list[str]) -> str:
    total = "poison"
    for n, part in enumerate(parts):
        total = e.put(f"insertelement <{len(parts)} x {kind}> {total}, {kind} {part}, i64 {n}")
    return total


def _halved(e: Emitter, fold: str, kind: str, lanes: int, parts: list[str]) -> str:
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [both(e, fold, kind, lanes, parts[n], parts[n + half]) for n in range(half)]
    return parts[0]


def both(e: Emitter, fold: str, kind: str, lanes: int, a: str, b: str) -> str:
    """One of two; vectors of so many lanes, 0 for numbers."""
    type = f"<{lanes} x {kind}>" if lanes else kind
    if fold == SUM:
        return e.put(f"fadd {type} {a}, {b}")
    if fold in CHOOSES:
        test = e.put(f"fcmp {CHOOSES[fold]} {type} {a}, {b}")
        return e.put(f"select {f'<{lanes} x i1>' if lanes else 'i1'} {test}, {type} {b}, {type} {a}")
    if kind == "half" and not e.out.target.fuses_halves:
        return half_limit(e, fold, lanes, a, b)
    name = f"llvm.{fold}.{f'v{lanes}' if lanes else ''}{_SHORT[kind]}"
    e.out.declare(name, f"declare {type} @{name}({type}, {type})")
    return e.put(f"call {type} @{name}({type} {a}, {type} {b})")

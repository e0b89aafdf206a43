"""Sums of products of bytes, four for each number of 32 bits (`transforms/byte_dots.py`), by the processor's own
instruction; and shifts of all bytes of a word, which are one instruction where bytes can be shifted."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.transpose import part
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.results import result, varies
from metalloid.ir import Instruction
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass
from metalloid.transforms.byte_dots import DOT
from metalloid.transforms.byte_loads import BYTES

_LOW = 0x01010101
_TOPS = f"splat (i32 {0x80808080 - (1 << 32)})"  # the highest bit of each byte


def byte_dot(e: Emitter, i: Instruction) -> None:
    signs = i.called.removeprefix(f"{DOT}.")
    total, first, second = i.operands
    if not varies(e, i):
        dot = _scalar(e, signs, e.scalar(first), e.scalar(second))
        result(e, i, False, e.put(f"add i32 {e.scalar(total)}, {dot}"))
        return
    lanes = e.out.target.lanes32
    if signs not in dict(e.out.target.byte_dots) and e.get(first).uniform:
        first, second = second, first  # what is added for the other sign is the same in all lanes then
    cut = _Cut(e, lanes)
    parts = []
    for start in range(0, e.width, lanes):
        x, y, before = (cut.part(o, start) for o in (first, second, total))
        parts.append(_dot(e, signs, before, x, y))
    result(e, i, True, concat(e, "i32", parts, lanes))


def _dot(e: Emitter, signs: str, total: str, x: str, y: str) -> str:
    """Of one register. Where the instruction takes one factor without a sign and one with: 128 more make a byte with
    its sign one without (only the highest bit changes), 128 less the other way; so much too much is taken off again.
    """
    words, own = f"<{e.out.target.lanes32} x i32>", dict(e.out.target.byte_dots)
    if signs in own:
        return _instruction(e, own[signs], total, x, y)
    moved, other = e.put(f"xor {words} {x}, {_TOPS}"), _TOPS
    if signs == "ss":
        made = _instruction(e, own["us"], total, moved, y)
        more = _instruction(e, own["us"], "zeroinitializer", other, y)
    else:
        made = _instruction(e, own["us"], total, y, moved)
        more = _instruction(e, own["us"], "zeroinitializer", y, other)
    return e.put(f"sub {words} {made}, {more}")


def _instruction(e: Emitter, name: str, total: str, x: str, y: str) -> str:
    lanes = e.out.target.lanes32
    sums, bytes = f"<{lanes} x i32>", f"<{BYTES * lanes} x i8>"
    e.out.declare(name, f"declare {sums} @{name}({sums}, {bytes}, {bytes})")
    a, b = (e.put(f"bitcast {sums} {v} to {bytes}") for v in (x, y))
    return e.put(f"call {sums} @{name}({sums} {total}, {bytes} {a}, {bytes} {b})")


@dataclass
class _Cut:
    """Vectors, register by register."""

    e: Emitter
    lanes: int

    def part(self, value: Value, start: int) -> str:
        e, kind = self.e, f"<{self.lanes} x i32>"
        made = e.get(value)
        if made.uniform:
            first = e.put(f"insertelement {kind} poison, i32 {made.base}, i64 0")
            return e.put(f"shufflevector {kind} {first}, {kind} poison, {kind} zeroinitializer")
        return part(e, "i32", e.vector(value), start, self.lanes)


def _scalar(e: Emitter, signs: str, a: str, b: str) -> str:
    """Of one lane, or of all where they agree."""
    wide = []
    for sign, word in zip(signs, (a, b), strict=True):
        bytes = e.put(f"bitcast i32 {word} to <{BYTES} x i8>")
        cast = "sext" if sign == "s" else "zext"
        wide.append(e.put(f"{cast} <{BYTES} x i8> {bytes} to <{BYTES} x i32>"))
    product = e.put(f"mul <{BYTES} x i32> {wide[0]}, {wide[1]}")
    name = f"llvm.vector.reduce.add.v{BYTES}i32"
    e.out.declare(name, f"declare i32 @{name}(<{BYTES} x i32>)")
    return e.put(f"call i32 @{name}(<{BYTES} x i32> {product})")


def shifted_bytes(e: Emitter, i: Instruction) -> str | None:
    """A mask of a shifted word that leaves nothing of one byte in another, as a shift of bytes; None for others."""
    value, mask = i.operands
    if not (isinstance(mask, Int) and str(i.type) == "i32" and e.out.target.shifts_bytes):
        return None
    made = e.function.definitions.get(value.name) if isinstance(value, Local) else None
    if made is None or made.opcode != "lshr" or not isinstance(made.operands[1], Int):
        return None
    if e.function.home[made.name] != e.block:  # what was shifted is not known here
        return None
    by, bytes = made.operands[1].value, mask.value.to_bytes(BYTES, "little")
    if not 0 < by < 8 or max(bytes) > 0xFF >> by:
        return None
    kind, words = f"<{BYTES * e.width} x i8>", e.vt("i32")
    word = e.put(f"bitcast {words} {e.vector(made.operands[0])} to {kind}")
    moved = e.put(f"lshr {kind} {word}, splat (i8 {by})")
    moved = e.put(f"bitcast {kind} {moved} to {words}")
    if mask.value == (0xFF >> by) * _LOW:
        return moved
    return e.put(f"and {words} {moved}, splat (i32 {mask.value})")

"""Log calls: every set lane hands its piece to the runtime, which puts the pieces of a thread together."""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import short
from metalloid.ir.values import Bytes, Expression, Global, Int, Value

BEGIN, INTEGER, REAL, END = 0, 1, 2, 3


def log(e: Emitter, i: Instruction) -> None:
    name = short(i.called).removeprefix("log_")
    e.out.declare(abi.LOG, f"declare void @{abi.LOG}(ptr, i32, i64, i32, i32, i32, i32)")
    if name == "begin":
        level = i.operands[1]
        number = _format(e, i.operands[0]) * 16 + (level.value if isinstance(level, Int) else 0)
        _each(e, BEGIN, str(number))
    elif name == "end":
        _each(e, END, "0")
    elif name == "f32":
        bits = e.ref(i.operands[0], e.width > 1)
        t = (lambda k: e.vt(k)) if e.width > 1 else (lambda k: k)
        whole = e.put(f"bitcast {t('float')} {bits} to {t('i32')}")
        _each(e, REAL, None, e.put(f"zext {t('i32')} {whole} to {t('i64')}"))
    else:
        t = (lambda k: e.vt(k)) if e.width > 1 else (lambda k: k)
        ref = e.ref(i.operands[0], e.width > 1)
        if name == "i32":
            ref = e.put(f"sext {t('i32')} {ref} to {t('i64')}")
        _each(e, INTEGER, None, ref)


def _each(e: Emitter, what: int, number: str | None, vector: str | None = None) -> None:
    if e.width == 1:
        _call(e, what, number or vector or "0", "0")
        return
    for lane in e.lanes_loop(e.mask):
        value = number or e.put(f"extractelement {e.vt('i64')} {vector}, i32 {lane}")
        _call(e, what, value, lane)


def _call(e: Emitter, what: int, value: str, lane: str) -> None:
    index = e.put(f"add i32 %first, {lane}")
    e.do(
        f"call void @{abi.LOG}(ptr %launch, i32 {what}, i64 {value}, i32 {index}, i32 %gx, i32 %gy, i32 %gz)"
    )


def _format(e: Emitter, value: Value) -> int:
    """The number of a format string among those of the kernel."""
    text = ""
    target: Value = value.operands[0] if isinstance(value, Expression) else value
    if isinstance(target, Global):
        content = e.out.module.variable[target.name].initializer
        if isinstance(content, Bytes):
            text = content.data.split(b"\0")[0].decode("utf-8", "replace")
    if text not in e.out.formats:
        e.out.formats.append(text)
    return e.out.formats.index(text)

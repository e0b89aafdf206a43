"""Messages of a kernel: pieces in memory of the GPU, each with the thread that wrote it, put together by the host."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence

from metalloid.backends.base import LogMessage
from metalloid.backends.cuda.memory import Memory
from metalloid.backends.cuda.record import LOG, LogPiece
from metalloid.ir import Instruction, Module
from metalloid.ir.intrinsics import short
from metalloid.ir.types import I32, I64
from metalloid.ir.values import Bytes, Expression, Global, Int, Local, Value

BEGIN, INTEGER, REAL, END = range(4)
MOST = 1 << 18  # pieces of one launch; what comes after them is lost
_PIECE = ctypes.sizeof(LogPiece)


def format_of(module: Module, value: Value) -> str:
    """The text of a format string."""
    target = value.operands[0] if isinstance(value, Expression) else value
    content = module.variable[target.name].initializer if isinstance(target, Global) else None
    return content.data.split(b"\0")[0].decode("utf-8", "replace") if isinstance(content, Bytes) else ""


def piece(
    i: Instruction, number: Callable[[Value], int], name: Callable[[str], str]
) -> tuple[int, Value, list[Instruction]]:
    """What a log call writes: the kind of piece, 64 bits, and the code that makes them."""
    match short(i.called).removeprefix("log_"):
        case "begin":
            level = i.operands[1]
            return (
                BEGIN,
                Int(I64, number(i.operands[0]) * 16 + (level.value if isinstance(level, Int) else 0)),
                [],
            )
        case "end":
            return END, Int(I64, 0), []
        case "f32":
            bits, wide = name("bits"), name("wide")
            made = [
                Instruction("bitcast", I32, (i.operands[0],), bits),
                Instruction("zext", I64, (Local(bits, I32),), wide),
            ]
            return REAL, Local(wide, I64), made
        case "i32":
            wide = name("wide")
            return INTEGER, Local(wide, I64), [Instruction("sext", I64, (i.operands[0],), wide)]
        case _:
            return INTEGER, i.operands[0], []


class Messages:
    """Room on the GPU for what one launch says."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._size = LOG.size + MOST * _PIECE
        self.device = memory.gpu.take(self._size)
        self._head = ctypes.create_string_buffer(LOG.pack(0, MOST, 0), LOG.size)
        memory.gpu.upload(self.device, ctypes.addressof(self._head), LOG.size)

    def free(self) -> None:
        self._memory.gpu.give_back(self.device, self._size)

    def tell(self, formats: Sequence[str], on_log: Callable[[LogMessage], None]) -> None:
        """Pass on what was said."""
        gpu = self._memory.gpu
        gpu.download(ctypes.addressof(self._head), self.device, LOG.size)
        count = min(LOG.unpack(self._head.raw)[0], MOST)
        if not count:
            return
        pieces = (LogPiece * count)()
        gpu.download(ctypes.addressof(pieces), self.device + LOG.size, count * _PIECE)
        for message in joined(pieces, formats):
            on_log(message)


def joined(pieces: Sequence[LogPiece], formats: Sequence[str]) -> Iterator[LogMessage]:
    """Messages from pieces: those of a thread are in its order, threads lie between each other."""
    begun: dict[tuple[int, int, int], tuple[str, int, list[int | float]]] = {}
    for one in pieces:
        thread = (one.thread[0], one.thread[1], one.thread[2])
        if one.what == BEGIN:
            begun[thread] = formats[one.value // 16], one.value % 16, []
        elif one.what == INTEGER:
            begun[thread][2].append(ctypes.c_int64(one.value).value)
        elif one.what == REAL:
            begun[thread][2].append(struct.unpack("<f", struct.pack("<I", one.value))[0])
        else:
            text, level, values = begun.pop(thread)
            yield LogMessage(text, level, tuple(values), thread)

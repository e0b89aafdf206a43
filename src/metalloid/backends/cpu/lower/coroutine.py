"""Gangs that wait at a barrier in the middle of their function.

Where lanes of a SIMD-group part before a barrier, some wait there and the others, later, somewhere else: no code
between two barriers is all that a gang has to run. So its function is a coroutine: at a barrier it stores
the barrier's number and gives control back; masks and values stay in its frame. A gang is one SIMD-group then,
which comes to a barrier with the lanes that are furthest behind, as on a GPU.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.output import Output
from metalloid.ir import Instruction

FRAME, RELEASE = "mt_frame", "mt_release"
_DECLARED = {
    "llvm.coro.id": "declare token @llvm.coro.id(i32, ptr readnone, ptr nocapture readonly, ptr)",
    "llvm.coro.size.i64": "declare i64 @llvm.coro.size.i64()",
    "llvm.coro.align.i64": "declare i64 @llvm.coro.align.i64()",
    "llvm.coro.begin": "declare ptr @llvm.coro.begin(token, ptr writeonly)",
    "llvm.coro.suspend": "declare i8 @llvm.coro.suspend(token, i1)",
    "llvm.coro.free": "declare ptr @llvm.coro.free(token, ptr nocapture readonly)",
    "llvm.coro.end": "declare void @llvm.coro.end(ptr, i1, token)",
    "llvm.coro.resume": "declare void @llvm.coro.resume(ptr)",
    "llvm.coro.destroy": "declare void @llvm.coro.destroy(ptr)",
    FRAME: f"declare ptr @{FRAME}(i64, i64)",
    RELEASE: f"declare void @{RELEASE}(ptr)",
}
START = (
    "  %frame.id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
    "  %frame.size = call i64 @llvm.coro.size.i64()",
    "  %frame.align = call i64 @llvm.coro.align.i64()",
    f"  %frame.memory = call ptr @{FRAME}(i64 %frame.size, i64 %frame.align)",
    "  %frame = call ptr @llvm.coro.begin(token %frame.id, ptr %frame.memory)",
)
END = (
    "  store i32 0, ptr %waits",
    "  br label %frame.last",
    "stopped:",
    "  store i32 -1, ptr %waits",
    "  br label %frame.last",
    "frame.last:",
    "  %frame.end = call i8 @llvm.coro.suspend(token none, i1 true)",
    "  switch i8 %frame.end, label %frame.out [ i8 1, label %frame.free ]",
    "frame.free:",
    "  %frame.held = call ptr @llvm.coro.free(token %frame.id, ptr %frame)",
    f"  call void @{RELEASE}(ptr %frame.held)",
    "  br label %frame.out",
    "frame.out:",
    "  call void @llvm.coro.end(ptr %frame, i1 false, token none)",
    "  ret ptr %frame",
)


def declare(out: Output) -> None:
    for name, text in _DECLARED.items():
        out.declare(name, text)


def suspend(e: Emitter, i: Instruction) -> None:
    """Wait at a barrier; sites begin with the barriers, in their order."""
    number = 1 + next(n for n, b in enumerate(e.out.barriers) if b is i)
    on = e.fresh_label("on")
    e.do(f"store i32 {number}, ptr %waits")
    told = e.put("call i8 @llvm.coro.suspend(token none, i1 false)")
    e.do(f"switch i8 {told}, label %frame.out [ i8 0, label %{on} i8 1, label %frame.free ]")
    e.label(on)

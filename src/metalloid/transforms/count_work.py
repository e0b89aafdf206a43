"""Let a kernel count its own work.

Every block that computes or touches device memory adds what it did to three 64-bit counters in a buffer at
an index the kernel does not use: floating-point operations, bytes read, bytes written. The engine folds the lanes of
such an addition, so counting costs one atomic per block and gang.
"""

from __future__ import annotations

from metalloid.ir import Block, Instruction, read, write
from metalloid.ir.intrinsics import BUFFER, ENTRY, MATRIX_PRODUCT, matrix_access
from metalloid.ir.types import I8, I32, I64, PTR, FloatType, IntType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value

COUNTERS = ("operations", "read", "written")
_DEVICE = PointerType(1)
_BASE = Local("mt.counters", _DEVICE)
_ONE = {"fadd", "fsub", "fmul", "fdiv", "frem"}
_CALLS = {"llvm.fma": 2, "llvm.fmuladd": 2, "llvm.sqrt": 1, "llvm.minnum": 1, "llvm.maxnum": 1}
_MATRIX_PRODUCT = 2 * 8 * 8 * 8 // 32  # per lane


def counted(text: str, index: int) -> str:
    """The IR of a kernel that also counts into the buffer at `index`."""
    module = read(text)
    function = module.function[ENTRY]
    blocks = [_with_counters(block) for block in function.blocks]
    calls = [
        Instruction("call", _DEVICE, (Int(I32, index),), "mt.counters", callee=Global(BUFFER, PTR)),
        *(
            Instruction("getelementptr", _DEVICE, (_BASE, Int(I64, 8 * n)), f"mt.counter.{name}", element=I8)
            for n, name in enumerate(COUNTERS)
        ),
    ]
    first = blocks[0]
    at = sum(i.opcode == "alloca" for i in first.instructions)
    blocks[0] = Block(first.name, (*first.instructions[:at], *calls, *first.instructions[at:]))
    made = module.declare(BUFFER, _DEVICE, (I32,)).with_function(function.with_blocks(tuple(blocks)))
    return write(made)


def _with_counters(block: Block) -> Block:
    done = work(block)
    added = tuple(
        Instruction(
            "atomicrmw",
            I64,
            (Local(f"mt.counter.{name}", _DEVICE), Int(I64, amount)),
            f"mt.count.{name}.{block.name}",
            predicate="add",
            ordering="monotonic",
            align=8,
        )
        for name, amount in zip(COUNTERS, done, strict=True)
        if amount
    )
    return Block(block.name, (*block.instructions[:-1], *added, block.terminator)) if added else block


def work(block: Block) -> tuple[int, int, int]:
    """What one thread does in a block: operations, bytes of device memory read, bytes written."""
    operations = reads = writes = 0
    for i in block.instructions:
        if i.opcode in _ONE:
            operations += 1
        elif i.opcode == "load" and _on_device(i.operands[0]):
            reads += _bytes(i.type)
        elif i.opcode == "store" and _on_device(i.operands[1]):
            writes += _bytes(i.operands[0].type)
        elif i.opcode == "atomicrmw" and _on_device(i.operands[0]):
            reads, writes = reads + _bytes(i.type), writes + _bytes(i.type)
        elif i.opcode == "call":
            operations += _of_call(i)
            matrix = matrix_access(i.called)
            if matrix is not None and matrix.space == "device":
                moved = 2 * matrix.size  # two elements per lane
                reads += 0 if matrix.store else moved
                writes += moved if matrix.store else 0
    return operations, reads, writes


def _of_call(i: Instruction) -> int:
    if i.called == MATRIX_PRODUCT:
        return _MATRIX_PRODUCT
    if not isinstance(i.type, FloatType):
        return 0
    return _CALLS.get(i.called.rpartition(".")[0], 0)


def _on_device(pointer: Value) -> bool:
    return isinstance(pointer.type, PointerType) and pointer.type.space in (1, 4)


def _bytes(type: Type) -> int:
    return -(-type.bits // 8) if isinstance(type, IntType | FloatType) else 8

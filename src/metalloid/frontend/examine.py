"""Look over a compiled kernel: what it does with each buffer, what memory it needs, what must not be left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metalloid.errors import Diagnostic
from metalloid.frontend.names import EXCESS
from metalloid.frontend.refuse import chosen_at_run_time, recursion
from metalloid.frontend.spaces import is_generic
from metalloid.ir import intrinsics
from metalloid.ir.debug import location, plain_name
from metalloid.ir.intrinsics import ENTRY, LOG_BEGIN, MATRIX_LOADS, MATRIX_STORES, is_ours
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Function, GlobalVariable, Instruction, Module
from metalloid.ir.types import VectorType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.types import Access

THREADGROUP = 3
_PASS_ON = frozenset(("getelementptr", "phi", "select", "freeze", "bitcast"))
# Which operands an instruction reads through and writes through.
_READS = {"load": (0,), "atomicrmw": (0,), "cmpxchg": (0,)}
_WRITES = {"store": (1,), "atomicrmw": (0,), "cmpxchg": (0,)}
_CALL_READS = {MATRIX_LOADS: (0,), "llvm.memcpy": (1,), "llvm.memmove": (1,)}
_CALL_WRITES = {MATRIX_STORES: (0,), "llvm.memcpy": (0,), "llvm.memmove": (0,), "llvm.memset": (0,)}


def threadgroup_memory(module: Module) -> int:
    """Bytes of the kernel's own threadgroup variables, each rounded up to 16 as Metal does."""
    layout = data_layout(module.datalayout)
    sizes = (layout.size(g.type) for g in module.globals if g.space == THREADGROUP)
    return sum(-(-size // 16) * 16 for size in sizes)


def log_formats(module: Module) -> tuple[str, ...]:
    """The format strings of os_log calls, in the order of the code."""
    found: dict[str, None] = {}
    for instruction in module.function[ENTRY].instructions():
        if instruction.called == LOG_BEGIN:
            found[constant_string(module, instruction.operands[0])] = None
    return tuple(found)


def constant_string(module: Module, pointer: Value) -> str:
    """The NUL-terminated text a constant pointer points at."""
    variable = module.variable.get(getattr(pointer, "name", ""))
    initializer = variable.initializer if variable else None
    data = getattr(initializer, "data", b"")
    return bytes(data).split(b"\0")[0].decode("utf-8", "replace")


def accesses(function: Function) -> Mapping[tuple[str, int], Access]:
    """What the kernel does with the memory of each parameter: ("buffer", 2) -> "read"."""
    roots = provenance(function)
    reads: set[tuple[str, int]] = set()
    writes: set[tuple[str, int]] = set()

    def of(value: Value) -> frozenset[tuple[str, int]]:
        return roots.get(value.name, frozenset()) if isinstance(value, Local) else frozenset()

    for instruction in function.instructions():
        if instruction.opcode in _PASS_ON or instruction.opcode == "icmp":
            continue
        roots_of = list(map(of, instruction.operands))
        if not any(roots_of):
            continue
        read, written = _operands_touched(instruction)
        for index, touched in enumerate(roots_of):
            known = index in read or index in written
            if index in read or not known:
                reads |= touched
            if index in written or not known:  # an address that is stored or cast may be used anywhere
                writes |= touched
    names: dict[tuple[bool, bool], Access] = {
        (True, True): "read_write",
        (True, False): "read",
        (False, True): "write",
    }
    return {root: names[root in reads, root in writes] for root in reads | writes}


def _operands_touched(instruction: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if instruction.opcode != "call":
        return _READS.get(instruction.opcode, ()), _WRITES.get(instruction.opcode, ())
    read = next((v for k, v in _CALL_READS.items() if instruction.called.startswith(k)), ())
    written = next((v for k, v in _CALL_WRITES.items() if instruction.called.startswith(k)), ())
    return read, written


def provenance(function: Function) -> dict[str, frozenset[tuple[str, int]]]:
    """For each pointer, the parameters it can come from."""
    kinds = {intrinsics.BUFFER: "buffer", intrinsics.THREADGROUP: "threadgroup"}
    found: dict[str, frozenset[tuple[str, int]]] = {}
    for instruction in function.instructions():
        if instruction.called in kinds and isinstance(instruction.operands[0], Int):
            found[instruction.name] = frozenset([(kinds[instruction.called], instruction.operands[0].value)])
    passing = [i for i in function.instructions() if i.opcode in _PASS_ON]
    changed = True
    while changed:
        changed = False
        for instruction in passing:
            joined = frozenset().union(*(found.get(name, frozenset()) for name in instruction.uses))
            if joined != found.get(instruction.name, frozenset()):
                found[instruction.name] = joined
                changed = True
    return found


def left_over(module: Module) -> Iterator[Diagnostic]:
    """What the later stages cannot take: calls that were not inlined, generic pointers, assembly."""
    for function in module.functions:
        if function.blocks and function.name != ENTRY:
            say = recursion if _calls_itself(module, function) else chosen_at_run_time
            yield say(plain_name(function.name), *_first_place(module, function))
            return
    for instruction in module.function[ENTRY].instructions():
        if shared := _shared_variable(module, instruction):
            name = plain_name(shared.name)
            message = f"all threads would share the variable '{name}', which Metal does not allow"
            yield _problem(module, instruction, message)
            return
        if instruction.called == EXCESS:
            yield _problem(module, instruction, "more elements in braces than the vector has")
            return
        if instruction.opcode == "call" and not _is_known(instruction.called):
            yield _problem(
                module, instruction, f"a call of '{plain_name(instruction.called)}' has no definition"
            )
        elif is_generic(instruction):
            yield _problem(
                module, instruction, "the address space of this pointer cannot be told at compile time"
            )
        elif instruction.opcode == "alloca" and any(isinstance(o, Local) for o in instruction.operands):
            yield _problem(module, instruction, "the size of this array is not known at compile time")
        elif isinstance(instruction.type, VectorType):
            yield _problem(module, instruction, "the compiler left a vector operation here")


def _is_known(called: str) -> bool:
    """Whether a call is of LLVM's functions, or of ours."""
    return called.startswith("llvm.") or is_ours(called)


def _shared_variable(module: Module, instruction: Instruction) -> GlobalVariable | None:
    """A static or file-scope variable that is written."""
    names = [o.name for o in instruction.operands if o.__class__ is Global]
    if not names:
        return None
    named = map(module.variable.get, names)
    written = (v for v in named if v and not v.constant and v.space != THREADGROUP and v.initializer)
    return next(written, None)


def _calls_itself(module: Module, function: Function) -> bool:
    seen: set[str] = set()
    todo = [function.name]
    while todo:
        name = todo.pop()
        if name in module.function:
            called = {i.called for i in module.function[name].instructions() if i.opcode == "call"}
            if function.name in called:
                return True
            todo += called - seen
            seen |= called
    return False


def _problem(module: Module, instruction: Instruction, message: str) -> Diagnostic:
    place = location(module, instruction)
    hint = "point to one address space only, device or threadgroup or thread" if "pointer" in message else ""
    return Diagnostic(message, place.file if place else "", place.line if place else 0, hint=hint)


def _first_place(module: Module, function: Function) -> tuple[str, int]:
    for instruction in function.instructions():
        if place := location(module, instruction):
            return place.file, place.line
    return "", 0

"""Recursive functions as one loop with a stack of frames, in the entry.

Everything is inlined but functions that call themselves, directly or through each other (or did, before the optimiser
made loops of them). Their blocks become the
entry's; what they keep, their arguments and their results lie in frames of a private array, one for each call that is
open. A call fills the next frame, notes where to go on and goes to the function's first block; a return goes to the
dispatcher, which goes on there.

Calls get blocks of their own first, and LLVM turns every value that crosses blocks into memory: what a block needs of
others then comes from its frame. Frames are numbered below `DEPTH`; a deeper call writes outside of `OPEN`, which is
what guards see and tell (code without guards does not write there), and ends its thread: where no guard stops the
launch, frames that are taken twice would return to each other without an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metalloid.ir import Module, read, write
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import I1, I8, I32, VOID, ArrayType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.call_notes import OPEN

DEPTH = 64  # open calls of a thread
_PRIVATE = PointerType(5)
_STACK, _TOP = "calls.frames", "calls.top"
_DISPATCH, _DEEP = "calls.return", "calls.deep"
_FIRST = 8  # bytes of a frame in front of everything: where to go on


def with_stack(module: Module) -> Module:
    """The module with its recursive functions inside the entry."""
    left = frozenset(f.name for f in module.functions if f.blocks and f.name != ENTRY)
    if not left or ENTRY not in module.function or not _plainly_called(module, left):
        return module
    if _reached(module, left) != left:  # something else refers to the others: a table of constructors, say
        return module
    split = replace(
        module, functions=tuple(_calls_apart(f, left) if f.blocks else f for f in module.functions)
    )
    try:
        return _Merger(_in_memory(split), left).module()
    except RuntimeError:  # LLVM does not read it: whoever looks for what is left says what it is
        return module


def _plainly_called(module: Module, left: frozenset[str]) -> bool:
    """Whether all calls of these functions name them and give them their arguments: no pointer to one is around."""
    for i in (i for f in module.functions for i in f.instructions()):
        if any(isinstance(o, Global) and o.name in left for o in i.operands):
            return False
        if i.called in left and len(i.operands) != len(module.function[i.called].parameters):
            return False
    return True


def _reached(module: Module, left: frozenset[str]) -> frozenset[str]:
    """Those of these functions that the entry comes to."""
    found: set[str] = set()
    todo = [ENTRY]
    while todo:
        called = ({i.called for i in module.function[todo.pop()].instructions()} & left) - found
        found |= called
        todo += called
    return frozenset(found)


def _in_memory(module: Module) -> Module:
    """Values that cross blocks, put into memory by LLVM."""
    import llvmlite.binding as llvm  # only kernels that need it pay for the import

    parsed = llvm.parse_assembly(write(module))
    passes = llvm.create_new_module_pass_manager()
    passes.add_register_to_memory_pass()
    llvm.initialize_native_target()
    machine = llvm.Target.from_default_triple().create_target_machine()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return read(str(parsed))


def _calls_apart(function: Function, names: frozenset[str]) -> Function:
    """Each call of these functions in a block of its own."""
    blocks: list[Block] = []
    last: dict[str, str] = {}  # the last part of a block that was divided
    for block in function.blocks:
        name, count = block.name, 0
        code: list[Instruction] = []
        for i in block.instructions:
            if i.called in names:
                count += 1
                call, after = f"{block.name}.call{count}", f"{block.name}.after{count}"
                blocks.append(Block(name, (*code, _branch(call, i))))
                blocks.append(Block(call, (i, _branch(after, i))))
                name, code = after, []
            else:
                code.append(i)
        blocks.append(Block(name, tuple(code)))
        last[block.name] = name

    def moved(i: Instruction) -> Instruction:
        return i.relabel(last) if i.opcode == "phi" else i

    return function.with_blocks(tuple(Block(b.name, tuple(map(moved, b.instructions))) for b in blocks))


def _branch(target: str, like: Instruction) -> Instruction:
    return Instruction("br", VOID, labels=(target,), metadata=like.debug_only)


@dataclass(frozen=True)
class _Frame:
    """Where the parts of a function's frame lie."""

    arguments: Mapping[str, tuple[int, Type]]
    variables: Mapping[str, tuple[int, Type]]  # its allocas
    result: int
    size: int


def _frame(function: Function, layout: DataLayout) -> _Frame:
    at = _FIRST

    def room(type: Type) -> int:
        nonlocal at
        start = -(-at // 16) * 16 if layout.size(type) > 8 else -(-at // 8) * 8
        at = start + layout.size(type)
        return start

    arguments = {p.name: (room(p.type), p.type) for p in function.parameters}
    result = room(function.result) if function.result != VOID else 0
    kept = (i for i in function.instructions() if i.opcode == "alloca" and i.element is not None)
    variables = {i.name: (room(i.element), i.element) for i in kept if i.element is not None}
    return _Frame(arguments, variables, result, at)


class _Merger:
    def __init__(self, module: Module, names: frozenset[str]) -> None:
        self._module, self._names = module, names
        layout = data_layout(module.datalayout)
        self._functions = {name: module.function[name] for name in sorted(names)}
        self._frames = {name: _frame(f, layout) for name, f in self._functions.items()}
        self._size = -(-max(f.size for f in self._frames.values()) // 16) * 16
        self._resumes: list[str] = []  # by number: the block behind a call
        self._count = 0
        self._metadata = dict(module.metadata)
        self._inlined: dict[str, str] = {}

    def module(self) -> Module:
        entry = self._module.function[ENTRY]
        caller = next((i.debug for i in entry.instructions() if i.debug), "")
        blocks = [b for block in entry.blocks for b in self._block(block, None, "")]
        for name, function in self._functions.items():
            for block in function.blocks:
                placed = replace(
                    block, instructions=tuple(self._placed(i, caller) for i in block.instructions)
                )
                blocks += self._block(placed, self._frames[name], f"{name}.")
        first = Block(blocks[0].name, (*self._memory(), *blocks[0].instructions))
        whole = entry.with_blocks(
            (first, *blocks[1:], self._dispatcher(), Block(_DEEP, (Instruction("ret", VOID),)))
        )
        kept = tuple(f for f in self._module.functions if f.name not in self._names)
        return replace(self._module, functions=kept, metadata=self._metadata).with_function(whole)

    def _memory(self) -> Iterator[Instruction]:
        for name, type in (
            (_STACK, ArrayType(DEPTH * self._size, I8)),
            (_TOP, I32),
            (OPEN, ArrayType(DEPTH, I8)),
        ):
            yield Instruction("alloca", _PRIVATE, (Int(I32, 1),), name, element=type, align=16)
        yield _store(Int(I32, -1 & 0xFFFFFFFF), Local(_TOP, _PRIVATE))

    def _dispatcher(self) -> Block:
        code: list[Instruction] = []
        frame = self._frame_at(code, 0)
        where = self._load(code, frame, I32)
        top = self._load(code, Local(_TOP, _PRIVATE), I32)
        code.append(_store(self._add(code, top, -1), Local(_TOP, _PRIVATE)))
        cases = tuple(Int(I32, n) for n in range(len(self._resumes)))
        default = self._resumes[0]
        code.append(Instruction("switch", VOID, (where, *cases), labels=(default, *self._resumes)))
        return Block(_DISPATCH, tuple(code))

    def _block(self, block: Block, frame: _Frame | None, prefix: str) -> Iterator[Block]:
        """A block of the entry (without a frame), or of a function as the entry's."""
        call = next((n for n, i in enumerate(block.instructions) if i.called in self._names), None)
        rename = {label: prefix + label for label in block.terminator.labels}
        parts = (
            [block.instructions]
            if call is None
            else [block.instructions[:call], block.instructions[call + 1 :]]
        )
        names = [prefix + block.name, f"{prefix}{block.name}.resumed"]
        for n, part in enumerate(parts):
            code: list[Instruction] = []
            used = part if call is None or n else block.instructions[: call + 1]
            values = self._reachable(code, used, frame, prefix)
            if n == 1 and call is not None:
                called = block.instructions[call]
                result = self._frames[called.called].result
                if called.name:
                    code.append(
                        Instruction(
                            "load",
                            called.type,
                            (self._at(code, self._frame_at(code, 1), result),),
                            prefix + called.name,
                            align=4,
                            metadata=called.debug_only,
                        )
                    )
                    values[called.name] = Local(prefix + called.name, called.type)
            for i in part:
                if frame is not None and (i.opcode == "alloca" or i.called.startswith("llvm.lifetime.")):
                    continue
                code += self._instruction(code, i.substitute(values).relabel(rename), frame, prefix)
            if call is not None and n == 0:
                self._call(code, block.instructions[call].substitute(values), names[1])
            yield Block(names[n], tuple(code))

    def _reachable(
        self, code: list[Instruction], part: tuple[Instruction, ...], frame: _Frame | None, prefix: str
    ) -> dict[str, Value]:
        """What a block of a function uses: its own results by their new names, the rest from the frame."""
        if frame is None:
            return {}
        values: dict[str, Value] = {i.name: Local(prefix + i.name, i.type) for i in part if i.name}
        used = {name for i in part for name in i.uses}
        base: Value | None = None
        for name in sorted(used & {*frame.arguments, *frame.variables}):
            base = base if base is not None else self._frame_at(code, 0)
            if name in frame.variables:
                values[name] = self._at(code, base, frame.variables[name][0])
            else:
                at, type = frame.arguments[name]
                values[name] = self._load(code, self._at(code, base, at), type)
        return values

    def _instruction(
        self, code: list[Instruction], i: Instruction, frame: _Frame | None, prefix: str
    ) -> Iterator[Instruction]:
        if frame is None or i.opcode != "ret":
            yield replace(i, name=prefix + i.name) if i.name else i
            return
        if i.operands:
            code.append(_store(i.operands[0], self._at(code, self._frame_at(code, 0), frame.result)))
        yield _branch(_DISPATCH, i)

    def _call(self, code: list[Instruction], call: Instruction, resume: str) -> None:
        """Fill the next frame and go to the function."""
        frame, number = self._frames[call.called], len(self._resumes)
        self._resumes.append(resume)
        base = self._frame_at(code, 1)
        code.append(_store(Int(I32, number), base))
        for value, (at, _) in zip(call.operands, frame.arguments.values(), strict=True):
            code.append(_store(value, self._at(code, base, at)))
        deeper = self._add(code, self._load(code, Local(_TOP, _PRIVATE), I32), 1)
        code.append(_store(deeper, Local(_TOP, _PRIVATE)))
        seen = self._gep(code, Local(OPEN, _PRIVATE), deeper)
        code.append(replace(_store(Int(I8, 1), seen), metadata=call.debug_only, flags=("volatile",), align=1))
        function = self._functions[call.called]
        inside = self._name()
        code.append(Instruction("icmp", I1, (deeper, Int(I32, DEPTH)), inside, predicate="ult"))
        target = f"{call.called}.{function.entry.name}"
        code.append(replace(_branch(target, call), operands=(Local(inside, I1),), labels=(target, _DEEP)))

    # ---- addresses ---------------------------------------------------------------------------------------------------

    def _frame_at(self, code: list[Instruction], ahead: int) -> Value:
        """The open frame, or the next; never outside of the stack, so that only the guard's access is."""
        top = self._add(code, self._load(code, Local(_TOP, _PRIVATE), I32), ahead)
        inside = self._name()
        code.append(
            Instruction("and", I32, (top, Int(I32, DEPTH - 1)), inside)  # DEPTH is a power of two
        )
        offset = self._name()
        code.append(Instruction("mul", I32, (Local(inside, I32), Int(I32, self._size)), offset))
        return self._gep(code, Local(_STACK, _PRIVATE), Local(offset, I32))

    def _at(self, code: list[Instruction], base: Value, offset: int) -> Value:
        return self._gep(code, base, Int(I32, offset)) if offset else base

    def _gep(self, code: list[Instruction], base: Value, offset: Value) -> Value:
        name = self._name()
        code.append(Instruction("getelementptr", _PRIVATE, (base, offset), name, element=I8))
        return Local(name, _PRIVATE)

    def _load(self, code: list[Instruction], at: Value, type: Type) -> Value:
        name = self._name()
        code.append(Instruction("load", type, (at,), name, align=4))
        return Local(name, type)

    def _add(self, code: list[Instruction], value: Value, amount: int) -> Value:
        if not amount:
            return value
        name = self._name()
        code.append(Instruction("add", I32, (value, Int(I32, amount & 0xFFFFFFFF)), name))
        return Local(name, I32)

    def _name(self) -> str:
        self._count += 1
        return f"calls.{self._count}"

    # ---- places ------------------------------------------------------------------------------------------------------

    def _placed(self, i: Instruction, caller: str) -> Instruction:
        """An instruction of another function keeps its line; to LLVM it was inlined into the entry."""
        if not i.debug:
            return i
        if not caller:
            return replace(i, metadata=())
        if i.debug not in self._inlined:
            self._inlined[i.debug] = self._inlined_node(i.debug, caller)
        return replace(
            i, metadata=tuple((k, self._inlined[v] if k == "dbg" else v) for k, v in i.metadata if k == "dbg")
        )

    def _inlined_node(self, node: str, caller: str) -> str:
        text = self._metadata[node]
        if "inlinedAt:" in text:  # the outermost one gets the entry as well
            head, _, tail = text.partition("inlinedAt: ")
            outer = tail.rstrip(")").split(",")[0].strip()
            text = f"{head}inlinedAt: {self._inlined_node(outer, caller)})"
        else:
            text = f"{text.rstrip().removesuffix(')')}, inlinedAt: {caller})"
        made = f"!{max((int(n[1:]) for n in self._metadata if n[1:].isdigit()), default=0) + 1}"
        self._metadata[made] = text
        return made


def _store(value: Value, at: Value) -> Instruction:
    return Instruction("store", VOID, (value, at), align=4)

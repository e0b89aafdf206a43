"""Write new code: each method appends one instruction and returns its result.

    code = FunctionBuilder("f", VOID)
    b = code.block("entry")
    sum = b.binary("fadd", x, y, "sum")
    b.store(sum, p, align=4)
    b.ret()
    function = code.function()

Names are made unique; types of results are worked out from the operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metalloid.ir.module import Block, CallStyle, Function, Instruction, Parameter
from metalloid.ir.types import (
    I1,
    I32,
    PTR,
    VOID,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    inner_type,
    is_float,
    like,
    pointer_shape,
)
from metalloid.ir.values import Aggregate, Global, Int, Local, Named, Value, const
from metalloid.records import replace

Attachments = tuple[tuple[str, str], ...]


class FunctionBuilder:
    """A function being written; blocks keep the order in which they were asked for."""

    def __init__(
        self, name: str, result: Type = VOID, parameters: Iterable[Parameter] = (), taken: Iterable[str] = ()
    ) -> None:
        self.shell = Function(name, result, tuple(parameters))
        self.blocks: dict[str, BlockBuilder] = {}
        self._counts: dict[str, int] = dict.fromkeys(taken, 0)
        for p in self.shell.parameters:
            self._counts[p.name] = 0

    def fresh(self, hint: str) -> str:
        """A name that nothing in the function has yet."""
        hint = hint or "t"
        if hint not in self._counts:
            self._counts[hint] = 0
            return hint
        while True:
            self._counts[hint] += 1
            name = f"{hint}.{self._counts[hint]}"
            if name not in self._counts:
                self._counts[name] = 0
                return name

    def block(self, hint: str) -> BlockBuilder:
        """A new empty block at the end."""
        made = BlockBuilder(self, self.fresh(hint))
        self.blocks[made.name] = made
        return made

    def function(self) -> Function:
        """What has been written."""
        return replace(self.shell, blocks=tuple(Block(b.name, tuple(b.code)) for b in self.blocks.values()))


class BlockBuilder:
    """The end of a block, where instructions are appended.

    `metadata` goes on every instruction made, so set it once per source line.
    """

    def __init__(self, owner: FunctionBuilder, name: str) -> None:
        self.owner = owner
        self.name = name
        self.code: list[Instruction] = []
        self.metadata: Attachments = ()

    @property
    def closed(self) -> bool:
        """True once it has a terminator."""
        return bool(self.code) and self.code[-1].is_terminator

    def append(self, instruction: Instruction, hint: str = "") -> Local:
        """Add an instruction as it is, under a fresh name where it has a result."""
        if instruction.type != VOID:
            instruction = replace(instruction, name=self.owner.fresh(hint or instruction.name))
        if not instruction.metadata and self.metadata:
            instruction = replace(instruction, metadata=self.metadata)
        self.code.append(instruction)
        return instruction.value

    def binary(self, opcode: str, a: Value, b: Value, name: str = "", flags: Sequence[str] = ()) -> Local:
        return self.append(Instruction(opcode, a.type, (a, b), flags=tuple(flags)), name)

    def unary(self, opcode: str, a: Value, name: str = "", flags: Sequence[str] = ()) -> Local:
        return self.append(Instruction(opcode, a.type, (a,), flags=tuple(flags)), name)

    def cast(self, opcode: str, a: Value, to: Type, name: str = "", flags: Sequence[str] = ()) -> Local:
        return self.append(Instruction(opcode, to, (a,), flags=tuple(flags)), name)

    def compare(self, predicate: str, a: Value, b: Value, name: str = "", flags: Sequence[str] = ()) -> Local:
        """An fcmp where the operands are floats, else an icmp."""
        opcode = "fcmp" if is_float(a.type) else "icmp"
        made = Instruction(opcode, like(a.type, I1), (a, b), flags=tuple(flags), predicate=predicate)
        return self.append(made, name)

    def select(self, condition: Value, a: Value, b: Value, name: str = "") -> Local:
        return self.append(Instruction("select", a.type, (condition, a, b)), name)

    def phi(self, type: Type, cases: Sequence[tuple[Value, str]], name: str = "") -> Local:
        values, labels = tuple(v for v, _ in cases), tuple(b for _, b in cases)
        return self.append(Instruction("phi", type, values, labels=labels), name)

    def load(self, type: Type, pointer: Value, name: str = "", align: int = 0) -> Local:
        return self.append(Instruction("load", type, (pointer,), align=align), name)

    def store(self, value: Value, pointer: Value, align: int = 0) -> None:
        self.append(Instruction("store", VOID, (value, pointer), align=align))

    def alloca(
        self, element: Type, name: str = "", align: int = 0, space: int = 0, count: Value | None = None
    ) -> Local:
        size = count if count is not None else Int(I32, 1)
        made = Instruction("alloca", PointerType(space), (size,), element=element, align=align)
        return self.append(made, name)

    def gep(
        self, element: Type, base: Value, *indices: Value, name: str = "", flags: Sequence[str] = ()
    ) -> Local:
        type = pointer_shape(base.type, tuple(i.type for i in indices))
        made = Instruction("getelementptr", type, (base, *indices), flags=tuple(flags), element=element)
        return self.append(made, name)

    def call(
        self,
        result: Type,
        callee: str | Value,
        *arguments: Value,
        name: str = "",
        flags: Sequence[str] = (),
        attributes: str = "",
    ) -> Local:
        """A call; the caller sees to it that a declaration exists (`Module.declare`)."""
        target = Global(callee, PTR) if isinstance(callee, str) else callee
        style = CallStyle(attributes=attributes)
        made = Instruction("call", result, arguments, flags=tuple(flags), callee=target, style=style)
        return self.append(made, name)

    def extract_value(self, whole: Value, *indices: int, name: str = "") -> Local:
        type = inner_type(whole.type, indices)
        return self.append(Instruction("extractvalue", type, (whole,), indices=indices), name)

    def extract_element(self, vector: Value, index: Value | int, name: str = "") -> Local:
        assert isinstance(vector.type, VectorType)
        at = Int(I32, index) if isinstance(index, int) else index
        return self.append(Instruction("extractelement", vector.type.element, (vector, at)), name)

    def insert_element(self, vector: Value, element: Value, index: Value | int, name: str = "") -> Local:
        at = Int(I32, index) if isinstance(index, int) else index
        return self.append(Instruction("insertelement", vector.type, (vector, element, at)), name)

    def shuffle(self, a: Value, b: Value, mask: Sequence[int], name: str = "") -> Local:
        """Elements of `a` and `b` put side by side, by number; -1 leaves one undefined."""
        assert isinstance(a.type, VectorType)
        picks = tuple(Int(I32, n) if n >= 0 else Named(I32, "poison") for n in mask)
        chosen = Aggregate(VectorType(len(picks), I32), picks)
        type = VectorType(len(picks), a.type.element)
        return self.append(Instruction("shufflevector", type, (a, b, chosen)), name)

    def splat(self, element: Value, count: int, name: str = "") -> Local:
        """One value in all elements of a vector."""
        empty = Named(VectorType(count, element.type), "poison")
        first = self.insert_element(empty, element, 0, name and f"{name}.first")
        return self.shuffle(first, empty, [0] * count, name)

    def atomic_rmw(
        self, operation: str, pointer: Value, value: Value, ordering: str, name: str = "", align: int = 0
    ) -> Local:
        made = Instruction(
            "atomicrmw", value.type, (pointer, value), predicate=operation, ordering=ordering, align=align
        )
        return self.append(made, name)

    def cmpxchg(
        self, pointer: Value, expected: Value, new: Value, ordering: str, name: str = "", align: int = 0
    ) -> Local:
        made = Instruction(
            "cmpxchg",
            StructType((new.type, I1)),
            (pointer, expected, new),
            ordering=ordering,
            failure_ordering=ordering,
            align=align,
        )
        return self.append(made, name)

    def jump(self, target: str) -> None:
        self.append(Instruction("br", VOID, labels=(target,)))

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        self.append(Instruction("br", VOID, (condition,), labels=(then, otherwise)))

    def switch(self, value: Value, default: str, cases: Sequence[tuple[int, str]]) -> None:
        assert isinstance(value.type, IntType)
        numbers = tuple(const(value.type, n) for n, _ in cases)
        labels = (default, *(label for _, label in cases))
        self.append(Instruction("switch", VOID, (value, *numbers), labels=labels))

    def ret(self, value: Value | None = None) -> None:
        self.append(Instruction("ret", VOID, (value,) if value is not None else ()))

"""The code of one function as it is made: scalars for vectors, values that stand for others, names that are new."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from metalloid.air import shapes
from metalloid.air.constants import constant, elements_of
from metalloid.air.refused import Refused
from metalloid.ir.guards import guarded
from metalloid.ir.module import Function, GlobalVariable, Instruction, Module
from metalloid.ir.types import I32, VOID, PointerType, Type, VectorType
from metalloid.ir.values import Global, Int, Local, Metadata, Value

LOOSE = ("reassoc", "nsz", "arcp", "contract", "afn")  # fast math less the promise that there are no NaNs
_PROMISES = ("nnan", "ninf")


@dataclass
class Lowering:
    """The code of one function as it is made."""

    module: Module
    function: Function | None = None
    code: list[Instruction] = field(default_factory=list)
    stands_for: dict[str, Value] = field(default_factory=dict)
    counter: int = 0
    metadata: tuple[tuple[str, str], ...] = ()
    declared: dict[str, tuple[Type, tuple[Type, ...]]] = field(default_factory=dict)

    # ---- values

    def lanes(self, value: Value) -> tuple[Value, ...]:
        """The elements of a vector."""
        if isinstance(value, Local):
            type = shapes.value(value.type)
            return tuple(Local(lane(value.name, k), type) for k in range(shapes.lanes(value.type)))
        if isinstance(value, Metadata):
            raise Refused("it uses metadata as a value")
        return elements_of(value)

    def one(self, value: Value) -> Value:
        """A value that is no vector."""
        if isinstance(value, Local):
            return Local(value.name, shapes.value(value.type))
        if isinstance(value, Global) and is_table(self.module.variable.get(value.name)):
            return Global(value.name, PointerType(shapes.DEVICE))
        return value if isinstance(value, Metadata) else constant(value)

    def each(self, value: Value, count: int) -> tuple[Value, ...]:
        """The elements of a vector, or a scalar so many times."""
        return self.lanes(value) if isinstance(value.type, VectorType) else (self.one(value),) * count

    # ---- code

    def emit(self, made: Instruction) -> Value:
        """Add an instruction of scalars, with the guards it needs; the value it makes."""
        made = replace(made, metadata=self.metadata, flags=flags(made))
        self.code += guarded(made, self.fresh)
        return made.value

    def fresh(self) -> str:
        self.counter += 1
        return f"air..{self.counter}"

    def temporary(self, opcode: str, type: Type, *operands: Value, **more: object) -> Value:
        made = Instruction(opcode, type, operands, name=self.fresh())
        return self.emit(replace(made, **more))  # type: ignore[arg-type]

    def call(self, name: str, result: Type, *operands: Value, called: str = "") -> Value:
        """Call a function of scalars; `called` is the name of the result."""
        self.declared.setdefault(name, (result, tuple(o.type for o in operands)))
        made = "" if result == VOID else called or self.fresh()
        pointer = PointerType(0)
        return self.emit(Instruction("call", result, operands, name=made, callee=Global(name, pointer)))

    def alias(self, name: str, value: Value) -> None:
        self.stands_for[name] = value

    def aliases(self, name: str, values: tuple[Value, ...]) -> None:
        for k, value in enumerate(values):
            self.alias(lane(name, k), value)

    def pick(self, condition: Value, then: Value, other: Value) -> Value:
        return self.temporary("select", then.type, condition, then, other)

    def offset(self, pointer: Value, element: Type, index: int) -> Value:
        """A place `index` elements on."""
        if not index:
            return pointer
        return self.temporary(
            "getelementptr", pointer.type, pointer, Int(I32, index), element=element, flags=("inbounds",)
        )


def is_table(variable: GlobalVariable | None) -> bool:
    """A constant that AIR has in private memory; all threads may share it."""
    return variable is not None and variable.constant and shapes.space(variable.space) == shapes.PRIVATE


def lane(name: str, index: int) -> str:
    return f"{name}..{index}"


def flags(i: Instruction) -> tuple[str, ...]:
    """Without promises that the hardware does not keep."""
    if "fast" in i.flags:
        return LOOSE
    return tuple(f for f in i.flags if f not in _PROMISES)

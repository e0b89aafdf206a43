"""The state of writing one function, and values in it.

A value is known as a scalar (the same in all lanes), as a scalar base with lane patterns, as a vector, or as
base and vector both. Values that are used in another block go through a stack slot; LLVM turns the slots back
into registers, so nobody here has to think of dominance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from metalloid.analysis.lane_shape import LaneShape, Terms
from metalloid.analysis.loop_stride import Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.counted_lanes import counted
from metalloid.backends.cpu.lower.output import MatrixPlace, Output
from metalloid.backends.cpu.lower.text import Text
from metalloid.backends.cpu.lower.value_needs import crossing, needing_lanes
from metalloid.errors import NotVectorised
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import distances
from metalloid.ir.types import FloatType, IntType, PointerType, Type
from metalloid.ir.values import Expression, Float, Global, Int, Local, Named, Value
from metalloid.ir.write import write_value
from metalloid.records import dataclass

# What is written as more lanes than a gang has (`access/alike_lanes.py`); no value of a function is called that.
RESULT = "#"


@dataclass(frozen=True)
class Val:
    """A value as written so far."""

    type: str  # of one lane, in LLVM's words
    base: str | None = None
    terms: Terms = ()
    vec: str | None = None

    @property
    def uniform(self) -> bool:
        return self.base is not None and not self.terms


Stored = tuple[MatrixPlace, Callable[[], Val]]  # a value in memory, and how to get it


def lowered(type: Type) -> str:
    """The type a value has in vector code: pointers are numbers, bfloat its bits."""
    if isinstance(type, PointerType):  # asked for each operand: no patterns
        return "i64"
    if isinstance(type, IntType):
        return f"i{type.bits}"
    if isinstance(type, FloatType):
        return "i16" if type.name == "bfloat" else type.name
    raise NotVectorised(f"[engine] values of type {type} are not supported")


class SumsInRegisters(Protocol):
    """Sums of one thread that stand side by side: see `access/sum_registers.py`."""

    def __contains__(self, phi: str) -> bool: ...
    def gone(self, block: str) -> frozenset[str]: ...
    def whole(self, block: str) -> frozenset[tuple[str, ...]]: ...
    def write(self, block: Block, rounds: Any) -> None: ...
    def bring(self, source: str, target: str) -> None: ...
    def of(self, total: Instruction) -> list[str] | None: ...


class VectorsOfLoops(Protocol):
    """Vectors of each thread that loops carry: see `access/carried_vectors.py`."""

    made: dict[tuple[str, ...], str]

    @property
    def groups(self) -> Mapping[tuple[str, ...], Any]: ...
    def __contains__(self, phi: str) -> bool: ...
    def following(self, block: str) -> list[tuple[Value, ...]]: ...
    def leaf(self, block: str) -> Callable[[tuple[str, ...]], bool]: ...
    def take(self, block: str) -> None: ...
    def bring(self, source: str, target: str, lanes: str | None, together: bool) -> None: ...
    def vector(self, given: tuple[Value, ...]) -> str: ...
    def column(self, name: str) -> Val | None: ...


class Emitter(Text):
    """Writes one function."""

    def __init__(
        self, out: Output, function: Function, roots: UnderlyingObjects, uniformity: Uniformity
    ) -> None:
        super().__init__(out)
        self.function, self.roots, self.u = function, roots, uniformity
        self.values: dict[str, Val] = {}  # in the current block
        self.built: dict[str, str] = {}  # vectors made from bases, in the current block
        self.sums: dict[str, tuple[str, int]] = {}  # addresses: a vector, and what was added to all its lanes
        self.stored: dict[str, Stored] = {}
        self.rows: dict[tuple[str, ...], list[list[str]]] = {}  # of grouped loads: each lane's elements
        self.parts: dict[str, int] = {}
        self.loops: dict[str, tuple[Strides, int, int]] = {}  # by header: see `prefetch`
        self.block = ""
        self.done: set[str] = set()  # instructions that were written together with an earlier one
        self.multiplied: dict[str, frozenset[str]] = {}  # matrix loads that only products read
        self.streamed = 0  # where the current store goes past the caches, how its buffer is aligned
        self.proved = False  # whether the current access is known to be inside its memory
        self.tile_loads_stay: bool | None = None  # see `access/block_licm.py`
        self.last_stores: dict[
            str, tuple[str, str, int]
        ] = {}  # by place: slot, type and alignment; see `held`
        self.registers: SumsInRegisters | None = None
        self.shared: dict[str, tuple[Value, ...]] | None = None  # sums of all lanes: `shared_sums`
        self.carried: VectorsOfLoops | None = None
        self.entry_mask: str | None = None
        self.range: tuple[int, int] | None = None  # the lanes of the block, where that is all about its mask
        self._slots: dict[str, str] = {}
        self.crossing = crossing(function, uniformity)
        self.needs = needing_lanes(function, uniformity, out.continue_after_fault)

    @property
    def guarded(self) -> bool:
        """Whether the current access has to be checked."""
        return self.out.guard and not self.proved

    def made_here(self, value: Value) -> Instruction | None:
        """The instruction of this block that makes a value. Of other blocks' values only those are kept that are used
        here."""
        if not isinstance(value, Local) or self.function.home.get(value.name) != self.block:
            return None
        return self.function.definitions[value.name]

    def in_register(self, phi: str) -> bool:
        """Whether a phi is carried with others, in a register or as part of a vector."""
        if self.carried is not None and phi in self.carried:
            return True
        return self.registers is not None and phi in self.registers

    def get(self, value: Value) -> Val:
        match value:
            case Local(name):
                return self._local(name, lowered(value.type))
            case _:
                return Val(lowered(value.type), self.constant(value))

    def _local(self, name: str, type: str) -> Val:
        if name in self.values:
            return self.values[name]
        if name in self.stored:
            self.values[name] = self.stored[name][1]()
            return self.values[name]
        if self.carried is not None and (column := self.carried.column(name)) is not None:
            self.values[name] = column
            return column
        if not self._crosses(name):
            raise NotVectorised(f"[engine] %{name} is read in a block that it is not kept for")
        shape = self.u.shape(Local(name, IntType(1)))
        base = vec = None
        if shape is not None:
            base = self.put(f"load {type}, ptr {self.slot(name, type, False)}", "b")
        if shape is None or name in self.needs:
            vec = self.put(f"load {self.vt(type)}, ptr {self.slot(name, type, True)}", "v")
        made = Val(type, base, shape.terms if shape else (), vec)
        self.values[name] = made
        return made

    def slot(self, name: str, type: str, vector: bool) -> str:
        """The stack slot of a value, made when first asked for."""
        key = f"{'v' if vector else 's'}:{name}"
        if key not in self._slots:
            self._slots[key] = self.alloca(self.vt(type) if vector else type, "slot")
        return self._slots[key]

    def _crosses(self, name: str) -> bool:
        """Whether a value, or a part of it, is kept for other blocks."""
        return name in self.crossing or name.split("#")[0] in self.crossing

    def set(self, name: str, made: Val) -> None:
        """A value of the current block."""
        self.values[name] = made
        if self._crosses(name):
            if made.base is not None:
                self.do(f"store {made.type} {made.base}, ptr {self.slot(name, made.type, False)}")
            if made.vec is not None:
                self.do(f"store {self.vt(made.type)} {made.vec}, ptr {self.slot(name, made.type, True)}")

    def vector(self, value: Value) -> str:
        """A value as a vector, one element per lane."""
        made = self.get(value)
        if made.vec is not None:
            return made.vec
        key = value.name if isinstance(value, Local) else ""
        if key and key in self.built:
            return self.built[key]
        ref = self.expand(made)
        if key:
            self.built[key] = ref
        return ref

    def expand(self, made: Val) -> str:
        """A vector from base and patterns."""
        if made.vec is not None:
            return made.vec
        assert made.base is not None
        if len(made.terms) == 1 and not made.terms[0][0]:
            bits = int(made.type[1:])
            steps = [_signed(x, bits) for x in made.terms[0][1]]
            if (by_registers := counted(self, made.type, made.base, steps)) is not None:
                return by_registers
        ref = self.splat(made.type, made.base)
        for coefficient, pattern in made.terms:
            bits = int(made.type[1:])
            term = self.constants(made.type, [_signed(x, bits) for x in pattern])
            if coefficient:
                scalar = self.coefficient(coefficient, made.type)
                term = self.put(f"mul {self.vt(made.type)} {self.splat(made.type, scalar)}, {term}")
            ref = self.put(f"add {self.vt(made.type)} {ref}, {term}")
        return ref

    def coefficient(self, name: str, type: str) -> str:
        """A uniform value as a signed number of another width."""
        definition = self.function.definitions[name]
        made = self.get(definition.value)
        assert made.base is not None
        have, want = int(made.type[1:]), int(type[1:])
        if have == want:
            return made.base
        return self.put(f"{'sext' if have < want else 'trunc'} {made.type} {made.base} to {type}")

    def scalar(self, value: Value) -> str:
        """A uniform value."""
        made = self.get(value)
        assert made.base is not None, f"{value} is not uniform"
        return made.base

    def ref(self, value: Value, vector: bool) -> str:
        return self.vector(value) if vector else self.scalar(value)

    def shape(self, value: Value) -> LaneShape | None:
        if value.__class__ is Local and value.name == RESULT:
            return None
        return self.u.shape(value)

    def constant(self, value: Value) -> str:
        """The text of a constant."""
        match value:
            case Int():
                return write_value(value)
            case Float(FloatType("bfloat"), bits):
                return str(_signed(bits, 16))
            case Float():
                return write_value(value)
            case Named(FloatType("bfloat"), _):
                return "0"
            case Named(FloatType(name), _):
                return "0xH0000" if name == "half" else "0.0"
            case Named(IntType(1), word):
                return "true" if word == "true" else "false"
            case Named():
                return "0"
            case Global():
                return "0"  # the offset from its own start
            case Expression("getelementptr", _, (base, *_)):
                return str(sum(distances(self.out.layout, value)) + int(self.constant(base)))
            case Expression("ptrtoint", _, (base,)):
                return str(self.absolute_constant(base))
        raise NotVectorised(f"[engine] this constant is not supported: {value}")

    def absolute_constant(self, value: Value) -> int:
        root = self.roots.root(value)
        if root is None or root.kind != "variable":
            raise NotVectorised("[engine] the address of a constant table as a number is not supported")
        return self.out.local_offsets[root.name] + int(self.constant(value))


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value

"""The state of writing one function, and values in it.

A value is known as a scalar (the same in all lanes), as a scalar base with lane patterns, as a vector, or as
base and vector both. Values that are used in another block go through a stack slot; LLVM turns the slots back
into registers, so nobody here has to think of dominance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metalloid.errors import NotVectorised
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.debug import Location, location
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type
from metalloid.ir.values import Expression, Float, Global, Int, Local, Named, Value
from metalloid.ir.write import write_value
from metalloid.passes.abi import LOCAL_START
from metalloid.passes.lanes import Lanes
from metalloid.passes.roots import Root, Roots
from metalloid.passes.shape import Shape, Terms
from metalloid.passes.stride import Strides
from metalloid.passes.uniformity import Uniformity

if TYPE_CHECKING:
    from metalloid.passes.instrument import Checks


@dataclass(frozen=True)
class Site:
    """A place that can fault."""

    location: Location | None
    root: Root | None
    size: int
    write: bool
    rule: str = ""  # "" for an access out of bounds


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


@dataclass
class Output:
    """What all functions of one kernel share."""

    module: Module
    layout: DataLayout
    lanes: Lanes
    guard: bool
    vector_bytes: int = 64
    short_loops: frozenset[str] = frozenset()  # headers of loops that end soon: nobody has to stop them
    local_offsets: dict[str, int] = field(default_factory=dict)  # of threadgroup variables
    local_sizes: dict[str, int] = field(default_factory=dict)
    private: dict[int, PrivatePlace] = field(default_factory=dict)
    slots: dict[int, SlotPlace] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    check: Checks | None = None  # of a checked run
    check_lengths: dict[int, int] = field(
        default_factory=dict
    )  # of memory whose size the code knows, by site

    @property
    def careful(self) -> bool:
        """Whether lanes outside are left out, and the others go on."""
        return self.check is not None and self.check.options.careful

    rounds: bool = False  # a segment tells the iteration it stopped in, above the number of the barrier

    def declare(self, name: str, text: str) -> str:
        self.declared.setdefault(name, text)
        return name

    def site(
        self, i: Instruction, root: Root | None, size: int = 0, write: bool = False, rule: str = ""
    ) -> int:
        """The number of a new place that can fault."""
        self.sites.append(Site(location(self.module, i), root, size, write, rule))
        return len(self.sites) - 1

    def layout_locals(self) -> int:
        """Give threadgroup variables their places; the end of the last."""
        at = LOCAL_START
        for g in self.module.globals:
            if g.space == 3:
                align = max(g.align, 16)
                at = -(-at // align) * align
                self.local_offsets[g.name] = at
                self.local_sizes[g.name] = self.layout.size(g.type)
                at += self.local_sizes[g.name]
        return at


@dataclass(frozen=True)
class MatrixPlace:
    """Where the matrix lies that a kept value is an element of, in each lane; see `accumulators`."""

    at: int
    pitch: int  # bytes from row to row
    element: int  # of the lane's two


@dataclass(frozen=True)
class SlotPlace:
    """Where a value that crosses a barrier is kept in an instance's scratch."""

    at: int
    shape: Shape | None  # with constant patterns only the base is kept
    matrix: MatrixPlace | None = None


@dataclass(frozen=True)
class PrivatePlace:
    """Where the private variables of an alloca lie in an instance's scratch.

    `unit`: elements of that many bytes, lanes side by side; 0: each lane's variable in one piece.
    """

    at: int
    size: int
    unit: int


def lowered(type: Type) -> str:
    """The type a value has in vector code: pointers are numbers, bfloat its bits."""
    match type:
        case PointerType():
            return "i64"
        case FloatType("bfloat"):
            return "i16"
        case IntType() | FloatType():
            return str(type)
    raise NotVectorised(f"[engine] values of type {type} are not supported")


class Emitter:
    """Writes one function. `lines` is its text so far."""

    def __init__(self, out: Output, function: Function, roots: Roots, uniformity: Uniformity) -> None:
        self.out, self.function, self.roots, self.u = out, function, roots, uniformity
        self.width = out.lanes.width
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.prologue: list[str] = []
        self.values: dict[str, Val] = {}  # in the current block
        self.built: dict[str, str] = {}  # vectors made from bases, in the current block
        self.stored: dict[
            str, tuple[MatrixPlace, Callable[[], Val]]
        ] = {}  # values in memory, how to get them
        self.rows: dict[
            tuple[str, ...], list[list[str]]
        ] = {}  # of grouped loads: each lane's elements together
        self.parts: dict[str, int] = {}
        self.loops: dict[
            str, tuple[Strides, int]
        ] = {}  # by header: strides, work of an iteration; see `fetch`
        self.mask: str | None = None  # of the current block; None: all lanes
        self.block = ""
        self.done: set[str] = set()  # instructions that were written together with an earlier one
        self.multiplied: dict[str, frozenset[str]] = {}  # matrix loads that only products read
        self.streamed = 0  # where the current store goes past the caches, how its buffer is aligned
        self.proved = False  # whether the current access is known to be inside its memory
        self.reads_only: bool | None = None  # of threadgroup memory; see `reloads`
        self.entry_mask: str | None = None
        self.range: tuple[int, int] | None = (
            None  # the lanes of the current block, where that is all about its mask
        )
        self.count = 0
        self.launch_values: dict[str, str] = {}
        self._slots: dict[str, str] = {}
        self.crossing = self._crossing()
        self.needs = self._needs_vector()

    @property
    def guarded(self) -> bool:
        """Whether the current access has to be checked."""
        return self.out.guard and not self.proved

    # ---- text -----------------------------------------------------------------------------------------

    def name(self, hint: str = "t") -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def put(self, text: str, hint: str = "t") -> str:
        """An instruction with a result."""
        name = self.name(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh_label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def alloca(self, type: str, hint: str) -> str:
        name = self.name(hint)
        self.allocas.append(f"  {name} = alloca {type}")
        return name

    def vt(self, type: str) -> str:
        return f"<{self.width} x {type}>"

    def constants(self, type: str, numbers: tuple[int, ...] | list[int]) -> str:
        return "<" + ", ".join(f"{type} {n}" for n in numbers) + ">"

    def splat(self, type: str, ref: str, count: int = 0) -> str:
        """One scalar in all lanes."""
        count = count or self.width
        if ref in ("0", "zeroinitializer"):
            return "zeroinitializer"
        if not ref.startswith("%"):
            return f"splat ({type} {ref})"
        first = self.put(f"insertelement <{count} x {type}> poison, {type} {ref}, i64 0")
        return self.put(
            f"shufflevector <{count} x {type}> {first}, <{count} x {type}> poison, <{count} x i32> zeroinitializer"
        )

    def launch_field(self, offset: int, type: str) -> str:
        """Something of the launch; read once, at the start."""
        key = f"{offset}:{type}"
        if key not in self.launch_values:
            at, name = self.name("at"), self.name("field")
            self.prologue.append(f"  {at} = getelementptr i8, ptr %launch, i64 {offset}")
            self.prologue.append(f"  {name} = load {type}, ptr {at}, !invariant.load !0")
            self.launch_values[key] = name
        return self.launch_values[key]

    def at_start(self, key: str, text: str) -> str:
        """An instruction that is written once, at the start."""
        if key not in self.launch_values:
            name = self.name("start")
            self.prologue.append(f"  {name} = {text}")
            self.launch_values[key] = name
        return self.launch_values[key]

    # ---- which values need what ------------------------------------------------------------------------

    def _crossing(self) -> set[str]:
        """Names that are read in another block than the one that makes them."""
        home, found = self.function.home, set()
        for block in self.function.blocks:
            for i in block.instructions:
                if i.opcode == "phi":
                    found.add(i.name)
                    found |= {v.name for v, b in i.cases if isinstance(v, Local) and home[v.name] != b}
                else:
                    found |= {n for n in i.uses if home[n] != block.name}
                    if i.opcode in ("load", "store"):
                        found |= {n for n in self._bases(i.operands[-1]) if home[n] != block.name}
        for shape in self.u.shapes.values():
            if shape is not None:
                found |= {c for c, _ in shape.terms if c}
        return found

    def _bases(self, pointer: Value) -> Iterator[str]:
        """What a pointer lies at a constant distance from: groups of accesses start from there."""
        while isinstance(pointer, Local):
            i = self.function.definitions[pointer.name]
            if i.opcode != "getelementptr" or not all(isinstance(x, Int) for x in i.operands[1:]):
                return
            pointer = i.operands[0]
            if isinstance(pointer, Local):
                yield pointer.name

    def _needs_vector(self) -> set[str]:
        """Names whose lanes must be right to the last bit, though their base and pattern may have wrapped."""
        inexact = {n for n, s in self.u.shapes.items() if s is not None and s.terms and not s.exact}
        needs: set[str] = set()
        changed = bool(inexact)
        while changed:
            changed = False
            for i in self.function.instructions():
                for position, operand in enumerate(i.operands):
                    if not isinstance(operand, Local) or operand.name not in inexact or operand.name in needs:
                        continue
                    if not self._as_base(i, position, needs):
                        needs.add(operand.name)
                        changed = True
        return needs

    def _as_base(self, i: Instruction, position: int, needs: set[str]) -> bool:
        """Whether this use is content with base and pattern. A careful run wants the index itself."""
        if self.out.careful:
            return False
        if i.opcode == "load" or (
            position == 1 and (i.opcode == "store" or i.called.startswith("__mt_check"))
        ):
            return True
        if i.opcode == "atomicrmw" and position == 0:
            return False
        shape = self.u.shapes.get(i.name)
        return i.name not in needs and shape is not None and bool(shape.terms)

    # ---- values ------------------------------------------------------------------------------------------

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

    def set(self, name: str, made: Val) -> None:
        """A value of the current block."""
        self.values[name] = made
        if name in self.crossing or name.split("#")[0] in self.crossing:
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

    def shape(self, value: Value) -> Shape | None:
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
                return str(self.constant_offset(value) + int(self.constant(base)))
            case Expression("ptrtoint", _, (base,)):
                return str(self.absolute_constant(base))
        raise NotVectorised(f"[engine] this constant is not supported: {value}")

    def absolute_constant(self, value: Value) -> int:
        root = self.roots.root(value)
        if root is None or root.kind != "variable":
            raise NotVectorised("[engine] the address of a constant table as a number is not supported")
        return self.out.local_offsets[root.name] + int(self.constant(value))

    def constant_offset(self, value: Expression) -> int:
        assert value.element is not None
        total, type = 0, value.element
        for n, index in enumerate(value.operands[1:]):
            assert isinstance(index, Int)
            if n == 0:
                total += index.signed * self.out.layout.size(type)
            elif isinstance(type, StructType):
                total += self.out.layout.struct(type)[0][index.value]
                type = type.elements[index.value]
            else:
                assert isinstance(type, ArrayType)
                type = type.element
                total += index.signed * self.out.layout.size(type)
        return total

    # ---- masks --------------------------------------------------------------------------------------------

    def mask_ref(self) -> str:
        """The current mask as a vector."""
        return self.mask or "splat (i1 true)"

    def any(self, mask: str) -> str:
        """Whether a lane is set."""
        bits = self.put(f"bitcast {self.vt('i1')} {mask} to i{self.width}")
        return self.put(f"icmp ne i{self.width} {bits}, 0")

    def both(self, mask: str | None, condition: str) -> str:
        """Lanes of the mask that have the condition; a select, because idle lanes may hold poison."""
        if mask is None:
            return condition
        return self.put(
            f"select {self.vt('i1')} {mask}, {self.vt('i1')} {condition}, {self.vt('i1')} zeroinitializer"
        )

    def first(self, mask: str | None) -> str:
        """The number of the first set lane."""
        if mask is None:
            return "0"
        n = self.width
        self.out.declare(f"llvm.cttz.i{n}", f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)")
        bits = self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        found = self.put(f"call i{n} @llvm.cttz.i{n}(i{n} {bits}, i1 false)")
        if n == 32:
            return found
        return self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {found} to i32")

    def last(self, mask: str | None) -> str:
        n = self.width
        if mask is None:
            return str(n - 1)
        self.out.declare(f"llvm.ctlz.i{n}", f"declare i{n} @llvm.ctlz.i{n}(i{n}, i1)")
        bits = self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        found = self.put(f"call i{n} @llvm.ctlz.i{n}(i{n} {bits}, i1 false)")
        found = self.put(f"sub i{n} {n - 1}, {found}")
        return found if n == 32 else self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {found} to i32")

    def lanes_loop(self, mask: str | None) -> Iterator[str]:
        """Code between the two steps of this iterator runs for each set lane, in order; yields the lane's number."""
        n = self.width
        bits = (
            self.put(f"bitcast <{n} x i1> {self.mask_ref()} to i{n}")
            if mask is None
            else self.put(f"bitcast <{n} x i1> {mask} to i{n}")
        )
        left = self.alloca(f"i{n}", "left")
        head, body, done = (self.fresh_label(x) for x in ("lane", "lane.body", "lane.done"))
        self.do(f"store i{n} {bits}, ptr {left}")
        self.do(f"br label %{head}")
        self.label(head)
        now = self.put(f"load i{n}, ptr {left}")
        some = self.put(f"icmp ne i{n} {now}, 0")
        self.do(f"br i1 {some}, label %{body}, label %{done}")
        self.label(body)
        self.out.declare(f"llvm.cttz.i{n}", f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)")
        lane = self.put(f"call i{n} @llvm.cttz.i{n}(i{n} {now}, i1 true)")
        yield lane if n == 32 else self.put(f"{'trunc' if n > 32 else 'zext'} i{n} {lane} to i32")
        lower = self.put(f"sub i{n} {now}, 1")
        rest = self.put(f"and i{n} {now}, {lower}")
        self.do(f"store i{n} {rest}, ptr {left}")
        self.do(f"br label %{head}")
        self.label(done)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value

"""A module: functions of blocks of instructions, all frozen.

A pass takes a function and returns another. `records.replace` changes one
thing; `Instruction.substitute` puts values in place of names;
`build.FunctionBuilder` writes new code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from operator import is_

from metalloid import deadline
from metalloid.ir.types import VOID, StructType, Type
from metalloid.ir.values import Constant, Global, Local, Value
from metalloid.records import dataclass, field, replace

TERMINATORS = frozenset({"br", "switch", "ret", "unreachable"})


@dataclass(frozen=True, slots=True)
class CallStyle:
    """How a call is written, beside what it calls and with what."""

    tail: str = ""  # tail, musttail, notail
    convention: str = ""
    result_attributes: str = ""
    argument_attributes: tuple[str, ...] = ()  # one text per argument
    attributes: str = ""  # "#4", or words
    variadic: str = ""  # the function's type, where the text must give it


PLAIN_CALL = CallStyle()


class _Kept:
    """What passes ask of an instruction again and again: found once, beside its fields."""

    __slots__ = ("_uses",)
    _uses: tuple[str, ...]


_keep_uses = _Kept.__dict__["_uses"].__set__  # instructions are frozen


@dataclass(frozen=True, slots=True)
class Instruction(_Kept):
    """One instruction. Fields that an opcode has no use for stay empty."""

    opcode: str
    type: Type  # of the result; void when there is none
    operands: tuple[Value, ...] = ()  # a call's arguments; a switch's value and its cases; a phi's values
    name: str = ""
    flags: tuple[str, ...] = ()  # nuw, nsw, exact, inbounds, fast-math flags, volatile, weak, ...
    predicate: str = ""  # of icmp and fcmp; the operation of atomicrmw
    labels: tuple[
        str, ...
    ] = ()  # where a branch goes (a switch's default first); where a phi's values come from
    element: Type | None = None  # what a getelementptr steps over, what an alloca makes
    align: int = 0
    ordering: str = ""  # monotonic, acquire, ...; "" means not atomic
    failure_ordering: str = ""  # of a cmpxchg
    scope: str = ""  # syncscope
    indices: tuple[int, ...] = ()  # of extractvalue and insertvalue
    callee: Value | None = None
    style: CallStyle = PLAIN_CALL
    metadata: tuple[tuple[str, str], ...] = ()  # ("dbg", "!12"), ("tbaa", "!7"), ...

    @property
    def value(self) -> Local:
        """The result, as an operand for others."""
        return Local(self.name, self.type)

    @property
    def called(self) -> str:
        """The name of the function a call calls; "" for anything else."""
        callee = self.callee
        return callee.name if callee.__class__ is Global else ""

    @property
    def is_terminator(self) -> bool:
        return self.opcode in TERMINATORS

    @property
    def debug(self) -> str:
        """The id of its debug location, such as "!12", or ""."""
        for kind, node in self.metadata:
            if kind == "dbg":
                return node
        return ""

    @property
    def debug_only(self) -> tuple[tuple[str, str], ...]:
        """Its metadata less everything but the debug location: what a pass may copy to new code."""
        return tuple(m for m in self.metadata if m[0] == "dbg")

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the locals it reads."""
        try:
            return self._uses
        except AttributeError:
            found = [o.name for o in self.operands if o.__class__ is Local]
            if self.callee.__class__ is Local:
                found.append(self.callee.name)
            _keep_uses(self, tuple(found))
            return self._uses

    @property
    def cases(self) -> tuple[tuple[Value, str], ...]:
        """A switch's (constant, target) pairs, or a phi's (value, source) pairs."""
        if self.opcode == "switch":
            return tuple(zip(self.operands[1:], self.labels[1:], strict=True))
        return tuple(zip(self.operands, self.labels, strict=True))

    def map_operands(self, change: Callable[[Value], Value]) -> Instruction:
        """The same instruction with each operand passed through `change`; itself where none is another then."""
        before, callee = self.operands, self.callee
        operands = tuple([change(o) for o in before])
        called = change(callee) if callee is not None else None
        if called is callee and all(map(is_, operands, before)):
            return self
        return replace(self, operands=operands, callee=called)

    def substitute(self, values: Mapping[str, Value]) -> Instruction:
        """The same instruction with values in place of the locals of these names."""
        if values.keys().isdisjoint(self.uses):
            return self
        return self.map_operands(lambda o: values.get(o.name, o) if isinstance(o, Local) else o)

    def relabel(self, names: Mapping[str, str]) -> Instruction:
        """The same instruction with blocks called by other names."""
        if not any(label in names for label in self.labels):
            return self
        return replace(self, labels=tuple(names.get(label, label) for label in self.labels))


@dataclass(frozen=True)
class Block:
    """A straight run of instructions; the last is the terminator."""

    name: str
    instructions: tuple[Instruction, ...]

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]

    @property
    def phis(self) -> tuple[Instruction, ...]:
        return tuple([i for i in self.instructions if i.opcode == "phi"])

    @property
    def body(self) -> tuple[Instruction, ...]:
        """Everything after the phis, the terminator included."""
        return tuple([i for i in self.instructions if i.opcode != "phi"])

    @cached_property
    def successors(self) -> tuple[str, ...]:
        """Where it can go next, each target once, in the order written."""
        return tuple(dict.fromkeys(self.terminator.labels))

    def with_code(self, instructions: tuple[Instruction, ...]) -> Block:
        """The block with these instructions; itself where they are its own, as in most blocks of most passes."""
        before = self.instructions
        same = len(instructions) == len(before) and all(map(is_, instructions, before))
        return self if same else Block(self.name, instructions)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: Type
    attributes: str = ""


@dataclass(frozen=True)
class Function:
    """A function; without blocks, a declaration."""

    name: str
    result: Type
    parameters: tuple[Parameter, ...] = ()
    blocks: tuple[Block, ...] = ()
    prefix: str = ""  # linkage, visibility, calling convention, result attributes
    suffix: str = ""  # unnamed_addr, attributes
    variadic: bool = False
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    @cached_property
    def block(self) -> Mapping[str, Block]:
        """Its blocks by name."""
        return {b.name: b for b in self.blocks}

    @cached_property
    def definitions(self) -> Mapping[str, Instruction]:
        """Its instructions by the name of their result."""
        return {i.name: i for i in self.instructions() if i.name}

    @cached_property
    def home(self) -> Mapping[str, str]:
        """The name of the block that each named result is made in."""
        return {i.name: b.name for b in self.blocks for i in b.instructions if i.name}

    @cached_property
    def users(self) -> Mapping[str, tuple[Instruction, ...]]:
        """For each name, the instructions that read it."""
        found: dict[str, list[Instruction]] = {}
        for instruction in self.instructions():
            names = instruction.uses
            for name in names if len(names) < 2 else dict.fromkeys(names):
                found.setdefault(name, []).append(instruction)
        return {name: tuple(users) for name, users in found.items()}

    def instructions(self) -> Iterator[Instruction]:
        return chain.from_iterable([b.instructions for b in self.blocks])

    def with_blocks(self, blocks: tuple[Block, ...]) -> Function:
        deadline.look()  # every pass comes by here
        if len(blocks) == len(self.blocks) and all(map(is_, blocks, self.blocks)):
            return self  # with all that is known of it
        return replace(self, blocks=blocks)

    def map_instructions(self, change: Callable[[Instruction], Instruction]) -> Function:
        """The same function with each instruction passed through `change`."""
        return self.with_blocks(tuple([b.with_code(tuple(map(change, b.instructions))) for b in self.blocks]))


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    name: str
    type: Type  # of what it holds
    initializer: Constant | None = None  # None: external
    space: int = 0
    constant: bool = False
    prefix: str = ""  # linkage, visibility, unnamed_addr
    suffix: str = ""  # after `align`: section, comdat
    align: int = 0
    metadata: tuple[tuple[str, str], ...] = ()


def _nothing() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Module:
    functions: tuple[Function, ...] = ()
    globals: tuple[GlobalVariable, ...] = ()
    datalayout: str = ""
    triple: str = ""
    source: str = ""
    types: tuple[StructType, ...] = ()  # the named ones
    attributes: Mapping[str, str] = field(default_factory=_nothing)  # "#0" -> "{ convergent nounwind }"
    metadata: Mapping[str, str] = field(default_factory=_nothing)  # "!0", "!llvm.ident" -> text of the node
    other: tuple[str, ...] = ()  # lines kept as they are: comdats

    @cached_property
    def function(self) -> Mapping[str, Function]:
        """Functions and declarations by name."""
        return {f.name: f for f in self.functions}

    @cached_property
    def scopes(self) -> dict[str, tuple[str, str]]:
        """File and function of the scopes in its debug info that somebody has asked for (ir/debug.py)."""
        return {}

    @cached_property
    def variable(self) -> Mapping[str, GlobalVariable]:
        return {g.name: g for g in self.globals}

    def with_function(self, function: Function) -> Module:
        """This module with one function put in place of its namesake, or added."""
        if function.name not in self.function:
            return replace(self, functions=(*self.functions, function))
        kept = tuple(function if f.name == function.name else f for f in self.functions)
        return replace(self, functions=kept)

    def declare(self, name: str, result: Type = VOID, parameters: tuple[Type, ...] = ()) -> Module:
        """This module with a declaration of `name`, unless it is there already."""
        if name in self.function:
            return self
        made = Function(name, result, tuple(Parameter("", p) for p in parameters))
        return replace(self, functions=(*self.functions, made))


def copy_alignments(i: Instruction) -> list[int]:
    """Of the target and the source of a copy; of a fill only of its target."""
    pointers = 1 if "memset" in i.called else 2
    found = []
    for words in (*i.style.argument_attributes[:pointers], "", "")[:pointers]:
        after = words.split("align ")
        found.append(int(after[1].split()[0].strip("()")) if len(after) > 1 else 1)
    return found

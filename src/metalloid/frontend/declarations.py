"""What the scanner finds in a source: kernels, their parameters, instantiations, function constants."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence

from metalloid.records import dataclass, field


@dataclass(frozen=True)
class Span:
    """A half-open range of token indices."""

    first: int
    last: int


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel as written."""

    name: str
    span: Span
    attributes: Mapping[str, str]  # {"buffer": "0", "function_constant": "use_bias"}
    words: tuple[str, ...]  # its tokens without attributes
    name_index: int  # token index of the name, or of the first token when it has none

    @property
    def indirect(self) -> bool:
        """A pointer, reference or array, so bound to memory."""
        return any(word in ("*", "&", "[") for word in self.words)


@dataclass(frozen=True)
class Kernel:
    """A kernel function, template or not."""

    name: str
    scope: tuple[str, ...]  # enclosing namespaces
    span: Span  # from `template` or the first specifier to the closing brace or `;`
    body: Span | None  # between the braces; None for a declaration
    arguments: tuple[Argument, ...]
    attributes: Mapping[str, str]
    returns: tuple[str, ...]  # words in front of the name
    template: str  # its `template <...>`, "" for a plain function
    name_index: int

    @property
    def qualified(self) -> str:
        return "::".join((*self.scope, self.name))

    @property
    def specialises(self) -> bool:
        """Whether it is another's template for certain arguments: `template <> kernel void f<half>`."""
        return self.template.replace(" ", "") == "template<>"


@dataclass(frozen=True)
class Instantiation:
    """`template [[host_name("x")]] kernel void f<float>(...);`"""

    host_name: str
    name: str  # the template's
    expression: str  # qualified, with its template arguments
    span: Span
    scope: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()  # none where it is written with decltype

    def takes(self, kernel: Kernel) -> int:
        """How well its parameters are those of a template: the words they share, where there are as many."""
        if len(self.arguments) != len(kernel.arguments):
            return -1
        pairs = zip(self.arguments, kernel.arguments, strict=True)
        return sum(len(set(one.words) & set(other.words)) for one, other in pairs)


@dataclass(frozen=True)
class FunctionConstant:
    name: str
    type: str
    index: str  # as written
    span: Span  # up to and with the `;`

    @property
    def number(self) -> int | None:
        """The index, where it is a sum or product of numbers, as macros leave it."""
        return whole_number(self.index)


@dataclass(frozen=True)
class GlobalBuiltin:
    """`const uint3 position [[thread_position_in_grid]];` at namespace level."""

    name: str
    attribute: str
    type: str
    span: Span  # up to and with the `;`


@dataclass(frozen=True)
class Entry:
    """A kernel that can be asked for by name."""

    name: str
    expression: str  # C++ that names the function
    kernel: Kernel
    overloads: tuple[Kernel, ...] = ()  # further templates of the same name; the arguments fit one of them
    type: tuple[tuple[str, ...], str] | None = (
        None  # scope and parameters that tell it from those, where written
    )


@dataclass(frozen=True)
class Declarations:
    kernels: tuple[Kernel, ...] = ()
    instantiations: tuple[Instantiation, ...] = ()
    constants: tuple[FunctionConstant, ...] = ()
    functions: Mapping[str, tuple[Span, ...]] = field(
        default_factory=dict
    )  # every named namespace-level item
    parts: tuple[tuple[str, Span], ...] = ()  # those of them that can be left out where nobody mentions them
    statics: tuple[int, ...] = ()  # tokens in front of which `static` is due: threadgroup variables
    arrays: tuple[tuple[int, Span], ...] = ()  # (name, brackets) of array parameters with an address space
    drops: tuple[Span, ...] = ()  # method qualifiers and repeated methods
    casts: tuple[tuple[Span, str], ...] = ()  # results of methods that lie in the space of `this`
    stages: tuple[Span, ...] = ()  # vertex, fragment and other functions metalloid does not compile
    builtins: tuple[GlobalBuiltin, ...] = ()  # variables that are the thread's place, for every function

    def entries(self) -> tuple[Entry, ...]:
        """Everything that can be asked for, in the order of the source."""
        defined = {kernel.qualified for kernel in self.kernels if kernel.body is not None}
        templates: dict[str, list[Kernel]] = {}
        found: list[tuple[int, Entry]] = []
        for kernel in self.kernels:
            if kernel.body is None and kernel.qualified in defined:
                continue
            if kernel.template:
                for called in {kernel.qualified, kernel.name}:
                    templates.setdefault(called, []).append(kernel)
            else:
                name = kernel.attributes.get("host_name", kernel.name)
                found.append((kernel.span.first, Entry(name, kernel.qualified, kernel)))
        for one in self.instantiations:
            qualified = one.expression.split("<")[0].replace(" ", "")
            overloads = templates.get(qualified) or templates.get(one.name)
            if overloads:
                found.append((one.span.first, _instantiated(one, overloads)))
        return tuple(entry for _, entry in sorted(found, key=lambda pair: pair[0]))


def _instantiated(one: Instantiation, overloads: Sequence[Kernel]) -> Entry:
    """Of several templates the one whose parameters are written, or the first that fits."""
    general = [kernel for kernel in overloads if not kernel.specialises]
    if len(general) <= 1 or not one.arguments:
        return Entry(one.host_name, one.expression, overloads[0], tuple(overloads[1:]))
    kernel = max(general, key=one.takes)
    parameters = ", ".join(" ".join(argument.words) for argument in one.arguments)
    return Entry(one.host_name, one.expression, kernel, type=(one.scope, parameters))


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
}


def whole_number(text: str) -> int | None:
    """The value of an expression of integer literals; None for anything else."""

    def value(node: ast.AST) -> int:
        match node:
            case ast.Constant(int(number)):
                return number
            case ast.UnaryOp(ast.USub(), operand):
                return -value(operand)
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return int(_OPERATORS[type(op)](value(left), value(right)))
        raise ValueError(text)

    try:
        return value(ast.parse(re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", text.strip()), mode="eval").body)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None

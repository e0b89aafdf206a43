"""The Metal text behind `mx.fast.metal_kernel`.

MLX takes the body of a kernel and writes the rest: parameters from the names and the arrays of one
call, thread attributes from the words that occur in the body, and an explicit instantiation when there
are template arguments. This module writes the same text, and says in which order the call binds it.
It knows no arrays and imports no MLX: an input is a dtype name and a shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Literal

from metalloid.source import MATH_MODES, MathMode, Source

# Inputs smaller than this many elements are bound to the constant address space.
CONSTANT_BELOW = 8

TYPE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "float",
        "float16": "float16_t",
        "bfloat16": "bfloat16_t",
        "complex64": "complex64_t",
        "bool": "bool",
        "bool_": "bool",
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    }
)

_UINT3 = """dispatch_threads_per_threadgroup grid_origin grid_size thread_position_in_grid
    thread_position_in_threadgroup threadgroup_position_in_grid threadgroups_per_grid threads_per_grid
    threads_per_threadgroup"""
_UINT = """dispatch_quadgroups_per_threadgroup dispatch_simdgroups_per_threadgroup
    quadgroup_index_in_threadgroup quadgroups_per_threadgroup simdgroup_index_in_threadgroup
    simdgroups_per_threadgroup thread_execution_width thread_index_in_quadgroup thread_index_in_simdgroup
    thread_index_in_threadgroup threads_per_simdgroup"""
ATTRIBUTES: Mapping[str, str] = MappingProxyType(
    {**dict.fromkeys(_UINT3.split(), "uint3"), **dict.fromkeys(_UINT.split(), "uint")}
)

BindingKind = Literal["input", "shape", "strides", "ndim", "output"]
_EXTRAS: tuple[tuple[BindingKind, str, str], ...] = (
    ("shape", "const constant int*", "_shape"),
    ("strides", "const constant int64_t*", "_strides"),
    ("ndim", "const constant int&", "_ndim"),
)


@dataclass(frozen=True)
class Dtype:
    """A template argument that is a type; `name` is MLX's, as in `mx.float16`."""

    name: str


TemplateValue = bool | int | Dtype


@dataclass(frozen=True)
class ArrayLike:
    """What the generated text depends on in one input."""

    dtype: str
    shape: tuple[int, ...] = ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Origin:
    """Where a quoted text comes from: line i of it is line `lines[i]` of the text called `name`.

    Without lines the text is its own origin, and diagnostics count from its first line.
    """

    name: str
    text: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class KernelText:
    """The arguments of the factory."""

    name: str
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    source: str
    header: str = ""
    ensure_row_contiguous: bool = True
    atomic_outputs: bool = False
    math: MathMode = "safe"
    source_origin: Origin | None = None
    header_origin: Origin | None = None
    called: tuple[str, int] = ("", 0)  # file and line of the call of the factory

    def __post_init__(self) -> None:
        if not self.output_names:
            raise ValueError(f"[metal_kernel {self.name}] output_names is empty; a kernel needs an output.")
        if self.math not in MATH_MODES:
            modes = ", ".join(map(repr, MATH_MODES))
            raise ValueError(f"[metal_kernel {self.name}] math_mode is {self.math!r}; pass one of {modes}.")


@dataclass(frozen=True)
class Binding:
    """What the call puts into one buffer: input or output number `position`, or an input's layout."""

    kind: BindingKind
    position: int
    name: str
    index: int


@dataclass(frozen=True)
class Generated:
    """The text of one call: compile `source`, ask for `kernel`, bind `bindings` in order."""

    source: Source
    kernel: str
    bindings: tuple[Binding, ...]


def math_mode(compile_options: Mapping[str, object] | None) -> MathMode:
    """The math mode of MLX's `compile_options`; "safe" when it says nothing."""
    options = dict(compile_options or {})
    mode = options.pop("math_mode", "safe")
    if options:
        raise ValueError(f"[metal_kernel] compile_options has no {sorted(options)[0]!r}; only 'math_mode'.")
    for known in MATH_MODES:
        if mode == known:
            return known
    raise ValueError(f"[metal_kernel] math_mode is {mode!r}; pass one of {', '.join(map(repr, MATH_MODES))}.")


def generate(
    kernel: KernelText,
    inputs: Sequence[ArrayLike],
    output_dtypes: Sequence[str],
    template: Iterable[tuple[str, TemplateValue]] = (),
) -> Generated:
    """The full text that MLX would compile for one call of `kernel`."""
    if not re.fullmatch(r"\w+", kernel.name, re.ASCII):
        raise ValueError(
            f"[metal_kernel {kernel.name}] the name becomes part of a function's name in Metal: "
            "only letters, digits and _ may stand in it."
        )
    _check_count(kernel.name, "inputs", len(kernel.input_names), len(inputs))
    _check_count(kernel.name, "output_dtypes", len(kernel.output_names), len(output_dtypes))
    arguments = tuple(template)
    parameters, bindings = _parameters(kernel, inputs, output_dtypes)
    function = f"custom_kernel_{kernel.name}"
    host_name = "_".join([function, *(_spelling(value).replace("-", "m") for _, value in arguments)])

    text = Text(f"{kernel.name}.metal")
    text.add("#include <mlx_utils.h>")
    text.quote(kernel.header, kernel.header_origin or Origin(f"{kernel.name} header", kernel.header))
    if arguments:
        text.add(f"template <{', '.join(f'{_kind(value)} {name}' for name, value in arguments)}>")
    text.add(f"[[kernel]] void {function}(")
    text.add(",\n".join(f"    {parameter}" for parameter in parameters) + ") {")
    text.quote(kernel.source, kernel.source_origin or Origin(f"{kernel.name} source", kernel.source))
    text.add("}")
    if arguments:
        instance = f"{function}<{', '.join(_spelling(value) for _, value in arguments)}>"
        text.add(f'template [[host_name("{host_name}")]] [[kernel]] decltype({instance}) {instance};')
    source = Source(
        text.text(),
        name=text.name,
        math=kernel.math,
        form="mlx",
        quoted=MappingProxyType(text.quoted),
        called=kernel.called,
    )
    return Generated(source, host_name, bindings)


def _parameters(
    kernel: KernelText, inputs: Sequence[ArrayLike], output_dtypes: Sequence[str]
) -> tuple[list[str], tuple[Binding, ...]]:
    """The parameter list, and the bindings of its buffers in order."""
    parameters: list[str] = []
    bindings: list[Binding] = []

    def bind(kind: BindingKind, position: int, name: str, declaration: str) -> None:
        parameters.append(f"{declaration} {name} [[buffer({len(bindings)})]]")
        bindings.append(Binding(kind, position, name, len(bindings)))

    for position, (name, array) in enumerate(zip(kernel.input_names, inputs, strict=True)):
        space = "constant" if array.size < CONSTANT_BELOW else "device"
        mark = "*" if array.ndim else "&"
        bind("input", position, name, f"const {space} {_type_name(array.dtype)}{mark}")
        for kind, declaration, suffix in _EXTRAS:
            if array.ndim and name + suffix in kernel.source:
                bind(kind, position, name + suffix, declaration)
    for position, (name, dtype) in enumerate(zip(kernel.output_names, output_dtypes, strict=True)):
        element = f"atomic<{_type_name(dtype)}>" if kernel.atomic_outputs else _type_name(dtype)
        bind("output", position, name, f"device {element}*")
    parameters += [f"{kind} {word} [[{word}]]" for word, kind in ATTRIBUTES.items() if word in kernel.source]
    return parameters, tuple(bindings)


class Text:
    """Collects lines; `#line` keeps every place in the text of its author."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.quoted: dict[str, str] = {}
        self._lines: list[str] = []

    def add(self, lines: str) -> None:
        self._lines.extend(lines.split("\n"))

    def quote(self, text: str, origin: Origin) -> None:
        if not text:
            return
        self.quoted[origin.name] = origin.text
        lines = text.split("\n")
        numbers = origin.lines or tuple(range(1, len(lines) + 1))
        expected, continued = -1, False
        for line, number in zip(lines, numbers, strict=True):
            # A directive would cut a macro that continues over the end of its line.
            if number != expected and not continued:
                self._lines.append(f'#line {number} "{_escape(origin.name)}"')
                expected = number
            self._lines.append(line)
            expected += 1
            continued = line.endswith("\\")
        # The marker itself takes a line, and the next one is the one it names.
        self._lines.append(f'#line {len(self._lines) + 2} "{_escape(self.name)}"')

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _type_name(dtype: str) -> str:
    if dtype not in TYPE_NAMES:
        raise ValueError(f"[metal_kernel] {dtype!r} is not a type MLX knows: {', '.join(TYPE_NAMES)}.")
    return TYPE_NAMES[dtype]


def _kind(value: TemplateValue) -> str:
    if isinstance(value, Dtype):
        return "typename"
    return "bool" if isinstance(value, bool) else "int"


def _spelling(value: TemplateValue) -> str:
    if isinstance(value, Dtype):
        return _type_name(value.name)
    return str(value).lower()


def _check_count(kernel: str, what: str, expected: int, arrived: int) -> None:
    if expected != arrived:
        raise ValueError(f"[metal_kernel {kernel}] {what} has {arrived} entries, expected {expected}.")

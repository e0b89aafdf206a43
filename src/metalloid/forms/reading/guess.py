"""What is known of a call of an inline kernel, and the guesses for the rest.

A static reading rarely knows an array's dtype. The guesses, in order: what the file says (`astype`, `dtype=`,
a compared dtype); what the kernel's text does with the input (`>>`, a pointer it is assigned to); its name
(`indices`, `lengths`, `packed`, `eps`); else float32, and float16 on a later attempt. Inputs used as plain
values are 0-d.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalloid.forms.mlx_source import ArrayLike, Dtype, KernelText, TemplateValue
from metalloid.forms.reading.evaluate import Evaluator
from metalloid.forms.reading.symbols import (
    MISSING,
    Symbol,
    guess_dtype,
    guess_number,
    is_pointer,
    looks_scalar,
)

REALS = ("float32", "float16")
LARGE = 64  # an extent that puts an input in the device address space

Arguments = tuple[list[ArrayLike], list[str], list[tuple[str, TemplateValue]]]


@dataclass(frozen=True)
class Known:
    """What the file says of one input or output; empty where it says nothing."""

    dtype: str = ""
    scalar: bool = False
    follows: str = ""  # the symbol whose dtype it has


@dataclass(frozen=True)
class Open:
    """A template argument that is the dtype of something unknown."""

    follows: str


@dataclass(frozen=True)
class Call:
    inputs: tuple[tuple[str, Known], ...] = ()
    outputs: tuple[tuple[str, Known], ...] = ()
    template: tuple[tuple[str, TemplateValue | Open], ...] = ()

    def guesses(
        self, input_names: tuple[str, ...], output_names: tuple[str, ...], source: str
    ) -> Iterator[Arguments]:
        """Arguments to try, each also with doubtful inputs reversed.

        Reals are what the template says where it says it of all its types, then float32, then float16.
        """
        told = [
            value.name for _, value in self.template if isinstance(value, Dtype) and "float" in value.name
        ]
        unsaid = any(isinstance(value, Open) for _, value in self.template)
        for real in dict.fromkeys((*REALS, *told) if unsaid else (*told, *REALS)):
            for flip in (False, True):
                yield self._guess(input_names, output_names, source, real, flip)

    def _guess(
        self, input_names: tuple[str, ...], output_names: tuple[str, ...], source: str, real: str, flip: bool
    ) -> Arguments:
        inputs, outputs = dict(self.inputs), dict(self.outputs)
        arrays = [_array(name, inputs.get(name, Known()), source, real, flip) for name in input_names]
        dtypes = []
        for name in output_names:
            known = outputs.get(name, Known())
            dtypes.append(known.dtype or (real if known.follows else guess_dtype(name, source, real)))
        template: list[tuple[str, TemplateValue]] = []
        for name, value in self.template:
            template.append((name, Dtype(real) if isinstance(value, Open) else value))
        return arrays, dtypes, template


def _array(name: str, known: Known, source: str, real: str, flip: bool) -> ArrayLike:
    dtype = known.dtype or (
        guess_dtype(name, source, real) if not known.scalar else _scalar_dtype(name, source)
    )
    pointer = is_pointer(name, source)
    scalar = known.scalar or looks_scalar(name, source)
    if flip and not known.scalar and not pointer:
        scalar = not scalar
    if scalar and not pointer:
        return ArrayLike(_scalar_dtype(name, source) if not known.dtype else dtype)
    axes = [int(n) for n in re.findall(rf"\b{name}_(?:shape|strides)\s*\[\s*(\d+)\s*\]", source)]
    small = re.search(rf"constant\s+(?:const\s+)?\w+\s*\*\s*\w+\s*=\s*{name}\b", source) is not None
    return ArrayLike(dtype, (4,) if small else (LARGE,) * (max(axes, default=0) + 1))


def _scalar_dtype(name: str, source: str) -> str:
    return guess_dtype(name, source, "float32")


def call_of(arguments: dict[str, object], text: KernelText, run: Evaluator) -> Call:
    """What one evaluated call of a kernel says."""
    inputs = _listed(arguments.get("inputs"))
    outputs = _listed(arguments.get("output_dtypes"))
    template: list[tuple[str, TemplateValue | Open]] = []
    for entry in _listed(arguments.get("template")):
        if isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[0], str):
            template.append((str(entry[0]), _template_value(str(entry[0]), entry[1], text, run)))
    return Call(
        tuple(zip(text.input_names, map(_known, inputs), strict=False)),
        tuple(zip(text.output_names, map(_known_dtype, outputs), strict=False)),
        tuple(template),
    )


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _known(value: object) -> Known:
    if isinstance(value, bool):
        return Known("bool", scalar=True)
    if isinstance(value, int):
        return Known("int32", scalar=True)
    if isinstance(value, float):
        return Known("float32", scalar=True)
    if isinstance(value, Symbol):
        dtype = _known_dtype(value.dtype if value.dtype is not None else value.attribute("dtype"))
        if value.hint in ("int", "float") and not dtype.dtype:
            return Known("int32" if value.hint == "int" else "float32", scalar=True)
        return Known(dtype.dtype, value.scalar, dtype.follows)
    return Known()


def _known_dtype(value: object) -> Known:
    if isinstance(value, Symbol) and value.bound is not MISSING:
        value = value.bound
    if isinstance(value, Dtype):
        return Known("bool" if value.name == "bool_" else value.name)
    return Known(follows=value.text if isinstance(value, Symbol) else "")


def _template_value(name: str, value: object, text: KernelText, run: Evaluator) -> TemplateValue | Open:
    if isinstance(value, Symbol):
        if value.bound is not MISSING:
            value = value.bound
        elif "dtype" in value.text or value.hint in ("dtype", "Dtype", "mx.Dtype"):
            return Open(value.text)
        elif run.definite(value):
            value = run.concrete(value)
    if isinstance(value, (bool, Dtype)):
        return value
    if isinstance(value, (int, float)):
        return int(value)
    return Open(name) if _is_type(name, _plain(text)) else int(guess_number(name))


_TYPE_USES = (
    r"\b(?:\w+_cast|as_type|vec|\w*[lL]imits|atomic|matrix)<\s*{name}\b",  # static_cast<T>, vec<T, 4>
    r"(?:^|[;{{(])\s*(?:const\s+)?{name}\s+\w+\s*[=;\[,)]",  # T x = ...
    r"\b(?:device|constant|threadgroup|thread|const)\s+(?:const\s+)?{name}\b",  # device T*
    r"\b{name}\s*\(",  # T(x)
    r"\(\s*{name}\s*\)\s*[\w(]",  # (T)x
)


def _plain(text: KernelText) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", "", text.source, flags=re.DOTALL)


def _type_like(name: str) -> bool:
    return re.fullmatch(r"T\d*|\w*T|\w*[tT]ype|\w+_t", name) is not None


def _is_type(name: str, plain: str) -> bool:
    """Whether the text uses the name as a type."""
    argument = rf"<\s*(?:[\w:]+\s*,\s*)*{name}\s*(?:,\s*[\w:]+\s*)*>"  # f<T>: a type or a number
    return bool(_type_like(name) and re.search(argument, plain)) or any(
        re.search(use.format(name=name), plain, re.MULTILINE) for use in _TYPE_USES
    )


_WORD = re.compile(r"\b[A-Z]\w*\b")
_KNOWN_WORDS = ("INFINITY", "NAN", "Limits", "METAL_FUNC", "MLX_MTL_PRAGMA_UNROLL", "HUGE_VALF")
_DECLARED = (
    r"(?:^|[;{{}}(,])\s*(?:(?:const|constexpr|threadgroup|device|thread|static|constant)\s+)*"
    r"(?!return\b|else\b)[A-Za-z_][\w:]*(?:<[\w:, ]*>)?[\s*&]+{name}\s*(?:=(?!=)|;|\[|\(|,|\))"
)
_NAMED = (
    r"#define\s+{name}\b|(?:^|[;}}])\s*(?:struct|class|enum|union)\s+{name}\b|\busing\s+{name}\s*="
    r"|\btypedef\s[^;]*\b{name}\s*;|\bconst(?:expr)?\s[^;=()]*\b{name}\s*="
)


def templates_in(text: KernelText) -> tuple[tuple[str, TemplateValue | Open], ...]:
    """Template arguments of a kernel that nobody calls: capitalised names that its text does not declare."""
    plain = _plain(text)
    names: dict[str, TemplateValue | Open] = {}
    known = {*text.input_names, *text.output_names, *_KNOWN_WORDS}
    for name in dict.fromkeys(_WORD.findall(plain)):
        if name in known or re.search(_NAMED.format(name=name), f"{text.header}\n{plain}", re.MULTILINE):
            continue
        if _is_type(name, plain):
            names[name] = Open(name)
        elif not re.search(_DECLARED.format(name=name), plain, re.MULTILINE):
            names[name] = int(guess_number(name))
    return tuple(names.items())

"""Values that are not known without running a program, and what to take for them.

Reading a Python file statically leaves parameters, shapes and dtypes open. A `Symbol` stands for one of them.
Where a definite value is needed to go on (a number inside an f-string, a template argument) the documented
guess below is used: whether the kernel's text is right does not depend on it, but it must be plausible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

MISSING: Final = object()

DTYPES: Final = (
    *("float32", "float16", "bfloat16", "complex64", "bool_"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)

# Plausible sizes, by the last word of a name; the first pattern that matches counts.
_NUMBERS: Final[tuple[tuple[str, int], ...]] = (
    (r"bits?$|^bits", 4),
    (r"group_?size$|^gs$", 64),
    (r"levels?$", 2),
    (r"ndim$", 3),
    (r"^(n_?)?(simd|sg|warps?)(_?groups?)?$|num_simdgroups|^wm$|^wn$", 4),
    (r"^t$|repeat|hc_mult|verify_?(t|length)|^length$|^batch|^r$|iters|^kernel_size$|conv", 4),
    (r"eps$", 0),
    (r"top_?k|^k$|^h[kvq]?$|heads?$|experts?$|groups?$|blocks$", 8),
    (r"threads?$|^tg|threadgroup|block_size|tile|chunk", 128),
    (r"packed|words", 16),
    (r"vocab|^n_?size$|^k_?size$|hidden|output|input|^w$|width|seq|len|tokens|selected", 512),
)
_NUMBER_DEFAULT: Final = 128
_NUMBERS_COMPILED = tuple((re.compile(pattern), value) for pattern, value in _NUMBERS)

_REAL_NAME = re.compile(r"eps$|scale$|epsilon|theta|alpha|beta$|softcap", re.IGNORECASE)
_INDEX_NAME = re.compile(
    r"(idx|ids?|inds?|indices|index|lengths?|lens?|offsets?|positions?|selector|pads|starts?|ends|counts?|dims|meta|"
    r"[a-z]_?size|shape|seq_len|steps?|kshape)$",
    re.IGNORECASE,
)
_PACKED_NAME = re.compile(r"(packed|signs|_?packed_weights|bitmask|angles_\d+|mse)$|^wq$|_wq$", re.IGNORECASE)


@dataclass(eq=False)
class Symbol:
    """Something unknown; `name` is the last word for it, `text` the expression."""

    text: str
    name: str
    hint: str = ""  # its annotation, or what an operation says about it: "int", "bool", "array", ...
    default: object = MISSING
    dtype: object = None  # a Dtype or a Symbol, where an array's is known
    scalar: bool = False  # an array made of one number
    attributes: dict[str, Symbol] = field(default_factory=dict)
    cell: list[object] = field(default_factory=lambda: [MISSING])
    truth: bool | None = None

    @property
    def bound(self) -> object:
        """The value that a comparison on this path gave it."""
        return self.cell[0]

    @bound.setter
    def bound(self, value: object) -> None:
        self.cell[0] = value

    def unify(self, other: Symbol) -> None:
        """From now on both are the same value."""
        if self.bound is MISSING:
            self.cell = other.cell
        else:
            other.cell = self.cell

    def attribute(self, name: str) -> Symbol:
        if name not in self.attributes:
            hint = {"ndim": "int", "size": "int", "shape": "shape", "dtype": "dtype"}.get(name, "")
            self.attributes[name] = Symbol(f"{self.text}.{name}", name, hint)
        return self.attributes[name]

    @property
    def numeric(self) -> bool:
        return self.hint in ("int", "float") or (
            self.hint == "" and any(pattern.search(self.name.lower()) for pattern, _ in _NUMBERS_COMPILED)
        )


def guess_number(name: str, hint: str = "") -> int | float:
    """A plausible value of a number called `name`."""
    lowered = name.lower()
    if hint == "float" or _REAL_NAME.search(lowered):
        return 1e-5
    return next((value for pattern, value in _NUMBERS_COMPILED if pattern.search(lowered)), _NUMBER_DEFAULT)


def guess_dtype(name: str, source: str, real: str = "float32") -> str:
    """The dtype of an input called `name`: what the text does with it, else its name, else `real`."""
    declared = re.search(
        rf"(?:device|constant)\s+(?:const\s+)?(\w+)\s*\*\s*(?:const\s+)?\w+\s*=\s*(?:\(.*?\*\)\s*)?{name}\b(?!\s*\[)",
        source,
    )
    cast = re.search(
        rf"(?:\(\s*(?:const\s+)?device\s+(?:const\s+)?\w+\s*\*\s*\)|_cast<[^<>]*\*\s*>)\s*\(?\s*{name}\b",
        source,
    )
    if cast:
        return "uint32"
    if declared and declared.group(1) in _MSL_DTYPES:
        return _MSL_DTYPES[declared.group(1)]
    aliases = re.findall(rf"\bauto\s*\*?\s*(\w+)\s*=\s*{name}\b(?!\s*\[)", source)
    element = rf"\b(?:{'|'.join([name, *aliases])})\s*\[[^\[\]]*(?:\[[^\]]*\])?[^\[\]]*\]"
    if re.search(rf"{element}\s*\)?\s*(>>|<<|&(?!&)|\|(?!\|))", source) or re.search(
        rf"(>>|<<)\s*{element}", source
    ):
        return "uint32"
    if _PACKED_NAME.search(name):
        return "uint32"
    if name in ("mask",) or name.endswith("_mask"):
        return "bool"
    if _INDEX_NAME.search(name) or name in ("T", "N", "M", "K"):
        return "int32"
    if re.search(rf"\bu?int(?:32_t)?\s+\w+\s*=\s*(?:u?int\s*\(\s*)?{element}", source):
        return "int32"
    return real


def is_pointer(name: str, source: str) -> bool:
    """Whether the text can only mean an array: it indexes it, asks for its shape, makes a pointer of it."""
    uses = (
        rf"\b{name}\s*\[|=\s*{name}\s*\+(?!=)|\b{name}_(?:shape|strides|ndim)\b",
        rf"\*\s*\w+\s*=\s*{name}\b|\*\s*[)>]\s*\(?\s*{name}\b",
    )
    if any(re.search(use, source) for use in uses):
        return True
    targets = re.findall(rf"\b(\w+)\s*=\s*{name}\s*;", source)
    return any(re.search(rf"\*\s*{target}\b", source) for target in targets)


def looks_scalar(name: str, source: str) -> bool:
    """Whether the text seems to use the input as one value."""
    return not is_pointer(name, source) and re.search(rf"\b{name}\b", source) is not None


_MSL_DTYPES: Final = {
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "uint": "uint32",
    "int": "int32",
    "uchar": "uint8",
    "char": "int8",
    "ushort": "uint16",
    "short": "int16",
    "half": "float16",
    "bfloat": "bfloat16",
    "float": "float32",
    "bfloat16_t": "bfloat16",
    "float16_t": "float16",
}

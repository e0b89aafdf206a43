"""The Metal kernels of PyTorch's ATen, from Debian's source package: its `.metal` files, and texts in host code.

The texts are templates that the host fills in with types when an operation is first used. Math is safe unless a user
of PyTorch asks for fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.cases import Case
from conformance.debian import DebianSource, fetch_source
from metalloid.frontend.parse import parse
from metalloid.source import Source

PACKAGE = DebianSource("pytorch", r"/aten/src/ATen/(native/)?mps/", "trixie")  # version 2.6.0
_TEXT = re.compile(r'(?:(\w+_TEMPLATE) = )?R"(METAL\w*)\((.*?)\)\2"', re.S)
# What the host fills in: the output's and the input's type; for copies through strides a conversion as well.
_UNARY = (("float", "float"), ("half", "half"), ("bfloat", "bfloat"), ("float", "int"))
_VIEWS = (
    ("float", "float", "static_cast<float>(x)"),
    ("float", "half", "static_cast<half>(x)"),
    ("long", "long", "static_cast<long>(x)"),
    ("bool", "bool", "static_cast<bool>(x)"),
    ("int", "float2", "float2(x, 0.0)"),
)
_GAMMA = (("float", "float"), ("half", "half"), ("bfloat", "bfloat"), ("int", "float"))
_BITWISE = (("int", "int", "int"), ("long", "int", "long"), ("short", "uchar", "short"))
FILLED = {  # by the name of the text, or the file that has only one
    "UNARY_KERNEL_TEMPLATE": _UNARY,
    "SCATTER_OPS_TEMPLATE": _VIEWS,
    "GATHER_OPS_TEMPLATE": _VIEWS,
    "Gamma.mm": _GAMMA,
    "BitwiseOps.mm": _BITWISE,
}


def cases() -> list[Case]:
    """None where the sources of Debian's packages cannot be had."""
    return [
        Case("pytorch", source.name, entry.name, ((source, entry.name),))
        for source in sources()
        for entry in parse(source).entries
    ]


def sources() -> Iterator[Source]:
    """Every text, under the name of its file and the types it is filled in with."""
    folder = fetch_source(PACKAGE)
    if folder is None:
        return
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".metal", ".mm", ".h")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".metal":
            yield Source(text, name=path.name, math="safe")
            continue
        for template, _, msl in _TEXT.findall(text):
            for words in FILLED[template or path.name]:
                which = [w for w in ("scatter", "gather") if template.startswith(w.upper())]
                name = " ".join((path.name, *which, *words[:2]))
                yield Source(msl.format(*words), name=name, math="safe")  # fmt's rules are Python's

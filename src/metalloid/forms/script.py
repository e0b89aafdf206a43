"""A kernel in one line of a script: `metal_kernel("y[i] = a * x[i] + y[i];", a=2.0, x=x, y=y)`.

The text is the body of a kernel. Arguments are known in it by their names: arrays as pointers to what they hold,
numbers as numbers. `i` is the thread's position, and every attribute that occurs in the body (MLX's words, such as
`thread_position_in_grid`) is there too. Arrays are changed in place.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from metalloid.errors import LaunchError
from metalloid.forms.mlx_source import ATTRIBUTES, Origin, Text
from metalloid.runtime.arguments import WRITES
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.device import device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.runtime.places import caller
from metalloid.runtime.processor import Processor
from metalloid.runtime.sizes import Size
from metalloid.source import MathMode, Source

NAME = "metal_kernel"
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "float",
        "float16": "half",
        "bfloat16": "bfloat",
        "complex64": "float2",
        "bool": "bool",
        "int8": "char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "uint8": "uchar",
        "uint16": "ushort",
        "uint32": "uint",
        "uint64": "ulong",
    }
)
_MOST = 256
_made: OrderedDict[object, Kernel] = OrderedDict()


def metal_kernel(
    body: str,
    *,
    grid: Size | None = None,
    threadgroup: Size | None = None,
    header: str = "",
    math: MathMode = "fast",
    **arguments: Any,
) -> Any:
    """Run `body` in every thread of the grid, and wait; returns the array that it writes, or a tuple of several.

    Without a grid there is one thread for each element of the last array. `header` goes before the kernel. A body
    that writes no array gives None.
    """
    arrays = [value for value in arguments.values() if isinstance(value, np.ndarray | Buffer)]
    if not arrays:
        raise LaunchError(f"[{NAME}] no argument is an array: nothing could come out.")
    declared = tuple((name, _declaration(name, value)) for name, value in arguments.items())
    own = next((a.device for a in arrays if isinstance(a, Buffer)), None) or device()
    kernel = _kernel(own, body, header, math, declared)
    threads = prod(arrays[-1].shape) if grid is None else grid
    kernel(*(_value(v) for v in arguments.values()), grid=threads, threadgroup=threadgroup)
    written = tuple(arguments[p.name] for p in kernel.signature.buffers if p.access in WRITES)
    return written if len(written) > 1 else written[0] if written else None


def _kernel(
    own: Processor, body: str, header: str, math: MathMode, declared: tuple[tuple[str, str], ...]
) -> Kernel:
    key = (id(own), body, header, math, declared)
    found = _made.get(key)
    if found is None:
        found = _made[key] = Library(own, body_source(body, header, math, declared), {})[NAME]
        if len(_made) > _MOST:
            _made.popitem(last=False)
    return found


def body_source(
    body: str,
    header: str,
    math: MathMode,
    declared: tuple[tuple[str, str], ...],
    origins: tuple[Origin, Origin] | None = None,
) -> Source:
    """The whole text; mistakes are told in the lines of the body, or of where body and header come from."""
    of_body, of_header = origins or (Origin(NAME, body), Origin(f"{NAME} header", header))
    words = set(re.findall(r"\w+", body)) | {"thread_position_in_grid"}
    parameters = [f"{what} {name} [[buffer({n})]]" for n, (name, what) in enumerate(declared)]
    parameters += [f"{kind} {word} [[{word}]]" for word, kind in ATTRIBUTES.items() if word in words]
    text = Text(f"{NAME}.metal")
    text.add("#include <metal_stdlib>\nusing namespace metal;")
    text.quote(header, of_header)
    text.add(f"kernel void {NAME}({', '.join(parameters)}) {{")
    text.add("[[maybe_unused]] const uint i = thread_position_in_grid.x;")
    text.quote(body, of_body)
    text.add("}")
    quoted = MappingProxyType(text.quoted)
    return Source(text.text(), name=text.name, math=math, quoted=quoted, called=caller())


def _declaration(name: str, value: object) -> str:
    """How a parameter for this argument is declared, up to its name."""
    if name == "i" or name in ATTRIBUTES:
        raise LaunchError(f"[{NAME}] '{name}' is the thread's own; call the argument something else.")
    if isinstance(value, np.ndarray | Buffer):
        kind = TYPES.get(np.dtype(value.dtype).name)
        if kind is None:
            known = ", ".join(TYPES)
            raise LaunchError(f"[{NAME}] '{name}' holds {value.dtype}; arrays hold one of {known}.")
        read_only = isinstance(value, np.ndarray) and not value.flags.writeable
        return f"device {'const ' if read_only else ''}{kind}*"
    return f"constant {_number(name, value)}&"


def _number(name: str, value: object) -> str:
    if isinstance(value, np.generic) and value.dtype.name in TYPES:
        return TYPES[value.dtype.name]
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**31) <= value < 2**31 else "long" if value < 2**63 else "ulong"
    if isinstance(value, float):
        return "float"
    raise LaunchError(
        f"[{NAME}] '{name}' is a {type(value).__name__}; pass numpy arrays, buffers and numbers."
    )


def _value(value: object) -> object:
    if isinstance(value, np.ndarray) and value.dtype == np.complex64 and value.flags.c_contiguous:
        return value.view(np.float32)  # pairs of floats, as float2 is
    return value.item() if isinstance(value, np.generic) else value

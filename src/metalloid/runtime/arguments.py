"""What a caller passes, as the memory that a kernel's parameters are bound to.

Every refusal shows the kernel's signature: the reader should not have to look for the source to see
what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from metalloid.errors import LaunchError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.pack import NUMPY, layout, pack
from metalloid.runtime.processor import Processor
from metalloid.types import Array, Matrix, Parameter, Scalar, Signature, Struct, Type, Vector

Memory = np.ndarray[Any, Any]
Resources = list[tuple[int, Memory]]
WRITES = ("write", "read_write")


def bound(
    signature: Signature,
    given: Sequence[object],
    named: Mapping[str, object],
    device: Processor | None = None,
    overlap: bool = False,
) -> tuple[dict[int, Memory], Resources]:
    """Memory by buffer index; and memory that only pointers inside arguments lead to."""
    values = matched(signature, given, named)
    resources: Resources = []
    memory: dict[int, Memory] = {}
    for parameter in signature.buffers:
        value = values[parameter.index]
        if value is not None:
            memory[parameter.index] = argument(signature, parameter, value, resources, device)
    if not overlap:
        refuse_overlaps(signature, memory)
    return memory, resources


def untouched(signature: Signature, given: Sequence[object], named: Mapping[str, object]) -> dict[int, int]:
    """Buffers whose bytes nobody but launches has set, and how many did before this one: 0 is nobody."""
    values = matched(signature, given, named)
    buffers = {p: values[p.index] for p in signature.buffers}
    found = {p: b for p, b in buffers.items() if isinstance(b, Buffer) and b.launches >= 0}
    before = {p.index: b.launches for p, b in found.items()}
    for parameter, buffer in found.items():
        buffer.launches += parameter.access in WRITES
    return before


def labels(signature: Signature, given: Sequence[object], named: Mapping[str, object]) -> dict[int, str]:
    """What the caller called the buffers, where a label says so."""
    values = matched(signature, given, named).items()
    return {index: value.label for index, value in values if isinstance(value, Buffer) and value.label}


def untouched_inside(*values: Iterable[object]) -> frozenset[int]:
    """Addresses of buffers inside structs whose bytes nobody has set; a kernel may set them from now on."""
    found = set()
    work = [value for part in values for value in part if not isinstance(value, Buffer)]
    while work:
        value = work.pop()
        if isinstance(value, Mapping):
            work += value.values()
        elif isinstance(value, list | tuple):
            work += value
        elif isinstance(value, Buffer) and value.fresh:
            found.add(value.address)
            value.fresh = False
    return frozenset(found)


# What launches are called elsewhere, and what is meant here.
MEANT = {
    **dict.fromkeys(
        ("threadgroup_size", "group_size", "block", "block_size", "threads_per_group"), "threadgroup"
    ),
    **dict.fromkeys(("threads", "grid_size", "n_threads", "num_threads", "global_size"), "grid"),
    **dict.fromkeys(("groups", "num_groups", "n_groups", "grid_groups"), "threadgroups"),
}


def unshared(inputs: frozenset[int], memory: Mapping[int, Memory]) -> frozenset[int]:
    """Inputs less those whose memory is bound a second time, to be written."""
    others = [m for index, m in memory.items() if index not in inputs]
    shared = {i for i in inputs if i in memory and any(np.may_share_memory(memory[i], m) for m in others)}
    return inputs - shared


def matched(signature: Signature, given: Sequence[object], named: Mapping[str, object]) -> dict[int, object]:
    """Each value with the index of its parameter."""
    parameters = signature.buffers
    if len(given) > len(parameters):
        refuse(signature, f"takes {len(parameters)} arguments; got {len(given)}.")
    values: dict[int, object] = {p.index: v for p, v in zip(parameters, given, strict=False)}
    by_name = {p.name: p for p in parameters}
    for name, value in named.items():
        parameter = by_name.get(name)
        if parameter is None:
            meant = MEANT.get(name, "")
            hint = f" Did you mean {meant}=?" if meant else ""
            refuse(signature, f"has no argument '{name}'; it takes {', '.join(by_name) or 'none'}.{hint}")
        if parameter.index in values:
            refuse(signature, f"argument '{name}' is given twice.")
        values[parameter.index] = value
    for parameter in parameters:
        if parameter.index not in values:
            refuse(
                signature,
                f"argument '{parameter.name}' ({parameter}) is missing.\n"
                f"Pass it in the order of buffer indices, or as {parameter.name}=...; None leaves it unbound.",
            )
    return values


def argument(
    signature: Signature,
    parameter: Parameter,
    value: object,
    resources: Resources,
    device: Processor | None = None,
) -> Memory:
    """One argument as memory: arrays and buffers as they are, values as bytes."""
    if isinstance(value, Buffer):
        if device is not None and value.device is not None and value.device is not device:
            refuse(
                signature,
                f"'{parameter.name}' is a buffer of {value.device}; this kernel is of {device}.\n"
                "Copy it over: device.buffer(other.numpy(), copy=True).",
            )
        return _array(signature, parameter, value.memory())
    if isinstance(value, np.ndarray):
        converted = (
            parameter.reference and parameter.access not in WRITES and _converts(parameter.type, value)
        )
        return _value(signature, parameter, value) if converted else _array(signature, parameter, value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(signature, parameter, value)
    there = device.backend.taken(value) if device is not None else None
    if there is not None:
        return _array(signature, parameter, there)
    if parameter.access in WRITES:
        refuse(
            signature,
            f"'{parameter.name}' is written by the kernel; got {_called(value)}, where the result would be lost.\n"
            "Pass a numpy array or a Buffer.",
        )
    structured = isinstance(value, Mapping | np.void) and isinstance(parameter.type, Struct)
    if not parameter.reference and not structured:
        refuse(
            signature,
            f"'{parameter.name}' takes an array ({parameter}); got {_called(value)}.\n"
            "Is an argument missing or misplaced? One element goes as np.array([...]).",
        )
    if isinstance(value, Mapping):
        collect(value, resources)
    return _value(signature, parameter, value)


def collect(value: object, resources: Resources) -> None:
    """Arrays inside a struct: a kernel reaches them by pointer."""
    if isinstance(value, Mapping):
        for inner in value.values():
            collect(inner, resources)
    elif isinstance(value, Buffer):
        resources.append((value.address, value.memory()))
    elif isinstance(value, np.ndarray):
        resources.append((int(value.ctypes.data), value))
    elif isinstance(value, list | tuple):
        for inner in value:
            collect(inner, resources)


def refuse_overlaps(signature: Signature, memory: Mapping[int, Memory]) -> None:
    """Memory that is written under one name and bound under another as well."""
    written = [p for p in signature.buffers if p.access in WRITES and p.index in memory]
    for one in written:
        for other in signature.buffers:
            if other.index == one.index or other.index not in memory:
                continue
            a, b = memory[one.index], memory[other.index]
            if a.nbytes and b.nbytes and np.may_share_memory(a, b):
                same = a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes
                refuse(
                    signature,
                    f"'{one.name}' is written and {'is' if same else 'overlaps'} the same memory as '{other.name}'.\n"
                    "Threads run in any order. Pass a copy, or overlap=True where every thread touches only its own"
                    " elements.",
                )


def refuse(signature: Signature, message: str) -> NoReturn:
    raise LaunchError(f"[launch {signature.name}] {message}\n{signature}")


def _value(signature: Signature, parameter: Parameter, value: object) -> Memory:
    try:
        data = pack(parameter.type, value, f"[launch {signature.name}] '{parameter.name}'")
    except LaunchError as error:
        raise LaunchError(f"{error}\n{signature}", error.rule) from None
    return np.frombuffer(bytearray(data), np.uint8)


def _bytes(signature: Signature, parameter: Parameter, value: bytes | bytearray | memoryview) -> Memory:
    view = memoryview(value)
    if view.readonly and parameter.access in WRITES:
        refuse(
            signature, f"'{parameter.name}' is written by the kernel; got read-only bytes. Pass a bytearray."
        )
    if not view.c_contiguous:
        refuse(signature, f"'{parameter.name}' is a memoryview with gaps; pass contiguous memory.")
    size = parameter.type.size
    if view.nbytes < size or (parameter.reference and view.nbytes != size) or view.nbytes % size:
        many = "" if parameter.reference else " each"
        refuse(
            signature,
            f"'{parameter.name}' takes {size} bytes{many}; got {view.nbytes}.\n{layout(parameter.type)}",
        )
    return np.frombuffer(view, np.uint8)


def _array(signature: Signature, parameter: Parameter, value: Memory) -> Memory:
    name, type = parameter.name, parameter.type
    wanted = element(type)
    if wanted is not None and value.dtype != wanted and not alike(value.dtype, wanted):
        refuse(
            signature,
            f"'{name}' is declared {type}; got an array of {value.dtype}.\n"
            f"Pass {wanted}, for example {name}.astype('{wanted}').",
        )
    if not value.flags.c_contiguous:
        refuse(
            signature,
            f"'{name}' is not contiguous (shape {value.shape}, strides {value.strides}).\n"
            "Pass np.ascontiguousarray(...) and copy the result back.",
        )
    if not value.flags.writeable and parameter.access in WRITES:
        refuse(
            signature, f"'{name}' is written by the kernel; the array is read-only.\nPass a writable copy."
        )
    if isinstance(type, Vector) and type.length == 3 and not type.packed and value.shape[1:][-1:] == (3,):
        refuse(
            signature,
            f"'{name}' is declared {type}, which takes {type.size} bytes; the array has rows of 3,"
            f" {3 * type.element.size} bytes.\nDeclare packed_{type} in the kernel, or pass rows of 4.",
        )
    if isinstance(type, Struct) and value.nbytes % type.size:
        refuse(
            signature, f"'{name}' takes {type.size} bytes each; got {value.nbytes}.\n{_layouts(type, value)}"
        )
    if value.dtype.names is not None and value.dtype.itemsize != type.size:
        refuse(
            signature,
            f"'{name}' takes {type.size} bytes each; got records of {value.dtype.itemsize}.\n{_layouts(type, value)}",
        )
    if isinstance(type, Struct) and (field := _misplaced(type, value.dtype)):
        refuse(
            signature,
            f"'{name}' has '{field}' elsewhere than the kernel, or as another type.\n{_layouts(type, value)}",
        )
    if parameter.reference and value.nbytes != type.size:
        refuse(
            signature,
            f"'{name}' is one {type} ({type.size} bytes); got an array of shape {value.shape}, {value.nbytes} bytes.\n"
            "Is an argument missing or misplaced?",
        )
    return value.view(np.uint16) if value.dtype.name == "bfloat16" else value  # memoryview knows no bfloat16


def _misplaced(type: Struct, record: np.dtype[Any]) -> str:
    """The first field of a record that the struct has under this name, and the kernel would read wrongly."""
    known = {} if type.union else {field.name: field for field in type.fields}
    for name, (inner, offset, *_) in (record.fields or {}).items():
        field, have = known.get(name), inner.base
        if field is None:
            continue
        if field.offset != offset or field.bits:
            return name
        if isinstance(field.type, Struct) and (deeper := _misplaced(field.type, have)):
            return f"{name}.{deeper}"
        want = element(field.type)
        whole = (
            want is not None and have.kind in "iu" and want.kind in "iu" and have.itemsize == want.itemsize
        )
        if not have.isnative or (want is not None and have != want and not whole and not alike(have, want)):
            return name
    return ""


def _layouts(type: Type, value: Memory) -> str:
    fields = value.dtype.fields or {}
    lines = [f"    +{offset:<5} {inner} {name}" for name, (inner, offset, *_) in fields.items()]
    return "\n".join([f"  expected\n{layout(type)}", f"  got {value.dtype.itemsize} bytes each", *lines])


def _converts(type: Type, value: Memory) -> bool:
    """Whether an array is a value to be converted, as np.array(3) is. Rows of a matrix are: it lies by columns."""
    wanted = element(type)
    if isinstance(type, Matrix) and value.shape == (type.rows, type.columns):
        return bool(value.dtype != np.uint8)
    if wanted is None or (value.dtype == wanted and value.nbytes == type.size):
        return False
    return (
        value.size == 1 if isinstance(type, Scalar) else value.dtype.names is None and value.dtype != np.uint8
    )


def element(type: Type) -> np.dtype[Any] | None:
    """The dtype an array for this type has; None where any will do."""
    if isinstance(type, Scalar):
        return NUMPY[type.dtype]
    if isinstance(type, Vector | Matrix):
        return NUMPY[type.element.dtype]
    if isinstance(type, Array) and not isinstance(type.element, Matrix):  # those lie by columns
        return element(type.element)
    return None


def alike(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """Bits that may stand in for each other: bfloat16 as uint16, bool as bytes; raw bytes for anything."""
    if have == np.uint8 or have.names is not None:
        return True
    return have.itemsize == want.itemsize and (
        (want.name == "bfloat16" and have == np.uint16) or (want == np.bool_ and have.itemsize == 1)
    )


def _called(value: object) -> str:
    if isinstance(value, int | float | str | np.generic):
        return f"{value!r} ({value.__class__.__name__})"
    return f"a {value.__class__.__name__}"

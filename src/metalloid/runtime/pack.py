"""Turn Python values into the bytes a kernel's parameter expects.

A number must fit its type: 3.5 is no int, 300 is no uchar. A struct comes as a dict by field name, as a
numpy record, or as bytes of the right size; vectors and matrices as sequences or arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from metalloid.errors import LaunchError
from metalloid.types import Array, DType, Field, Matrix, Pointer, Scalar, Struct, Type, Vector


class _Kinds(dict[DType, np.dtype[Any]]):
    """Looked up when they are first asked for: few programs have numbers of bfloat, and ml_dtypes takes 6 ms."""

    def __missing__(self, dtype: DType) -> np.dtype[Any]:
        name: Any = dtype.numpy_name
        if dtype is DType.BFLOAT16:
            from ml_dtypes import bfloat16 as name
        self[dtype] = np.dtype(name)
        return self[dtype]


NUMPY = _Kinds()
_WHOLE = (DType.INT32, DType.UINT32, DType.INT64, DType.UINT64)
_LARGEST = {DType.FLOAT16: 65504.0, DType.BFLOAT16: 3.3895314e38, DType.FLOAT32: 3.4028235e38}
_REAL = frozenset(_LARGEST)


def pack(type: Type, value: object, where: str) -> bytes:
    """The bytes of `value` as a `type`; `where` names the parameter in messages."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _raw(type, bytes(value), where)
    if isinstance(value, np.void):
        return _record(type, value, where)
    match type:
        case Scalar(dtype):
            return scalar(dtype, value, where)
        case Vector():
            return _vector(type, value, where)
        case Matrix():
            return _matrix(type, value, where)
        case Array(element, length):
            items = _items(value, length, type, where)
            return b"".join(pack(element, item, f"{where}[{i}]") for i, item in enumerate(items))
        case Struct():
            return _struct(type, value, where)
        case Pointer():
            return _address(type, value, where)


def scalar(dtype: DType, value: object, where: str) -> bytes:
    """One number, refused where it would change."""
    number = _number(value, dtype, where)
    if dtype is DType.BOOL:
        if number not in (0, 1):
            raise LaunchError(f"{where} is a bool; got {value!r}.\nPass True or False.", "M307")
        return struct.pack("?", bool(number))
    if dtype in _REAL:
        return _real(dtype, number, value, where)
    if int(number) != number:
        raise LaunchError(
            f"{where} is declared {dtype.msl}; {value!r} would lose its fraction.\n"
            "Pass a whole number, or declare it float in the kernel.",
            "M307",
        )
    low, high = _range(dtype)
    if not low <= number <= high:
        raise LaunchError(
            f"{where} is declared {dtype.msl}, which holds {low} to {high}; {value!r} does not fit.\n"
            f"Pass a number in that range, or declare it {_wider(number)} in the kernel.",
            "M307",
        )
    return int(number).to_bytes(dtype.size, "little", signed=low < 0)


def _real(dtype: DType, number: int | float, value: object, where: str) -> bytes:
    """A real number, rounded; refused where it overflows, and where a whole number would become another."""
    try:
        with np.errstate(over="ignore"):
            made = NUMPY[dtype].type(float(number))
    except OverflowError:
        made = NUMPY[dtype].type(np.inf)
    if np.isinf(made) and number not in (np.inf, -np.inf):
        raise LaunchError(
            f"{where} is declared {dtype.msl}; {value!r} is too large and would become infinite.\n"
            f"Pass a number up to {_LARGEST[dtype]:g} in size.",
            "M307",
        )
    if isinstance(number, int) and int(made) != number:
        raise LaunchError(
            f"{where} is declared {dtype.msl}; {value!r} would become {int(made)}.\n"
            "Pass a float where rounding is meant, or declare it as an integer in the kernel.",
            "M307",
        )
    return bytes(made.tobytes())


def _number(value: object, dtype: DType, where: str) -> int | float:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(()).item()
    elif isinstance(value, np.generic):
        value = float(value) if value.dtype.name == DType.BFLOAT16.numpy_name else value.item()
    if not isinstance(value, (bool, int, float)):
        raise LaunchError(f"{where} is declared {dtype.msl}; got {_called(value)}. Pass a number.")
    if isinstance(value, float) and dtype not in _REAL and (value != value or value in (np.inf, -np.inf)):
        raise LaunchError(
            f"{where} is declared {dtype.msl}; {value!r} is no whole number.\nPass a whole number.", "M307"
        )
    return value


def _wider(number: int | float) -> str:
    """An integer type that holds a number."""
    return next((d.msl for d in _WHOLE if _range(d)[0] <= number <= _range(d)[1]), "float")


@cache
def _range(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(NUMPY[dtype])
    return int(info.min), int(info.max)


def _vector(type: Vector, value: object, where: str) -> bytes:
    if isinstance(value, (int, float)):
        raise LaunchError(
            f"{where} is a {type}; got the single number {value!r}. Pass {type.length} numbers."
        )
    items = _items(value, type.length, type, where)
    data = b"".join(scalar(type.element.dtype, item, f"{where}[{i}]") for i, item in enumerate(items))
    return data.ljust(type.size, b"\0")


def _matrix(type: Matrix, value: object, where: str) -> bytes:
    """Rows of the array are rows of the matrix; in memory a matrix lies by columns."""
    rows = np.asarray(value)
    if rows.shape != (type.rows, type.columns):
        raise LaunchError(
            f"{where} is a {type}: {type.rows} rows of {type.columns}; got an array of shape {rows.shape}."
        )
    column = Vector(type.element, type.rows)
    return b"".join(_vector(column, rows[:, i].tolist(), f"{where}[{i}]") for i in range(type.columns))


def _struct(type: Struct, value: object, where: str) -> bytes:
    if not isinstance(value, Mapping):
        raise LaunchError(f"{where} is a struct; got {_called(value)}. Pass a dict.\n{layout(type)}")
    unknown = [str(name) for name in value if name not in {f.name for f in type.fields}]
    missing = [] if type.union else [f.name for f in type.fields if f.name not in value]
    if unknown or missing:
        said = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"missing: {', '.join(missing)}"] * bool(
            missing
        )
        raise LaunchError(f"{where}: the fields do not match; {'; '.join(said)}.\n{layout(type)}")
    data = bytearray(type.size)
    for field in type.fields:
        if field.name in value and field.bits:
            _bits(field, value[field.name], f"{where}.{field.name}", data)
        elif field.name in value:
            piece = pack(field.type, value[field.name], f"{where}.{field.name}")
            data[field.offset : field.offset + len(piece)] = piece
    return bytes(data)


def _bits(field: Field, value: object, where: str, data: bytearray) -> None:
    """A bit-field among its neighbours: those of `data` stay as they are."""
    assert isinstance(field.type, Scalar)
    number = int.from_bytes(pack(field.type, value, where), "little")
    signed = field.type.dtype.msl in ("char", "short", "int", "long")
    if signed and number >> 8 * field.type.size - 1:
        number -= 1 << 8 * field.type.size
    low, high = (-(1 << field.bits - 1), (1 << field.bits - 1) - 1) if signed else (0, (1 << field.bits) - 1)
    if not low <= number <= high:
        raise LaunchError(
            f"{where} has {field.bits} bits, which hold {low} to {high}; {value!r} does not fit.", "M307"
        )
    whole = int.from_bytes(data, "little")
    mask = (1 << field.bits) - 1
    whole |= (number & mask) << 8 * field.offset + field.shift
    data[:] = whole.to_bytes(len(data), "little")


def _record(type: Type, value: np.void, where: str) -> bytes:
    """A numpy record: by field name, whatever its own layout."""
    names = value.dtype.names
    if names is None:
        return _raw(type, value.tobytes(), where)
    return pack(type, {name: value[name] for name in names}, where)


def _raw(type: Type, data: bytes, where: str) -> bytes:
    if len(data) == type.size:
        return data
    raise LaunchError(f"{where} takes {type.size} bytes; got {len(data)}.\n{layout(type)}")


def _address(type: Pointer, value: object, where: str) -> bytes:
    """A pointer inside a struct: the address of a numpy array or of anything with one."""
    if isinstance(value, int):
        return value.to_bytes(8, "little")
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data).to_bytes(8, "little")
    address = getattr(value, "address", None)
    if isinstance(address, int):
        return address.to_bytes(8, "little")
    raise LaunchError(f"{where} is a {type}; got {_called(value)}. Pass a buffer or an array.")


def _items(value: object, length: int, type: Type, where: str) -> Sequence[object]:
    if isinstance(value, np.ndarray):
        value = list(value) if value.ndim > 1 else [value[i] for i in range(len(value))]
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise LaunchError(f"{where} is a {type}; got {_called(value)}. Pass {length} values.")
    if len(value) != length:
        raise LaunchError(f"{where} is a {type}; got {len(value)} values. Pass {length}.")
    return value


def _called(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return (
        f"{value!r} ({value.__class__.__name__})"
        if isinstance(value, (str, float, int))
        else value.__class__.__name__
    )


def layout(type: Type, indent: str = "    ") -> str:
    """A type's layout for people: offset, type, name."""
    if not isinstance(type, Struct):
        return f"{indent}{type}: {type.size} bytes"
    lines = [f"{indent}{'union' if type.union else 'struct'} {type.name}: {type.size} bytes"]
    lines += [f"{indent}    +{f.offset:<5} {f}" for f in type.fields]
    return "\n".join(lines)


def numpy_dtype(type: Type) -> np.dtype[Any]:
    """The numpy dtype with the same layout: records for structs, sub-arrays for vectors."""
    match type:
        case Scalar(dtype):
            return NUMPY[dtype]
        case Vector(element, length, _):
            return _padded(np.dtype((NUMPY[element.dtype], (length,))), type.size)
        case Matrix(element, columns, rows):
            return np.dtype((numpy_dtype(Vector(element, rows)), (columns,)))
        case Array(element, length):
            return np.dtype((numpy_dtype(element), (length,)))
        case Pointer():
            return np.dtype(np.uint64)
        case Struct():
            return _struct_dtype(type.fields, type.size)


def _padded(inner: np.dtype[Any], size: int) -> np.dtype[Any]:
    return (
        inner if inner.itemsize == size else np.dtype({"names": ["v"], "formats": [inner], "itemsize": size})
    )


def _struct_dtype(fields: tuple[Field, ...], size: int) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": [f.name or f"_{i}" for i, f in enumerate(fields)],
            "formats": [numpy_dtype(f.type) for f in fields],
            "offsets": [f.offset for f in fields],
            "itemsize": size,
        }
    )

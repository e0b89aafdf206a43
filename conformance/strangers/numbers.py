"""Memory for a kernel of which only the signature is known: small integers, floats around 1, by the element's type."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from metalloid.types import Array, DType, Matrix, Parameter, Pointer, Scalar, Signature, Struct, Type, Vector

Bytes = NDArray[np.uint8]
ROOM = 1 << 14  # bytes of a buffer, or two of its elements where that is more
FLOATS = {
    DType.FLOAT32: np.dtype(np.float32),
    DType.FLOAT16: np.dtype(np.float16),
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
}


@dataclass(frozen=True)
class Unknown(Exception):
    """Numbers do not do: the kernel wants an address."""

    why: str


def memory(signature: Signature, rng: np.random.Generator) -> dict[int, Bytes]:
    """By index of the buffer."""
    return {p.index: _filled(p, rng) for p in signature.buffers}


def _filled(parameter: Parameter, rng: np.random.Generator) -> Bytes:
    size = parameter.type.size
    count = 1 if parameter.reference else max(2, ROOM // max(size, 1))
    into = rng.integers(0, 4, count * size, dtype=np.uint8).reshape(count, size)
    for offset, dtype in scalars(parameter.type):
        into[:, offset : offset + dtype.size] = _column(dtype, count, rng)
    return into.reshape(-1)


def _column(dtype: DType, count: int, rng: np.random.Generator) -> Bytes:
    if floats := FLOATS.get(dtype):
        numbers = rng.normal(0.0, 1.5, count).astype(floats)
    else:
        numbers = rng.integers(0, 2 if dtype is DType.BOOL else 11, count).astype(dtype.numpy_name)
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(count, dtype.size)


def scalars(type: Type, offset: int = 0) -> list[tuple[int, DType]]:
    """Every number inside of a type, with its place."""
    match type:
        case Scalar(dtype=dtype):
            return [(offset, dtype)]
        case Vector(element=element, length=length):
            return [(offset + n * element.size, element.dtype) for n in range(length)]
        case Matrix(element=element, columns=columns, rows=rows):
            column = Vector(element, rows)
            return [s for n in range(columns) for s in scalars(column, offset + n * column.size)]
        case Array(element=element, length=length):
            return [s for n in range(length) for s in scalars(element, offset + n * element.size)]
        case Struct(fields=fields):
            return [s for field in fields for s in scalars(field.type, offset + field.offset)]
        case Pointer():
            raise Unknown(f"an address in {type}")

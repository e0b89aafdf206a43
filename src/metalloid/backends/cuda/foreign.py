"""Arrays of other libraries on the same GPU (PyTorch, CuPy, JAX), both ways, without a copy.

`__cuda_array_interface__` says where the memory is; what only speaks DLPack is asked through that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from metalloid.backends.cuda.driver import call
from metalloid.backends.cuda.memory import Memory, Newer
from metalloid.errors import LaunchError

Array = np.ndarray[Any, Any]
_CUDA = 2  # DLPack's number of the device
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # DLPack's numbers of types; 4 is bfloat
_BFLOAT = 4


def _memory() -> Memory:
    from metalloid.backends.cuda.program import memory

    return memory()


def taken(value: object) -> Array | None:
    """An array that stands for the same memory; None where the value is no array of this GPU's."""
    found = _interface(value)
    if found is None:
        return None
    shape, kind = tuple(found["shape"]), np.dtype(found["typestr"])
    if not _contiguous(shape, found.get("strides"), kind.itemsize):
        raise LaunchError(
            f"[cuda] an array of shape {shape} and strides {found['strides']} is not contiguous; kernels see memory"
            " without gaps.\nPass a contiguous copy."
        )
    memory = _memory()
    memory.gpu.enter()
    stream = found.get("stream")
    if stream is not None and stream != 1:  # 1 is the default stream, which ours wait for
        call("cuStreamSynchronize", stream)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not size:
        return np.empty(shape, kind)
    placed: Array = memory.foreign(int(found["data"][0]), size).view(kind).reshape(shape)
    if found["data"][1]:
        placed.flags.writeable = False
    return placed


def exported(array: Array) -> Mapping[str, Any] | None:
    """A buffer's memory for others. From here on they may write it, so the GPU's bytes are those that count."""
    memory = _memory()
    memory.gpu.enter()
    placed = memory.place(array.ctypes.data, array.nbytes, True)
    if placed is None:
        return None
    mirror = memory.find(array.ctypes.data)
    assert mirror is not None
    memory.gpu.wait()
    mirror.outside = True
    if mirror.watched:  # what it has of the host is what it was just given
        mirror.given = ctypes.string_at(mirror.host, mirror.size)
    else:
        mirror.newer = Newer.DEVICE
    kind = "<u2" if array.dtype.name == "bfloat16" else array.dtype.str
    return {"shape": array.shape, "typestr": kind, "data": (placed[0], False), "version": 3}


def _interface(value: Any) -> Mapping[str, Any] | None:
    try:
        found = value.__cuda_array_interface__
    except (AttributeError, TypeError, RuntimeError):  # what is on the CPU has none, or says so
        return _from_dlpack(value)
    return found if isinstance(found, Mapping) else None


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> bool:
    if strides is None:
        return True
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != size:
            return False
        size *= length
    return True


class _Tensor(ctypes.Structure):
    """DLTensor, the part of a capsule that says where the memory is."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _from_dlpack(value: Any) -> Mapping[str, Any] | None:
    """The same facts from a DLPack capsule, which is not kept: its owner lives as long as the launch."""
    try:
        if value.__dlpack_device__()[0] != _CUDA:
            return None
        capsule = value.__dlpack__(stream=1)
    except (AttributeError, TypeError):
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    size = tensor.bits // 8
    strides = tuple(tensor.strides[n] * size for n in range(tensor.ndim)) if tensor.strides else None
    kind = "<u2" if tensor.code == _BFLOAT else f"<{_KINDS[tensor.code]}{size}"
    data = (tensor.data or 0) + tensor.byte_offset
    return {"shape": shape, "typestr": kind, "strides": strides, "data": (data, False)}

"""Memory that kernels read and write. On the CPU host and kernel see the same bytes."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from metalloid.errors import DeviceError, LaunchError
from metalloid.runtime import resources
from metalloid.runtime.pack import NUMPY
from metalloid.runtime.places import warn_once
from metalloid.runtime.processor import Processor
from metalloid.runtime.whole import whole
from metalloid.types import DType

_PAGE = 4096  # misaligned buffers cost a quarter of the speed of 512-bit code
_BY_NAME = {dtype.numpy_name: dtype for dtype in DType}


def dtype_of(name: Any) -> np.dtype[Any]:
    """A dtype by numpy's or Metal's name; "bfloat16" included."""
    if isinstance(name, str) and name in _BY_NAME:
        return NUMPY[_BY_NAME[name]]
    try:
        made: np.dtype[Any] = np.dtype(name)
    except TypeError:
        raise DeviceError(f"[buffer] {name!r} is no type of elements; pass one such as 'float32'.") from None
    if made.hasobject or made.kind in "USmM":
        raise DeviceError(f"[buffer] kernels know no {made}: a buffer holds numbers, or records of numbers.")
    return made


def aligned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An uninitialised array that starts on a page."""
    kind = dtype_of(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    raw = np.empty(count * kind.itemsize + _PAGE, np.uint8)
    start = -raw.ctypes.data % _PAGE
    return raw[start : start + count * kind.itemsize].view(kind).reshape(shape)


class Buffer:
    """A piece of memory, or a slice of one: `buffer[2:8]` shares its bytes."""

    __slots__ = ("__weakref__", "_array", "_parent", "_pending", "device", "label", "launches", "shared")

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        device: Processor | None = None,
        shared: bool = False,
        parent: Buffer | None = None,
        fresh: bool = False,
    ) -> None:
        self._array: np.ndarray[Any, Any] | None = array
        self._parent = parent  # a slice is valid as long as what it is a slice of
        self._pending: tuple[weakref.ref[Any], str] | None = (
            None  # the command buffer that will write it; as what
        )
        self.device = device
        self.shared = shared  # the memory is the caller's own array
        self.label = ""
        # Launches that have written to it, where nobody else has had a way to; -1 otherwise. Checkers want to know.
        self.launches = 0 if fresh else -1
        if parent is None:
            resources.made(self, "buffer")

    @property
    def fresh(self) -> bool:
        """Whether nobody has set its bytes, or has had a way to."""
        return self.launches == 0

    @fresh.setter
    def fresh(self, still: bool) -> None:
        self.launches = 0 if still else -1

    def numpy(self) -> np.ndarray[Any, Any]:
        """The contents, without a copy; warns where commands that will write them have not run yet."""
        root = self._root()
        if root._pending is not None:
            reference, name = root._pending
            commands = reference()
            if commands is None or commands.done:
                root._pending = None
            elif not commands.told:
                commands.told = True
                message, hint = commands.not_yet(repr(self.label) if self.label else name)
                warn_once("M308", "buffer", message, hint)
        self.fresh = False
        return self.memory() if self.device is None else self.device.backend.host(self.memory())

    def memory(self) -> np.ndarray[Any, Any]:
        """The same array, for binding."""
        array = self._array
        if array is None or (self._parent is not None and self._parent.released):
            raise LaunchError(
                "[buffer] M309 used after release; its memory may be somebody else's by now.\nRelease it later."
            )
        return array

    def copy_from(self, data: Any) -> Buffer:
        """Host to device: replace the contents, element by element."""
        array = self.numpy()
        given = np.asarray(data)
        if given.dtype != array.dtype or given.size != array.size:
            raise LaunchError(
                f"[buffer] M306 holds {array.dtype}{list(array.shape)}; got {given.dtype}{list(given.shape)} to"
                " copy.\nPass as many elements, of the same type."
            )
        array[...] = given.reshape(array.shape)
        return self

    def copy_to(self, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """Device to host: a copy of the contents, in `out` where it is given."""
        array = self.numpy()
        if out is None:
            return array.copy()
        if out.dtype != array.dtype or out.size != array.size:
            raise LaunchError(
                f"[buffer] M306 holds {array.dtype}{list(array.shape)}; it does not fit"
                f" {out.dtype}{list(out.shape)}.\nPass an array of as many elements, of the same type."
            )
        out[...] = array.reshape(out.shape)
        return out

    def __getitem__(self, key: Any) -> Buffer:
        try:
            part = self.memory()[key]
        except (IndexError, TypeError, ValueError) as error:
            raise LaunchError(f"[buffer] M306 {key!r} is no piece of {self}: {error}.") from None
        # Lists of places and masks make a copy: what a kernel writes there would be lost.
        shares = isinstance(part, np.ndarray) and (not part.size or np.may_share_memory(part, self.memory()))
        if not shares or not part.flags.c_contiguous:
            raise LaunchError(
                f"[buffer] M306 {key!r} is not a contiguous piece; kernels see memory without gaps.\n"
                "Slice whole rows, or make a buffer of a copy."
            )
        self.fresh = False  # what happens to a slice is not followed
        return Buffer(part, self.device, self.shared, self)

    def view(self, dtype: Any, offset: int = 0, nbytes: int | None = None) -> Buffer:
        """The same bytes from `offset` on, as another dtype."""
        raw = self.memory().reshape(-1).view(np.uint8)
        offset = whole("buffer", "offset", offset, -(1 << 63))
        end = raw.nbytes if nbytes is None else offset + whole("buffer", "nbytes", nbytes, -(1 << 63))
        kind = dtype_of(dtype)
        if not 0 <= offset <= end <= raw.nbytes or (end - offset) % kind.itemsize or offset % kind.itemsize:
            raise LaunchError(
                f"[buffer] M103 bytes {offset} to {end} of {raw.nbytes} are no whole, aligned number of {kind}.\n"
                f"Start at a multiple of {kind.itemsize} bytes."
            )
        self.fresh = False
        return Buffer(raw[offset:end].view(kind), self.device, self.shared, self)

    def release(self) -> None:
        """Give the memory back; using the buffer or a slice of it is an error from here on."""
        self._array = None
        resources.released(self)

    def _root(self) -> Buffer:
        return self if self._parent is None else self._parent._root()

    def will_be_written(self, commands: weakref.ref[Any], name: str) -> None:
        """Remember the command buffer that writes this memory."""
        root = self if self._parent is None else self._root()
        root._pending = commands, name

    @property
    def released(self) -> bool:
        return self._array is None or (self._parent is not None and self._parent.released)

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The same memory for `np.asarray`, a copy for `np.array`: numpy makes none of its own where it asks here."""
        array = self.numpy()
        if dtype is None or dtype == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"{self} holds {array.dtype}: it is no {np.dtype(dtype)} without a copy.")
        return array.astype(dtype)

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """For libraries that work on the same GPU: they see this memory, without a copy."""
        found = self.device.backend.exported(self.memory()) if self.device is not None else None
        if found is None:
            raise AttributeError("__cuda_array_interface__")
        self.fresh = False
        return found

    def __len__(self) -> int:
        shape = self.memory().shape
        if not shape:
            raise LaunchError(f"[buffer] M306 {self} is one number and has no length.\nAsk for its nbytes.")
        return int(shape[0])

    @property
    def address(self) -> int:
        """What a kernel sees as its address."""
        return int(self.memory().ctypes.data)

    @property
    def gpu_address(self) -> int:
        """The same, in Metal's words: to be stored where a kernel loads it; `use_resource` tells the encoder."""
        return self.address

    @property
    def nbytes(self) -> int:
        return int(self.memory().nbytes)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.memory().shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.memory().dtype
        return dtype

    def __repr__(self) -> str:
        if self.released:
            return "Buffer(released)"
        label = f"{self.label!r}, " if self.label else ""
        return f"Buffer({label}{self.nbytes} bytes: {self.dtype}{list(self.shape)})"

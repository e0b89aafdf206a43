"""What a case feeds: arrays made from sizes, a dtype, a layout, a kind of values and a seed.

Everything is made from those five, so that a case can be written in one line, sent to another machine,
and made smaller. Room between and before the elements of an array is filled with poison (NaN, or 0x5A
bytes): a kernel that ignores strides or an offset reads it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from metalloid.errors import LaunchError
from metalloid.runtime.buffer import dtype_of

Array = NDArray[Any]
POISON = 0x5A


@dataclass(frozen=True)
class Input:
    """One argument: its shape in names of sizes ("rows D", or 4 for a fixed one), and what it holds.

    `dtype` is for arguments that do not change type with the case, as indices do. Ordinary values lie in
    low <= v < high; `high` may name a size: Input("tokens", "int32", 0, "vocabulary").
    """

    shape: str = ""
    dtype: str = ""
    low: float | None = None
    high: float | str | None = None
    layouts: bool = True  # False: always contiguous

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(self.shape.replace(",", " ").split())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes it needs."""
        bound = (self.high,) if isinstance(self.high, str) else ()
        return tuple(name for name in (*self.axes, *bound) if not name.isdigit())

    def dimensions(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(int(axis) if axis.isdigit() else sizes[axis] for axis in self.axes)


def finfo(dtype: Any) -> Any:
    """numpy's, and bfloat16's."""
    return ml_dtypes.finfo(dtype_of(dtype))  # type: ignore[no-untyped-call]


def is_float(dtype: Any) -> bool:
    """bfloat16 included, which numpy calls a void."""
    kind = dtype_of(dtype)
    return kind.kind == "f" or kind.name == "bfloat16"


def make(
    name: str, given: Input, sizes: Mapping[str, int], dtype: str, layout: str, values: str, seed: int
) -> Array:
    """The array for one argument of a case."""
    kind = dtype_of(given.dtype or dtype)
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    shape = given.dimensions(sizes)
    free = given.low is None and given.high is None
    content = (VALUES[values] if free else _ordinary)(random, shape, kind, _bounds(given, sizes, kind))
    return LAYOUTS[layout if given.layouts else "contiguous"](content)


def _bounds(given: Input, sizes: Mapping[str, int], kind: np.dtype[Any]) -> tuple[float, float]:
    high = sizes[given.high] if isinstance(given.high, str) else given.high
    if is_float(kind):
        low, top = -1.0, 1.0
    elif kind.kind == "b":
        low, top = 0.0, 2.0
    else:
        low, top = (0.0, 100.0) if kind.kind == "u" else (-50.0, 50.0)
    return (low if given.low is None else float(given.low)), (top if high is None else float(high))


Shape = tuple[int, ...]
Maker = Callable[[np.random.Generator, Shape, "np.dtype[Any]", tuple[float, float]], Array]


def _ordinary(random: np.random.Generator, shape: Shape, kind: np.dtype[Any], bounds: Any) -> Array:
    low, high = bounds
    if is_float(kind):
        return random.uniform(low, high, shape).astype(kind)
    return random.integers(int(low), max(int(high), int(low) + 1), shape).astype(kind)


def _zeros(random: np.random.Generator, shape: Shape, kind: np.dtype[Any], bounds: Any) -> Array:
    return np.zeros(shape, kind)


def _large(random: np.random.Generator, shape: Shape, kind: np.dtype[Any], bounds: Any) -> Array:
    """Numbers whose squares a half cannot add up, and a float can; integers near the end of what they hold."""
    signs = random.choice([-1.0, 1.0], shape)
    if is_float(kind):
        top = float(finfo(kind).max) ** 0.5
        if top > 1e6:  # wide enough to add up a million squares on the way to a result that fits
            top *= 2.0**-12
        return np.asarray(signs * random.uniform(0.25, 0.5, shape) * top).astype(kind)
    if kind.kind == "b":
        return np.ones(shape, kind)
    top = float(np.iinfo(kind).max) / 2
    return np.asarray((signs if kind.kind == "i" else 1) * random.uniform(0.5, 1, shape) * top).astype(kind)


def _tiny(random: np.random.Generator, shape: Shape, kind: np.dtype[Any], bounds: Any) -> Array:
    """Denormals, zeros of both signs, and ordinary numbers among them."""
    content = _ordinary(random, shape, kind, bounds)
    if not is_float(kind):
        return content
    least = float(finfo(kind).smallest_normal)
    specials = np.array([least / 4, -least / 2, 0.0, -0.0, least], np.float64).astype(kind)
    return np.where(random.random(shape) < 0.7, random.choice(specials, shape), content).astype(kind)


def _some(*marks: float) -> Maker:
    def made(random: np.random.Generator, shape: Shape, kind: np.dtype[Any], bounds: Any) -> Array:
        content = _ordinary(random, shape, kind, bounds)
        if is_float(kind) and content.size:
            at = random.choice(content.size, min(content.size, 1 + content.size // 16), replace=False)
            content.reshape(-1)[at] = random.choice(np.array(marks, np.float64), at.size).astype(kind)
        return content

    return made


VALUES: dict[str, Maker] = {
    "ordinary": _ordinary,
    "zeros": _zeros,
    "large": _large,
    "tiny": _tiny,
    "inf": _some(np.inf, -np.inf),
    "nan": _some(np.nan),
}
FINITE = ("ordinary", "zeros", "large", "tiny")


def _poisoned(shape: Shape, kind: np.dtype[Any]) -> Array:
    room = np.empty(shape, kind)
    if is_float(kind):
        room[...] = np.nan
    else:
        room.view(np.uint8)[...] = POISON if kind.kind != "b" else 1
    return room


def _offset(content: Array) -> Array:
    """One element into its memory: aligned to the element and to nothing more."""
    room = _poisoned((content.size + 2,), content.dtype)
    part = room[1 : content.size + 1].reshape(content.shape)
    part[...] = content
    return part


def _strided(content: Array) -> Array:
    """Every other element of the last axis, every other row of the one before."""
    if not content.ndim:
        return content
    room = _poisoned((*content.shape[:-2], *(2 * n for n in content.shape[-2:])), content.dtype)
    part = room[::2] if content.ndim == 1 else room[..., ::2, ::2]
    part[...] = content
    return part


def _transposed(content: Array) -> Array:
    return np.asfortranarray(content)


def _reversed(content: Array) -> Array:
    """Negative strides."""
    turned = (slice(None, None, -1),) * content.ndim
    return np.ascontiguousarray(content[turned])[turned]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "contiguous": lambda content: content,
    "offset": _offset,
    "strided": _strided,
    "transposed": _transposed,
    "reversed": _reversed,
}


def known(what: str, given: str, table: Mapping[str, object]) -> str:
    if given not in table:
        raise LaunchError(f"[cases] there is no {what} {given!r}; there are {', '.join(table)}.")
    return given

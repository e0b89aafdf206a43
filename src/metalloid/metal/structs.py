"""Structs as PyObjC has them: fields by name or by position, changed in place, equal to tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar


class Struct:
    """A struct of numbers, or of other structs; fields that are not given are 0."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self._fields
        if len(values) > len(names) or not set(named) <= set(names):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(names)}")
        for name, default in zip(names, self._defaults or (0,) * len(names), strict=True):
            setattr(self, name, default() if callable(default) else default)
        for name, value in (*zip(names, values, strict=False), *named.items()):
            setattr(self, name, value)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, at: Any) -> Any:
        return tuple(self)[at]

    def __setitem__(self, at: int, value: Any) -> None:
        setattr(self, self._fields[at], value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct | tuple | list) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # it can change

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def copy(self) -> Struct:
        return type(self)(*self)

    def __repr__(self) -> str:
        return f"<Metal.{type(self).__name__} {' '.join(f'{k}={v!r}' for k, v in self._asdict().items())}>"


class MTLSize(Struct):
    _fields = ("width", "height", "depth")


class MTLOrigin(Struct):
    _fields = ("x", "y", "z")


class MTLRegion(Struct):
    _fields = ("origin", "size")
    _defaults = (MTLOrigin, MTLSize)


class NSRange(Struct):
    _fields = ("location", "length")


class MTLIndirectCommandBufferExecutionRange(Struct):
    _fields = ("location", "length")


class MTLSizeAndAlign(Struct):
    _fields = ("size", "align")


class MTLResourceID(Struct):
    _fields = ("_impl",)


class MTLDispatchThreadgroupsIndirectArguments(Struct):
    _fields = ("threadgroupsPerGrid",)


def MTLSizeMake(width: int, height: int, depth: int) -> MTLSize:
    return MTLSize(width, height, depth)


def MTLOriginMake(x: int, y: int, z: int) -> MTLOrigin:
    return MTLOrigin(x, y, z)


def MTLRegionMake1D(x: int, width: int) -> MTLRegion:
    return MTLRegion(MTLOrigin(x, 0, 0), MTLSize(width, 1, 1))


def MTLRegionMake2D(x: int, y: int, width: int, height: int) -> MTLRegion:
    return MTLRegion(MTLOrigin(x, y, 0), MTLSize(width, height, 1))


def MTLRegionMake3D(x: int, y: int, z: int, width: int, height: int, depth: int) -> MTLRegion:
    return MTLRegion(MTLOrigin(x, y, z), MTLSize(width, height, depth))


def NSMakeRange(location: int, length: int) -> NSRange:
    return NSRange(location, length)


def MTLIndirectCommandBufferExecutionRangeMake(
    location: int, length: int
) -> MTLIndirectCommandBufferExecutionRange:
    return MTLIndirectCommandBufferExecutionRange(location, length)


def numbers(value: Any, count: int = 3) -> tuple[int, ...]:
    """A struct, or any sequence in its place, as whole numbers."""
    found = tuple(value)
    if len(found) != count:
        raise ValueError(f"depythonifying struct of {count} members from tuple of {len(found)}")
    return tuple(int(part) for part in found)

"""Whole numbers as callers give them: offsets, lengths, indices. What is none is refused in a sentence."""

from __future__ import annotations

from metalloid.errors import LaunchError


def whole(where: str, what: str, value: object, least: int = 0, most: int | None = None) -> int:
    """The number; `where` and `what` name it in the refusal."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise LaunchError(f"[{where}] M306 {what} is {value!r}; pass a whole number.")
    number: int = value.__index__()
    if number < least or (most is not None and number > most):
        span = f"from {least} to {most}" if most is not None else f"from {least} on"
        raise LaunchError(f"[{where}] M306 {what} is {number}; it can be {span}.")
    return number


def piece(where: str, what: str, offset: object, length: object, size: int) -> tuple[int, int]:
    """An offset and a length, both in bytes, inside something of `size` bytes."""
    start, count = whole(where, f"offset of the {what}", offset), whole(where, "size", length)
    if start + count > size:
        raise LaunchError(
            f"[{where}] M306 bytes {start} to {start + count} are outside the {what} of {size} bytes.\n"
            "Offsets and sizes count bytes."
        )
    return start, count

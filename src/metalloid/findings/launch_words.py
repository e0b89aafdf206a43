"""How a caller says how many threads run: each form of call has its own words."""

from __future__ import annotations

_GRID = {"torch": "threads"}
_GROUP = {"torch": "group_size"}


def threads(form: str, size: object) -> str:
    """`grid=640`, or `threads=640` where the kernel was given to torch."""
    return f"{_GRID.get(form, 'grid')}={size}"


def grid(form: str) -> str:
    return _GRID.get(form, "grid")


def group(form: str) -> str:
    return _GROUP.get(form, "threadgroup")


def has_groups(form: str) -> bool:
    """Whether a call can count threadgroups instead."""
    return form not in ("mlx", "torch")

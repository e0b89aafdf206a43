"""MSL to scalar IR, and every stage of a kernel's way by name. A device compiles the rest: `Backend.program`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.compile.sources import examined, scalar

__all__ = ["examined", "scalar"]

__getattr__ = lazy.names(
    __name__, {"examined": "metalloid.compile.sources", "scalar": "metalloid.compile.sources"}
)

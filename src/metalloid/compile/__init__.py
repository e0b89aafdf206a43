"""MSL, or a compiled library, to scalar IR; every stage of a kernel by name. A device compiles the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.compile.sources import examined, kernel_names, scalar, warnings

__all__ = ["examined", "kernel_names", "scalar", "warnings"]

__getattr__ = lazy.names(__name__, dict.fromkeys(__all__, "metalloid.compile.sources"))

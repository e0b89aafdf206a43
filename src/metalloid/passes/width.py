"""How many threads an instance runs side by side."""

from __future__ import annotations

from metalloid.ir import Module
from metalloid.passes.lanes import Triple


def choose(module: Module, size: Triple, vector_bits: int) -> int:
    """Lanes per instance, for a threadgroup of this size."""
    return 32

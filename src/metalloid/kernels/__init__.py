"""Kernels of a language model, as Metal source one can read and as functions one can call.

import metalloid.kernels as mk

y = mk.rms_norm(x, weight)      # numpy arrays, mx.array or torch tensors; the same kind comes back

Each family is one `.metal` file and a thin module beside it.
"""

from __future__ import annotations

from metalloid.kernels.matmul import matmul, matvec
from metalloid.kernels.norm import rms_norm

__all__ = ["matmul", "matvec", "rms_norm"]

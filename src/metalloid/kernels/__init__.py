"""Kernels of a language model, as Metal source one can read and as functions one can call.

import metalloid.kernels as mk

y = mk.rms_norm(x, weight)      # numpy arrays, mx.array or torch tensors; the same kind comes back

Each family is one `.metal` file and a thin module beside it.
"""

from __future__ import annotations

from metalloid.kernels.activation import gelu, silu, swiglu
from metalloid.kernels.affine import affine_dequantize, affine_matmul
from metalloid.kernels.attention import attention, paged_attention
from metalloid.kernels.caches import Cache, PagedCache
from metalloid.kernels.matmul import matmul, matvec
from metalloid.kernels.norm import layer_norm, rms_norm
from metalloid.kernels.quantized import dequantize, embedding, quantized_matmul
from metalloid.kernels.reduce import argmax, max, softmax, sum
from metalloid.kernels.rope import rope
from metalloid.kernels.sampling import sample, top_k

__all__ = [
    "Cache",
    "PagedCache",
    "affine_dequantize",
    "affine_matmul",
    "argmax",
    "attention",
    "dequantize",
    "embedding",
    "gelu",
    "layer_norm",
    "matmul",
    "matvec",
    "max",
    "paged_attention",
    "quantized_matmul",
    "rms_norm",
    "rope",
    "sample",
    "silu",
    "softmax",
    "sum",
    "swiglu",
    "top_k",
]

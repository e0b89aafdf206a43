"""MLX's kernels, launched as MLX's host code launches them, one file per family."""

from __future__ import annotations

from conformance.results.mlx import (
    arange,
    attention,
    binary,
    conv,
    copy,
    fft,
    gemm,
    gemm_gather,
    gemv,
    hadamard,
    indexing,
    masked,
    quantize,
    quantized,
    quantized_gather,
    reduce,
    scan,
    softmax,
    sort,
    ternary,
    unary,
)

ARRAYS = (unary, binary, ternary, copy, arange, reduce, scan, softmax, sort, indexing, fft, hadamard)
MATRICES = (
    gemv,
    gemm,
    gemm_gather,
    masked,
    quantize,
    quantized,
    quantized_gather,
    attention,
    conv,
)
FAMILIES = (*ARRAYS, *MATRICES)

"""MLX's kernels, launched as MLX's host code launches them, one file per family."""

from __future__ import annotations

from conformance.results.mlx import (
    arange,
    attention,
    attention_tiled,
    binary,
    conv,
    copy,
    fft,
    gated_delta,
    gemm,
    gemm_gather,
    gemm_split,
    gemv,
    gemv_gather,
    hadamard,
    indexing,
    masked,
    nax,
    nax_delta,
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
    gemv_gather,
    gemm,
    gemm_split,
    gemm_gather,
    masked,
    quantize,
    quantized,
    quantized_gather,
    attention,
    attention_tiled,
    gated_delta,
    nax,
    nax_delta,
    conv,
)
FAMILIES = (*ARRAYS, *MATRICES)

"""MLX's kernels, launched as MLX's host code launches them, one file per family."""

from __future__ import annotations

from conformance.results.mlx import (
    arange,
    binary,
    copy,
    gemv,
    indexing,
    reduce,
    scan,
    softmax,
    sort,
    ternary,
    unary,
)

FAMILIES = (unary, binary, ternary, copy, arange, reduce, scan, softmax, sort, indexing, gemv)

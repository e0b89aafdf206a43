"""MLX's kernels, launched as MLX's host code launches them, one file per family."""

from __future__ import annotations

from conformance.results.mlx import arange, binary, copy, gemv, ternary, unary

FAMILIES = (unary, binary, ternary, copy, arange, gemv)

"""ggml-metal's kernels, one file per family."""

from __future__ import annotations

from conformance.results.ggml import (
    attention,
    binary,
    conv,
    matmul,
    norms,
    recurrent,
    reductions,
    rope,
    rows,
    shapes,
    unary,
)

FAMILIES = (unary, binary, norms, rope, rows, reductions, shapes, conv, recurrent, matmul, attention)

"""ggml-metal's kernels, one file per family."""

from __future__ import annotations

from conformance.results.ggml import binary, norms, rope, unary

FAMILIES = (unary, binary, norms, rope)

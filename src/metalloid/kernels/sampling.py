"""From logits to tokens: the largest, the k largest, or a throw of dice that a seed repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels.arrays import contiguous, empty, refuse, taken
from metalloid.kernels.families import kernel

LANES = 32


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The k largest of the last axis and their places, the largest first; equals in the order of their places."""
    give, (a,) = taken("top_k", x)
    if a.dtype != np.float32 or not a.ndim:
        refuse("top_k", "float32 with at least one axis", f"{a.dtype} of shape {a.shape}")
    n = a.shape[-1]
    if not 0 <= k <= n:
        refuse("top_k", f"a k from 0 to {n}, the length of the last axis", str(k))
    values, places = empty((*a.shape[:-1], k), np.float32), empty((*a.shape[:-1], k), np.int32)
    if values.size:
        kernel("sampling", "top_k")(
            *(contiguous(a), values, places, n, k), threadgroups=a.size // n, threadgroup=LANES
        )
    return give(values), give(places)


def sample(
    logits: Any, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0, step: int = 0
) -> Any:
    """One token per row of logits.

    Temperature 0 takes the likeliest, the first of equals. `top_k` keeps so many of the likeliest, `top_p` the
    likeliest that together have this share of what is kept; ties at the edge are all kept. The same seed and step
    give the same tokens; row n throws the dice of step + n.
    """
    give, (a,) = taken("sample", logits)
    if a.dtype != np.float32 or not a.ndim or not a.shape[-1]:
        refuse("sample", "logits of float32 with a last axis", f"{a.dtype} of shape {a.shape}")
    if not temperature >= 0 or not 0 < top_p <= 1 or top_k < 0:
        refuse(
            "sample",
            "temperature >= 0, 0 < top_p <= 1 and top_k >= 0",
            f"{temperature}, {top_p} and {top_k}",
        )
    n = a.shape[-1]
    out = empty(a.shape[:-1], np.int32)
    if out.size:
        choice = {"temperature": temperature, "top_p": top_p, "top_k": top_k, "seed": seed & 0xFFFFFFFF}
        kernel("sampling", "sample")(
            *(contiguous(a), empty(a.shape, np.float32), out, n, choice, step),
            threadgroups=out.size,
            threadgroup=LANES,
        )
    return give(out)

"""Where is the first number that is not finite? In pieces that stay in the cache: outputs can be large."""

from __future__ import annotations

from typing import Any

import numpy as np

PIECE = 1 << 16  # elements


def not_finite(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Indices of the NaNs and infinities in the first piece that has some."""
    for start in range(0, values.size, PIECE):
        piece = values[start : start + PIECE]
        if not _all_finite(piece):
            with np.errstate(all="ignore"):
                return start + np.flatnonzero(~np.isfinite(piece))
    return np.zeros(0, np.int64)


def _all_finite(piece: np.ndarray[Any, Any]) -> bool:
    """The sum of squares is the quickest look at floats; narrow ones are looked at as bits."""
    if piece.itemsize == 2:
        largest = 0x7C00 if piece.dtype == np.float16 else 0x7F80
        return int((piece.view(np.uint16) & 0x7FFF).max(initial=0)) < largest
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.dot(piece, piece))) or bool(np.isfinite(piece).all())

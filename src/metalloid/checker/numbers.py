"""Integer arithmetic of LLVM on one number per lane.

Numbers are kept signed, as wide as their type; unsigned operations look at the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]  # one per lane


@dataclass(frozen=True)
class Known:
    """A value per lane; `data` where lanes differ because memory said so."""

    lanes: Numbers
    bits: int
    data: bool = False


def unsigned(known: Known) -> Numbers:
    mask = np.uint64((1 << known.bits) - 1)
    return known.lanes.view(np.uint64) & mask


def wrapped(lanes: Numbers, bits: int, data: bool) -> Known:
    """Numbers as signed ones of this many bits."""
    if bits < 64:
        low = lanes.astype(np.int64) & ((1 << bits) - 1)
        lanes = np.where(low >> (bits - 1), low - (1 << bits), low) if bits > 1 else low
    return Known(lanes.astype(np.int64), bits, data)


def _divided(a: Known, b: Known) -> Numbers:
    x, y = unsigned(a), unsigned(b)
    return np.where(y == 0, 0, x // np.maximum(y, 1)).astype(np.int64)


def _remainder(a: Known, b: Known) -> Numbers:
    x, y = unsigned(a), unsigned(b)
    return np.where(y == 0, 0, x % np.maximum(y, 1)).astype(np.int64)


def _signed_divided(a: Known, b: Known) -> Numbers:
    safe = np.where(b.lanes == 0, 1, b.lanes)
    quotient = np.abs(a.lanes) // np.abs(safe) * np.sign(a.lanes) * np.sign(safe)
    return np.where(b.lanes == 0, 0, quotient)


def _signed_remainder(a: Known, b: Known) -> Numbers:
    return np.where(b.lanes == 0, 0, a.lanes - _signed_divided(a, b) * b.lanes)


def _amount(b: Known) -> Numbers:
    return (unsigned(b) % np.uint64(b.bits)).astype(np.int64)


# By opcode, and by the first two words of an intrinsic's name.
ARITHMETIC: Mapping[str, Callable[..., Numbers]] = {
    "add": lambda a, b: a.lanes + b.lanes,
    "sub": lambda a, b: a.lanes - b.lanes,
    "mul": lambda a, b: a.lanes * b.lanes,
    "and": lambda a, b: a.lanes & b.lanes,
    "or": lambda a, b: a.lanes | b.lanes,
    "xor": lambda a, b: a.lanes ^ b.lanes,
    "shl": lambda a, b: a.lanes << _amount(b),
    "lshr": lambda a, b: (unsigned(a) >> _amount(b).astype(np.uint64)).astype(np.int64),
    "ashr": lambda a, b: a.lanes >> _amount(b),
    "udiv": _divided,
    "urem": _remainder,
    "sdiv": _signed_divided,
    "srem": _signed_remainder,
    "zext": lambda a: unsigned(a).astype(np.int64),
    "sext": lambda a: a.lanes,
    "trunc": lambda a: a.lanes,
    "freeze": lambda a: a.lanes,
    "llvm.umin": lambda a, b: np.minimum(unsigned(a), unsigned(b)).astype(np.int64),
    "llvm.umax": lambda a, b: np.maximum(unsigned(a), unsigned(b)).astype(np.int64),
    "llvm.smin": lambda a, b: np.minimum(a.lanes, b.lanes),
    "llvm.smax": lambda a, b: np.maximum(a.lanes, b.lanes),
}
_COMPARE: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compared(predicate: str, a: Known, b: Known) -> Numbers:
    work = _COMPARE[predicate[-2:]]
    x, y = (unsigned(a), unsigned(b)) if predicate[0] == "u" else (a.lanes, b.lanes)
    return work(x, y).astype(np.int64)

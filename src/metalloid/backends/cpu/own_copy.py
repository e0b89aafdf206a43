"""What a launch is told of a buffer that its threads may have copies of; `lower/ops/own_copies` says which."""

from __future__ import annotations

from metalloid.records import dataclass

KINDS = ("i32", "i64", "float")  # of numbers, in the order of runtime/copies.h


@dataclass(frozen=True)
class OwnCopy:
    buffer: int
    slot: int  # where in the first bytes of threadgroup memory it is said how far behind it lies
    kind: str
    length: int  # bytes that are added to at most; 0 where nobody knows
    rounds: int  # how often each thread adds, about

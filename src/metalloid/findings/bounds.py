"""What is said about an access outside its memory: how far, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outside:
    """An access that left its memory."""

    write: bool
    name: str  # of the memory, as the user calls it
    offset: int  # in bytes
    size: int  # of the access
    bytes: int  # of the memory
    element: int  # bytes of one element; 0 where it is not known
    threads: int  # in the grid
    buffer: bool = True  # rather than threadgroup or private memory

    @property
    def message(self) -> str:
        before = self.offset < 0
        distance = -self.offset if before else self.offset + self.size - self.bytes
        unit, side = "byte" if distance == 1 else "bytes", "before" if before else "past"
        far = f"{distance} {unit} {side} '{self.name}' ({self.bytes} bytes)"
        return f"out-of-bounds {'write' if self.write else 'read'}, {far}"

    @property
    def hint(self) -> str:
        each = max(1, self.element or self.size)
        count, index = self.bytes // each, self.offset // each
        if self.offset < 0:
            return f"the index is {index}: guard it, or compute it in a signed type and test that it is not negative"
        if not self.buffer:
            return (
                f"the index is {index} and {self.name} has room for {count}; make it larger or use an index"
                f" below {count}"
            )
        if self.threads > count:
            return (
                f"the grid has {self.threads} threads and {self.name} {count} elements;"
                f" return early where the index is not below {count}"
            )
        return f"the index is {index} and {self.name} has {count} elements; use it only where it is below {count}"


BARRIER_HINT = (
    "let every thread reach the barrier: instead of returning before it, put the work in `if (...) { }` and"
    " leave the barrier outside"
)

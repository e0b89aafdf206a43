"""A device as the things it makes know it: by its name, and as the same one or another.

Buffers, kernels and queues point at it. `Device`, which makes them, is the same object and stands above them.
"""

from __future__ import annotations


class Processor:
    """A processor that runs kernels, and the memory that they see."""

    def __init__(self, name: str = "cpu") -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<device {self.name}>"

"""A device as the things it makes know it: by its name, as the same one or another, and by what it can do.

Buffers, kernels and queues point at it. `Device`, which makes them, is the same object and stands above them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from metalloid import backends

if TYPE_CHECKING:
    from metalloid.backends.backend import Backend


class Processor:
    """A processor that runs kernels, and the memory that they see."""

    def __init__(self, name: str = backends.FIRST) -> None:
        self.name = name

    @cached_property
    def backend(self) -> Backend:
        return backends.named(self.name)

    def __repr__(self) -> str:
        return f"<device {self.name}>"

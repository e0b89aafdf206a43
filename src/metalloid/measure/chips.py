"""What Apple's chips are known for, to read a time brought from a Mac.

The largest GPU of each chip: memory bandwidth as Apple gives it, float32 operations per second from the number
of cores (128 lanes each, one fused multiply-add per cycle) and the clock commonly measured.
Two digits, not more.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.errors import MetalloidError
from metalloid.measure.machine import Machine


@dataclass(frozen=True)
class Chip:
    """A Mac's chip, by what is published about it."""

    name: str
    cores: int
    bandwidth: float  # GB/s
    peak: float  # TFLOP/s, float32

    @property
    def machine(self) -> Machine:
        name = f"Apple {self.name}, {self.cores} GPU cores"
        return Machine(name, self.bandwidth * 1e9, self.peak * 1e12, "what the chip is known for")


CHIPS = (
    Chip("M1", 8, 68, 2.6),
    Chip("M1 Pro", 16, 200, 5.3),
    Chip("M1 Max", 32, 400, 10.6),
    Chip("M1 Ultra", 64, 800, 21),
    Chip("M2", 10, 100, 3.6),
    Chip("M2 Pro", 19, 200, 6.8),
    Chip("M2 Max", 38, 400, 13.6),
    Chip("M2 Ultra", 76, 800, 27),
    Chip("M3", 10, 100, 3.5),
    Chip("M3 Pro", 18, 150, 6.4),
    Chip("M3 Max", 40, 400, 14),
    Chip("M3 Ultra", 80, 819, 28),
    Chip("M4", 10, 120, 4.3),
    Chip("M4 Pro", 20, 273, 8.5),
    Chip("M4 Max", 40, 546, 17),
)


def chip(name: str) -> Chip:
    """The chip of this name; "m2-max" and "M2 Max" are the same."""
    wanted = name.lower().replace("-", " ").replace("_", " ").removeprefix("apple ").strip()
    for known in CHIPS:
        if known.name.lower() == wanted:
            return known
    raise MetalloidError(f"there is no chip {name!r} in the table; it has {', '.join(c.name for c in CHIPS)}")

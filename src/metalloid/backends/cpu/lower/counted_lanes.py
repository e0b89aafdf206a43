"""Lanes that count up, in gangs of more than half of all registers.

As one vector, base + <0, 1, 2, ... 1023>, they are 64 constants, which LLVM copies to the stack before the first gang
of each call, whether anybody asks for them or not. Register by register they are one constant and a base each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from metalloid.backends.cpu.lower.text import Text


def counted(e: Text, type: str, base: str, pattern: Sequence[int]) -> str | None:
    """The vector of a base and a pattern; None where it is better written as one."""
    target = e.out.target
    count = target.vector_bytes * 8 // int(type[1:]) if type.startswith("i") else 0
    if (
        not count
        or e.width % count
        or 2 * e.width // count <= target.vector_registers + target.spare_registers
    ):
        return None
    if not base.startswith("%"):  # all is known
        return None
    step, registers = pattern[1] - pattern[0], e.width // count
    if registers & registers - 1 or any(b - a != step for a, b in itertools.pairwise(pattern)):
        return None
    own = e.constants(type, [step * n for n in range(count)])
    parts = []
    for first in range(0, e.width, count):
        start = e.put(f"add {type} {base}, {pattern[first]}") if pattern[first] else base
        parts.append(e.put(f"add <{count} x {type}> {e.splat(type, start, count)}, {own}"))
    while len(parts) > 1:
        picks = ", ".join(f"i32 {n}" for n in range(2 * count))
        half = f"<{count} x {type}>"
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            e.put(f"shufflevector {half} {a}, {half} {b}, <{2 * count} x i32> <{picks}>") for a, b in pairs
        ]
        count *= 2
    return parts[0]

"""Numbers of 64 bits as bfloats, rounded once: a double between them holds 53 bits, and rounds some to a tie."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.both import same


def nearest(value: int) -> int:
    """The bits of the bfloat next to a number, the even one of two."""
    size = abs(value)
    drop = max(size.bit_length() - 8, 0)
    kept, rest = size >> drop, size & (1 << drop) - 1
    kept += 2 * rest + (kept & 1) > 1 << drop if drop else 0
    bits = np.array(float(kept << drop), np.float32).view(np.uint32) >> np.uint32(16)
    return int(bits) | (0x8000 if value < 0 else 0)


@pytest.mark.parametrize(("kind", "dtype"), [("long", np.int64), ("ulong", np.uint64)])
def test_beside_a_tie_and_at_it(kind: str, dtype: type) -> None:
    text = f"""kernel void k(device const {kind}* x, device bfloat* y, uint t [[thread_position_in_grid]]) {{
        y[t] = bfloat(x[t]);
    }}"""
    ties = [
        (257 + 2 * n << by) + more for by in (2, 16, 44, 45, 46, 53) for n in range(4) for more in (-1, 0, 1)
    ]
    given = [*ties, *(-x for x in ties), *range(-9, 9), (1 << 63) - 1, 1 << 53, (1 << 53) + 1]
    numbers = [x for x in given if np.iinfo(dtype).min <= x]
    y = np.zeros(len(numbers), np.uint16)
    _, found = same(text, [np.array(numbers, dtype), y], len(numbers), 32, widths=(0, 1, 8))
    assert [int(x) for x in found] == [nearest(x) for x in numbers]

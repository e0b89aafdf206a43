"""Numbers of lanes that are shifted out of their type, and divided, widened and compared behind that."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.both import same

TEXT = """kernel void k(device uint* y, device ulong* z, device long* s, uint t [[thread_index_in_threadgroup]]) {
    uint v = t << SHIFT;
    y[6 * t] = v >> 1;
    y[6 * t + 1] = v / 3u;
    y[6 * t + 2] = v % 5u;
    y[6 * t + 3] = (v + 7u) >> 3;
    y[6 * t + 4] = v > 1000u;
    y[6 * t + 5] = uint(int(v) >> 2) ^ uint(int(v) / 3);
    z[t] = ulong(v) * 3;
    s[t] = long(int(v)) * 3;
}"""


@pytest.mark.parametrize("shift", [20, 26, 27, 28, 31])
@pytest.mark.parametrize("threads", [8, 32, 64, 100])
def test_what_is_shifted_out_is_gone(shift: int, threads: int) -> None:
    text = TEXT.replace("SHIFT", str(shift))
    arrays = [
        np.full(6 * threads, 9, np.uint32),
        np.full(threads, 9, np.uint64),
        np.full(threads, 9, np.int64),
    ]
    y, z, s = same(text, arrays, threads, threads, widths=(0, 16))
    v = np.arange(threads, dtype=np.uint64) << np.uint64(shift) & np.uint64(0xFFFFFFFF)
    assert (y[::6] == v >> np.uint64(1)).all() and (z == v * np.uint64(3)).all()
    assert (s == v.astype(np.uint32).view(np.int32).astype(np.int64) * 3).all()

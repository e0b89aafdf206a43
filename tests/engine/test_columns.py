"""Column reductions as real programs write them: an early return, the same branch twice, a barrier under a condition.

The copy of a branch for instances without idle lanes left its mask unset for a block of that mask behind it.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.engine.both import same

COLUMNS = """
kernel void k(device const T* x, device T* out, constant int& rows, constant int& cols,
              uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]],
              uint3 lsize [[threads_per_threadgroup]]) {
  threadgroup T s[32 * 8 * 4];
  int column = (gid.x * lsize.x + lid.x) * 4;
  if (column >= cols) return;
  bool inside = column + 4 <= cols;
  T total[4] = {START, START, START, START};
  for (int r = lid.y; r < rows; r += lsize.y) {
    if (inside) { for (int i = 0; i < 4; i++) total[i] = JOIN(total[i], x[r * cols + column + i]); }
    else { for (int i = 0; column + i < cols; i++) total[i] = JOIN(total[i], x[r * cols + column + i]); }
  }
  if (lsize.y > 1) {
    for (int i = 0; i < 4; i++) s[(lid.y * lsize.x + lid.x) * 4 + i] = total[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid.y == 0)
      for (uint j = 1; j < lsize.y; j++)
        for (int i = 0; i < 4; i++) total[i] = JOIN(total[i], s[(j * lsize.x + lid.x) * 4 + i]);
  }
  if (lid.y == 0) {
    if (inside) { for (int i = 0; i < 4; i++) out[column + i] = total[i]; }
    else { for (int i = 0; column + i < cols; i++) out[column + i] = total[i]; }
  }
}"""
SUM = "#define T float\n#define START 0\n#define JOIN(a, b) ((a) + (b))\n"
LEAST = "#define T bfloat\n#define START bfloat(INFINITY)\n#define JOIN(a, b) ((b) < (a) ? (b) : (a))\n"


@pytest.mark.parametrize(("rows", "cols", "height", "guard"), [(2, 256, 2, True), (16, 256, 8, False)])
def test_columns_are_reduced_at_every_width(rows: int, cols: int, height: int, guard: bool) -> None:
    x = np.random.default_rng(rows).integers(-50, 50, (rows, cols))
    size = [np.array([n], np.int32) for n in (rows, cols)]
    shape, widths = (32, height, 1), (0, 8, 32)
    out = np.full(cols, np.nan, np.float32)
    _, total, *_ = same(
        SUM + COLUMNS, [x.astype(np.float32), out, *size], (64, height), shape, widths=widths, guard=guard
    )
    np.testing.assert_array_equal(total, x.sum(0))
    least = np.zeros(cols, np.uint16)
    bits = x.astype(ml_dtypes.bfloat16).view(np.uint16)
    _, found, *_ = same(
        LEAST + COLUMNS, [bits, least, *size], (64, height), shape, widths=widths, guard=guard
    )
    np.testing.assert_array_equal(found.view(ml_dtypes.bfloat16).astype(int), x.min(0))

"""A transpose that forgets the last tile of each axis, compared with numpy over sizes, layouts and values.

python compare_transpose.py --html compare.html
"""

import sys
from pathlib import Path

import numpy as np

import metalloid as mt

kernel = mt.device().library(Path(__file__).with_name("transpose.metal"))["transpose"]


def transpose(x):
    rows, columns = x.shape
    y = np.full((columns, rows), np.nan, np.float32)
    groups = max(1, columns // 16), max(1, rows // 16)  # should round up
    if y.size:
        kernel(np.ascontiguousarray(x), y, (rows, columns), threadgroups=groups, threadgroup=(16, 16))
    return y


if __name__ == "__main__":
    result = mt.compare(transpose, lambda x: x.T, mt.cases({"x": "rows columns"}, tiles=16, largest=2048))
    print(result)
    if "--html" in sys.argv:
        path = Path(sys.argv[-1])
        path.write_text(result.html(), encoding="utf-8")
        print(f"wrote {path}")

"""Numbers: half that overflows, in all rows and in one of many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checker.second_round.case import halves, pair

ROWS = """kernel void k(device const half* x, device half* out, uint row [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < 8; j++) sum += x[row * 8 + j] * {TYPE}(x[row * 8 + j]);
    out[row] = half(sqrt(float(sum)));
}"""


def few_large():
    x = halves(8 * 2048, 0.5)
    x[8 * 1500 : 8 * 1501] = 200
    return [x, np.zeros(2048, np.float16)]


CASES = (
    *pair(
        "squares of half in every row",
        ROWS.replace("{TYPE}", "half"),
        ROWS.replace("{TYPE}", "float"),
        lambda: [halves(8 * 64, 300), np.zeros(64, np.float16)],
        {"grid": 64},
        "M403",
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "squares of half that overflow in one row of many",
            ROWS.replace("{TYPE}", "half"),
            ROWS.replace("{TYPE}", "float"),
            few_large,
            {"grid": 2048, "threadgroup": 32},
            "M403",
        )
    ),
)

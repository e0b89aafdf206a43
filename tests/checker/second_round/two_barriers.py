"""Threads that wait at two barriers: both are named, and whether one leads to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checker.second_round.case import floats, pair

WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
HEAD = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = 0;
"""
TAIL = """
    out[t] = s[63 - t];
}"""
# The mistake, from line 6 on; the same mended; what is said.
BODIES = (
    (
        "each branch has its barrier",
        f"""    if (t < 32) {{
        s[t] = x[t];
        {WAIT}
    }} else {{
        s[t] = 2 * x[t];
        {WAIT}
    }}""",
        f"    if (t < 32) s[t] = x[t]; else s[t] = 2 * x[t];\n    {WAIT}",
        "two branches have a barrier each, in lines 8 and 11",
    ),
    (
        "each branch has its barrier, in a loop of one line",
        f"""    for (uint j = 0; j < 4; j++) {{ if (t < 32) {{ s[t] += x[t]; {WAIT} }} else {{ s[t] -= x[t];
        {WAIT} }} }}""",
        f"    for (uint j = 0; j < 4; j++) {{ if (t < 32) s[t] += x[t]; else s[t] -= x[t]; {WAIT} }}",
        "two branches have a barrier each, in lines 6 and 7",
    ),
    (
        "each branch has a loop with a barrier",
        f"""    if (t < 32) {{
        for (uint j = 0; j < 4; j++) {{ s[t] += x[t]; {WAIT} }}
    }} else {{
        for (uint j = 0; j < 4; j++) {{ s[t] -= x[t]; {WAIT} }}
    }}""",
        f"    for (uint j = 0; j < 4; j++) {{ s[t] += t < 32 ? x[t] : -x[t]; {WAIT} }}",
        "two branches have a barrier each, in lines 7 and 9",
    ),
    (
        "a barrier in a branch, and one behind it",
        f"""    s[t] = x[t];
    if (t < 32) {{
        {WAIT}
    }}
    s[t] += 1;
    {WAIT}""",
        f"    s[t] = x[t] + 1;\n    {WAIT}",
        "the condition in line 7 lets only some threads come to the barrier in line 8, and the others have gone on to"
        " the one in line 11",
    ),
    (
        "a loop with a barrier that some leave for the next",
        f"""    for (uint j = 0; j < 1 + t / 32; j++) {{
        s[t] += x[t];
        {WAIT}
    }}
    s[t] += 1;
    {WAIT}""",
        f"    for (uint j = 0; j < 2; j++) s[t] += x[t];\n    s[t] += 1;\n    {WAIT}",
        "the others wait at the barrier in line 11",
    ),
)


def arrays() -> list[Any]:
    return [floats(64), np.zeros(64, np.float32)]


CASES = tuple(
    case
    for name, wrong, right, says in BODIES
    for case in pair(
        name, HEAD + wrong + TAIL, HEAD + right + TAIL, arrays, {"grid": 64, "threadgroup": 64}, "M204", says
    )
)

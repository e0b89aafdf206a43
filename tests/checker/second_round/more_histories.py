"""More mistakes as real kernels had them, and their twins: masks, caches, quantised products, scans, sorts, filters.

A row is a kernel with one word that is wrong and the word that is right; the launch is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import metalloid as mt
from metalloid.mlx import metal_kernel
from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, blank, floats, ints

GROUP = "uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]"
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
ROWS = """kernel void k(device float* out, device const float* x, constant uint& n,
                     uint row [[thread_position_in_grid]]) {
    {BODY}
}"""


@dataclass(frozen=True)
class Row:
    name: str
    text: str
    wrong: str
    right: str
    find: str
    arguments: Callable[[], list[Any]]
    sizes: Mapping[str, Any] = field(default_factory=lambda: {"grid": 32, "threadgroup": 32})
    says: str = ""
    math: str = "fast"


def rows(n: int = 8, count: int = 32) -> Callable[[], list[Any]]:
    return lambda: [blank(count), floats(count * n), n]


def threadgroup(*arguments: Callable[[], Any]) -> Callable[[], list[Any]]:
    return lambda: [make() for make in arguments]


def masked() -> np.ndarray:
    """Scores of 32 rows; all of row 3 are masked."""
    x = floats(256).reshape(32, 8) / 40
    x[3] = -np.inf
    return x.reshape(-1)


def with_zero_row() -> np.ndarray:
    x = floats(256).reshape(32, 8)
    x[5] = 0
    return x.reshape(-1)


TABLE = (
    Row(
        "a causal row without its own token",
        ROWS.replace(
            "{BODY}",
            """float sum = 0, v = 0;
    for (uint j = 0; j {TO} row; j++) { float e = exp(x[j] / 40); sum += e; v += e * x[j]; }
    out[row] = v / sum;""",
        ),
        "<",
        "<=",
        "M401",
        rows(),
        says="0 / 0",
    ),
    Row(
        "a window that begins before the first token",
        ROWS.replace(
            "{BODY}",
            """float sum = 0;
    for (uint j = {START}; j <= row; j++) sum += x[j];
    out[row] = sum / x[{START}];""",
        ),
        "row - 4",
        "(row < 4 ? 0 : row - 4)",
        "M404",
        rows(),
        says="below 0",
    ),
    Row(
        "an online softmax that meets a masked row",
        ROWS.replace(
            "{BODY}",
            """float top = -INFINITY, sum = 0;
    for (uint j = 0; j < n; j++) {
        float v = x[row * n + j], up = max(top, v);
        sum = sum * {SCALE} + (v == -INFINITY ? 0 : exp(v - up));
        top = up;
    }
    out[row] = sum;""",
        ),
        "exp(top - up)",
        "(top == -INFINITY ? 0 : exp(top - up))",
        "M401",
        lambda: [blank(32), masked(), 8],
        says="-infinity - -infinity",
        math="safe",
    ),
    Row(
        "a head of keys by the wrong division",
        """kernel void k(device float* out, device const float* keys, constant uint& heads, constant uint& groups,
                     uint2 p [[thread_position_in_grid]]) {
    out[p.y * 8 + p.x] = keys[(p.y {OF}) * 8 + p.x];
}""",
        "/ groups + 1",
        "/ (heads / groups)",
        "M101",
        lambda: [blank(64), floats(16), 8, 2],
        {"grid": (8, 8)},
    ),
    Row(
        "a token written behind a full cache",
        """kernel void k(device float* cache, device const float* x, constant uint& length,
                     uint i [[thread_position_in_grid]]) {
    cache[{AT} * 32 + i] = x[i];
}""",
        "length",
        "(length - 1)",
        "M102",
        lambda: [blank(4 * 32), floats(32), 4],
    ),
    Row(
        "a dot product of bytes in a short",
        """kernel void k(device int* out, device const char* a, device const char* b, constant uint& n,
                     uint row [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < n; j++) sum += a[row * n + j] * b[j];
    out[row] = sum;
}""",
        "short",
        "int",
        "M408",
        lambda: [np.zeros(32, np.int32), np.full(32 * 16, 100, np.int8), np.full(16, 90, np.int8), 16],
    ),
    Row(
        "a zero point taken off a byte",
        """kernel void k(device float* out, device const uchar* q, constant uchar& zero,
                     uint i [[thread_position_in_grid]]) {
    {TYPE} v = q[i] - zero;
    out[i] = v * 0.5f;
}""",
        "uchar",
        "int",
        "M408",
        lambda: [blank(32), np.arange(100, 132).astype(np.uint8), np.uint8(128)],
    ),
    Row(
        "words of eight numbers counted as words of four",
        """kernel void k(device float* out, device const uint* w, constant uint& width,
                     uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint j = 0; j < width / {EACH}; j++) {
        uint word = w[row * (width / 8) + j];
        for (uint b = 0; b < 8; b++) sum += float((word >> (4 * b)) & 15);
    }
    out[row] = sum;
}""",
        "4",
        "8",
        "M101",
        lambda: [blank(32), np.arange(32 * 4).astype(np.uint32), 32],
    ),
    Row(
        "scales of rows that are no multiple of a group",
        """kernel void k(device float* out, device const char* q, device const float* scales, constant uint& width,
                     uint2 p [[thread_position_in_grid]]) {
    uint groups = {COUNT};
    out[p.y * width + p.x] = q[p.y * width + p.x] * scales[p.y * groups + p.x / 16];
}""",
        "(width + 31) / 16",
        "(width + 15) / 16",
        "M101",
        lambda: [blank(4 * 40), ints(160, np.int8), floats(4 * 3), 40],
        {"grid": (40, 4)},
    ),
    Row(
        "a scale of a row of zeros",
        ROWS.replace(
            "{BODY}",
            """float most = 0;
    for (uint j = 0; j < n; j++) most = max(most, abs(x[row * n + j]));
    float scale = {SCALE};
    out[row] = x[row * n] * scale;""",
        ),
        "127.0f / most",
        "(most > 0 ? 127.0f / most : 0.0f)",
        "M401",
        lambda: [blank(32), with_zero_row(), 8],
        says="127 / 0",
        math="safe",
    ),
    Row(
        "partial sums of SIMD-groups that are not there",
        f"""kernel void k(device float* out, device const float* x, {GROUP}) {{
    threadgroup float part[32];
    float sum = simd_sum(x[t]);
    if (t % 32 == 0) part[t / 32] = sum;
    {WAIT}
    if (t < 32) {{
        sum = simd_sum({{TAKE}});
        if (t == 0) out[0] = sum;
    }}
}}""",
        "part[t]",
        "t < 2 ? part[t] : 0.0f",
        "M104",
        lambda: [blank(1), floats(64)],
        {"grid": 64, "threadgroup": 64},
    ),
    Row(
        "a mean of groups, one of which is empty",
        """kernel void k(device int* out, device const int* sums, device const int* ends,
                     uint i [[thread_position_in_grid]]) {
    int count = ends[i + 1] - ends[i];
    out[i] = {VALUE};
}""",
        "sums[i] / count",
        "count ? sums[i] / count : 0",
        "M407",
        lambda: [np.zeros(4, np.int32), ints(4), np.array([0, 3, 3, 9, 12], np.int32)],
        {"grid": 4},
        "'count' is 0",
    ),
    Row(
        "two halves of a variance, both empty",
        """kernel void k(device float* out, device const float* mean, device const float* count,
                     uint i [[thread_position_in_grid]]) {
    float a = count[i], b = count[i + 32], all = a + b;
    out[i] = mean[i] + (mean[i + 32] - mean[i]) * {SHARE};
}""",
        "b / all",
        "(all > 0 ? b / all : 0)",
        "M401",
        lambda: [blank(32), floats(64), (np.arange(64) % 32 % 7 > 0).astype(np.float32)],
        says="0 / 0",
        math="safe",
    ),
    Row(
        "the place of a maximum in a row without one",
        ROWS.replace(
            "{BODY}",
            """float top = -INFINITY;
    uint best{SET};
    for (uint j = 0; j < n; j++) if (x[row * n + j] > top) { top = x[row * n + j]; best = j; }
    out[row] = best;""",
        ),
        "",
        " = 0",
        "M110",
        lambda: [blank(32), masked(), 8],
        says="'best'",
        math="safe",
    ),
    Row(
        "sums of a tile that only whole tiles clear",
        ROWS.replace(
            "{BODY}",
            """float sum[4]{SET};
    if (row < 24) for (uint j = 0; j < 4; j++) sum[j] = 0;
    for (uint j = 0; j < n; j++) sum[j % 4] += x[row * n + j];
    out[row] = sum[0] + sum[1] + sum[2] + sum[3];""",
        ),
        "",
        " = {}",
        "M110",
        rows(),
    ),
    Row(
        "an exclusive scan that asks before its start",
        f"""kernel void k(device uint* out, device const uint* x, {GROUP}) {{
    threadgroup uint s[32];
    s[t] = x[t];
    {WAIT}
    out[t] = {{BEFORE}};
}}""",
        "s[t - 1]",
        "t ? s[t - 1] : 0",
        "M101",
        lambda: [np.full(32, 7, np.uint32), ints(32, np.uint32)],
    ),
    Row(
        "a carry that is read while it is written",
        f"""kernel void k(device uint* out, device const uint* x, {GROUP}) {{
    threadgroup uint carry;
    if (t == 0) carry = 0;
    {WAIT}
    for (uint b = 0; b < 4; b++) {{
        uint v = simd_prefix_inclusive_sum(x[b * 64 + t]) + carry;
        out[b * 64 + t] = v;
        {{FIRST}}
        if (t == 63) carry = v;
        {WAIT}
    }}
}}""",
        "",
        WAIT,
        "M201",
        lambda: [np.full(256, 7, np.uint32), ints(256, np.uint32)],
        {"grid": 64, "threadgroup": 64},
    ),
    Row(
        "a bitonic step that both partners take",
        f"""kernel void k(device uint* out, device const uint* x, {GROUP}) {{
    threadgroup uint s[64];
    s[t] = x[t];
    {WAIT}
    for (uint j = 32; j > 0; j /= 2) {{
        uint p = t ^ j;
        if ({{WHO}}s[t] > s[p]) {{ uint v = s[t]; s[t] = s[p]; s[p] = v; }}
        {WAIT}
    }}
    out[t] = s[t];
}}""",
        "",
        "t < p && ",
        "M201",
        lambda: [np.full(64, 7, np.uint32), ints(64, np.uint32)[::-1].copy()],
        {"grid": 64, "threadgroup": 64},
    ),
    Row(
        "a bitonic step past the last key",
        """kernel void k(device uint* keys, constant uint& n, constant uint& j, uint t [[thread_position_in_grid]]) {
    uint p = t ^ j;
    if (p > t{INSIDE} && keys[t] > keys[p]) { uint v = keys[t]; keys[t] = keys[p]; keys[p] = v; }
}""",
        "",
        " && p < n",
        "M102",
        lambda: [ints(40, np.uint32)[::-1].copy(), 40, 32],
        {"grid": 40},
    ),
    Row(
        "odd and even pairs without a barrier between them",
        f"""kernel void k(device int* out, device const int* x, {GROUP}) {{
    threadgroup int s[64];
    s[t] = x[t];
    {WAIT}
    for (uint r = 0; r < 64; r++) {{
        uint a = 2 * t + r % 2;
        if (a + 1 < 64 && s[a] > s[a + 1]) {{ int v = s[a]; s[a] = s[a + 1]; s[a + 1] = v; }}
        {{BETWEEN}}
    }}
    {WAIT}
    out[t] = s[t];
}}""",
        "",
        WAIT,
        "M206",
        lambda: [np.zeros(64, np.int32), ints(64)[::-1].copy()],
        {"grid": 64, "threadgroup": 64},
        "outside any `if`",
    ),
    Row(
        "digits counted by plain sums",
        f"""kernel void k(device uint* out, device const uint* x, {GROUP}) {{
    threadgroup {{TYPE}} count[16];
    if (t < 16) {{CLEAR}};
    {WAIT}
    {{ADD}};
    {WAIT}
    if (t < 16) out[t] = {{READ}};
}}""",
        "uint|count[t] = 0|count[x[t] & 15] += 1|count[t]",
        "atomic_uint|atomic_store_explicit(&count[t], 0, memory_order_relaxed)"
        "|atomic_fetch_add_explicit(&count[x[t] & 15], 1, memory_order_relaxed)"
        "|atomic_load_explicit(&count[t], memory_order_relaxed)",
        "M201",
        lambda: [np.zeros(16, np.uint32), ints(64, np.uint32)],
        {"grid": 64, "threadgroup": 64},
    ),
    Row(
        "a binary search that looks behind the end",
        """kernel void k(device uint* out, device const float* x, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    uint low = 0, high = {END};
    while (low < high) {
        uint middle = (low + high) / 2;
        if (x[middle] < float(i)) low = middle + 1; else high = middle;
    }
    out[i] = low;
}""",
        "n + 1",
        "n",
        "M101",
        lambda: [np.zeros(32, np.uint32), np.arange(20, dtype=np.float32), 20],
    ),
    Row(
        "a tile without room for its edges",
        f"""kernel void k(device float* out, device const float* x, {GROUP}) {{
    threadgroup float s[{{ROOM}}];
    s[t + 1] = x[t];
    if (t == 0) {{ s[0] = 0; s[33] = 0; }}
    {WAIT}
    out[t] = s[t] + s[t + 1] + s[t + 2];
}}""",
        "33",
        "34",
        "M102",
        lambda: [blank(32), floats(32)],
    ),
    Row(
        "an image of which the last column is forgotten",
        """kernel void k(device float* out, device const float* x, constant uint& width, constant uint& size,
                     uint2 p [[thread_position_in_grid]]) {
    uint wide = width - size + 1;
    if (p.x >= {LIMIT}) return;
    float sum = 0;
    for (uint j = 0; j < size; j++) sum += x[p.y * width + p.x + j];
    out[p.y * wide + p.x] = sum;
}""",
        "wide - 1",
        "wide",
        "M106",
        lambda: [mt.device().empty(4 * 14), floats(64), 16, 3],
        {"grid": (14, 4)},
    ),
    Row(
        "weights of a filter by the number of channels",
        """kernel void k(device float* out, device const float* x, device const float* w, constant uint& taps,
                     constant uint& channels, uint c [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint j = 0; j < taps; j++) sum += x[j * channels + c] * w[c * {STEP} + j];
    out[c] = sum;
}""",
        "channels",
        "taps",
        "M101",
        lambda: [blank(16), floats(16 * 5), floats(16 * 5), 5, 16],
        {"grid": 16},
    ),
    Row(
        "a pooled window without an element",
        """kernel void k(device float* out, device const float* x, constant int& width,
                     uint i [[thread_position_in_grid]]) {
    float sum = 0;
    int count = 0;
    for (int j = int(i) * 4 - 8; j < int(i) * 4 - 4; j++) if (j >= 0 && j < width) { sum += x[j]; count++; }
    out[i] = {MEAN};
}""",
        "sum / count",
        "count ? sum / count : 0",
        "M401",
        lambda: [blank(8), floats(32), 32],
        {"grid": 8},
        says="0 / 0",
        math="safe",
    ),
    Row(
        "a sum in half over a long row",
        """kernel void k(device half* out, device const half* x, constant uint& n,
                     uint row [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < n; j++) sum += x[row * n + j];
    out[row] = half(sum / n);
}""",
        "half",
        "float",
        "M402",
        lambda: [np.zeros(4, np.float16), (np.arange(4 * 3000) % 5 * 0.3 + 0.7).astype(np.float16), 3000],
        {"grid": 4},
    ),
    Row(
        "scores in half that do not fit",
        """kernel void k(device half* out, device const half* q, device const half* key, constant uint& n,
                     uint row [[thread_position_in_grid]]) {
    {TYPE} score = 0;
    for (uint j = 0; j < n; j++) score += {TYPE}(q[row * n + j]) * {TYPE}(key[j]);
    out[row] = half(score * 0.001f);
}""",
        "half",
        "float",
        "M403",
        lambda: [np.zeros(4, np.float16), np.full(4 * 64, 60, np.float16), np.full(64, 60, np.float16), 64],
        {"grid": 4},
    ),
)


def mlx(grid: int, **more: Any) -> Callable[[Kernel], None]:
    """Four numbers for each thread, in MLX's call form."""

    def call(kernel: Kernel) -> None:
        source = """
    uint i = thread_position_in_grid.x * 4;
    for (uint j = 0; j < 4 && i + j < x_shape[0]; j++) out[i + j] = 2 * x[i + j];
"""
        made = metal_kernel(name="four", input_names=["x"], output_names=["out"], source=source)
        made(
            inputs=[floats(1026)],
            grid=(grid, 1, 1),
            threadgroup=(64, 1, 1),
            output_shapes=[(1026,)],
            output_dtypes=[np.float32],
        )

    return call


def added(start: float | None) -> Callable[[Kernel], None]:
    """A histogram in MLX's call form; its output starts undefined where no value is given."""

    def call(kernel: Kernel) -> None:
        made = metal_kernel(
            name="bins",
            input_names=["x"],
            output_names=["out"],
            atomic_outputs=True,
            source="atomic_fetch_add_explicit(&out[x[thread_position_in_grid.x] % 8], 1, memory_order_relaxed);",
        )
        made(
            inputs=[ints(64)],
            grid=(64, 1, 1),
            threadgroup=(64, 1, 1),
            output_shapes=[(8,)],
            output_dtypes=[np.int32],
            init_value=start,
        )

    return call


NOTHING = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
FORMS = (
    ("MLX: the last two of 1,026 are nobody's", mlx(256), mlx(257), "M106"),
    ("MLX: sums that start anywhere", added(None), added(0), "M105"),
)


def cases() -> Iterator[Case]:
    for row in TABLE:
        for name, words, find, says in (
            (row.name, row.wrong, row.find, row.says),
            (f"{row.name}, mended", row.right, "", ""),
        ):
            yield Case(name, filled(row.text, words), row.arguments, row.sizes, find, says, row.math)
    for name, wrong, right, find in FORMS:
        yield Case(name, NOTHING, find=find, call=wrong)
        yield Case(f"{name}, mended", NOTHING, call=right)


def filled(text: str, words: str) -> str:
    """Each gap of the text with its word; a gap may stand at several places."""
    parts = words.split("|")
    gaps = list(dict.fromkeys(part.split("}")[0] for part in text.split("{") if part.split("}")[0].isupper()))
    for gap, word in zip(gaps, parts, strict=True):
        text = text.replace("{" + gap + "}", word)
    return text


CASES = tuple(cases())

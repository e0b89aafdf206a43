"""Textbook kernels as people write them first, each a text of its own with a small launch, for `bench compile`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
_I = "uint i [[thread_position_in_grid]]"
_T = "uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]"
_AT = "uint2 at [[thread_position_in_grid]]"
_SUM = """threadgroup float s[256]; s[t] = VALUE; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 128; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        threadgroup_barrier(mem_flags::mem_threadgroup); }"""


@dataclass(frozen=True)
class Textbook:
    """Buffers are as many floats (a, b, c, ...) of this length each, the last for the result."""

    name: str
    text: str
    buffers: int = 2
    length: int = 4096
    grid: tuple[int, ...] = (4096,)
    threadgroup: tuple[int, ...] = (256,)
    counts: bool = False  # the result is whole numbers

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        made = [rng.random(self.length, dtype=np.float32) for _ in range(self.buffers - 1)]
        return [*made, np.zeros(self.length, np.uint32 if self.counts else np.float32)]


def _flat(name: str, body: str, buffers: int = 2) -> Textbook:
    names = "abcdef"[: buffers - 1]
    inputs = "".join(f"device const float* {n}, " for n in names)
    return Textbook(name, f"kernel void {name}({inputs}device float* o, {_I}) {{ {body} }}", buffers)


def _tree(name: str, value: str, end: str, buffers: int = 2) -> Textbook:
    inputs = "".join(f"device const float* {n}, " for n in "abcdef"[: buffers - 1])
    body = _SUM.replace("VALUE", value)
    return Textbook(name, f"kernel void {name}({inputs}device float* o, {_T}) {{ {body} {end} }}", buffers)


def _plane(name: str, body: str, buffers: int = 2) -> Textbook:
    inputs = "".join(f"device const float* {n}, " for n in "abcdef"[: buffers - 1])
    text = f"kernel void {name}({inputs}device float* o, {_AT}) {{ {body} }}"
    return Textbook(name, text, buffers, grid=(64, 64), threadgroup=(16, 16))


KERNELS = (
    _flat("vector_add", "o[i] = a[i] + b[i];", 3),
    _flat("saxpy", "o[i] = 2.5f * a[i] + b[i];", 3),
    _flat("relu", "o[i] = max(a[i], 0.0f);"),
    _flat("sigmoid", "o[i] = 1 / (1 + exp(-a[i]));"),
    _flat("gelu", "float x = a[i]; o[i] = 0.5f * x * (1 + tanh(0.797885f * (x + 0.044715f * x * x * x)));"),
    _flat("reverse", "o[i] = a[4095 - i];"),
    _flat(
        "mandelbrot",
        "float x = 0, y = 0; uint n = 0; for (; n < 64 && x * x + y * y < 4; n++) { float z = x * x - y * y "
        "+ a[i]; y = 2 * x * y + a[i]; x = z; } o[i] = n;",
    ),
    _flat(
        "random",
        "uint h = i * 747796405u + 2891336453u; h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737u; "
        "o[i] = float((h >> 22) ^ h) * 0x1p-32f + 0 * a[i];",
    ),
    _flat(
        "moving_average", "float s = 0; for (uint k = 0; k < 8; k++) s += a[min(i + k, 4095u)]; o[i] = s / 8;"
    ),
    _flat(
        "black_scholes",
        "float s = a[i] + 1, k = b[i] + 1, d = (log(s / k) + 0.06f) / 0.3f; "
        "o[i] = s / (1 + exp(-1.6f * d)) - k * exp(-0.02f) / (1 + exp(-1.6f * (d - 0.3f)));",
        3,
    ),
    _tree("sum", "a[g * 256 + t]", "if (t == 0) o[g] = s[0];"),
    _tree("dot", "a[g * 256 + t] * b[g * 256 + t]", "if (t == 0) o[g] = s[0];", 3),
    _tree(
        "rms_norm",
        "a[g * 256 + t] * a[g * 256 + t]",
        "o[g * 256 + t] = a[g * 256 + t] * rsqrt(s[0] / 256 + 1e-5f);",
    ),
    _tree("softmax", "exp(a[g * 256 + t])", "o[g * 256 + t] = exp(a[g * 256 + t]) / s[0];"),
    Textbook(
        "scan",
        f"""kernel void scan(device const float* a, device float* o, {_T}) {{
    threadgroup float s[256]; s[t] = a[g * 256 + t]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < 256; d *= 2) {{
        float v = t >= d ? s[t - d] : 0; threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] += v; threadgroup_barrier(mem_flags::mem_threadgroup); }}
    o[g * 256 + t] = s[t]; }}""",
    ),
    Textbook(
        "histogram",
        f"""kernel void histogram(device const float* a, device atomic_uint* o, {_I}) {{
    atomic_fetch_add_explicit(&o[uint(a[i] * 63)], 1u, memory_order_relaxed); }}""",
        counts=True,
    ),
    Textbook(
        "simd_total",
        f"""kernel void simd_total(device const float* a, device float* o, {_I}) {{
    float s = simd_sum(a[i]); if (i % 32 == 0) o[i / 32] = s; }}""",
    ),
    _plane("transpose", "o[at.x * 64 + at.y] = a[at.y * 64 + at.x];"),
    _plane(
        "matmul",
        "float s = 0; for (uint k = 0; k < 64; k++) s += a[at.y * 64 + k] * b[k * 64 + at.x]; "
        "o[at.y * 64 + at.x] = s;",
        3,
    ),
    _plane(
        "blur",
        "float s = 0; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) "
        "s += a[clamp(int(at.y) + y, 0, 63) * 64 + clamp(int(at.x) + x, 0, 63)]; o[at.y * 64 + at.x] = s / 9;",
    ),
    Textbook(
        "matmul_tiled",
        """kernel void matmul_tiled(device const float* a, device const float* b, device float* o,
    uint2 at [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float x[16][16], y[16][16]; float s = 0;
    for (uint k = 0; k < 64; k += 16) {
        x[t.y][t.x] = a[at.y * 64 + k + t.x]; y[t.y][t.x] = b[(k + t.y) * 64 + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 16; j++) s += x[t.y][j] * y[j][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup); }
    o[at.y * 64 + at.x] = s; }""",
        3,
        grid=(64, 64),
        threadgroup=(16, 16),
    ),
    Textbook(
        "bitonic_sort",
        f"""kernel void bitonic_sort(device const float* a, device float* o, {_T}) {{
    threadgroup float s[256]; s[t] = a[g * 256 + t]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 2; k <= 256; k *= 2) for (uint j = k / 2; j > 0; j /= 2) {{
        uint p = t ^ j; float x = s[t], y = s[p]; bool up = (t & k) == 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] = (t < p) == up ? min(x, y) : max(x, y); threadgroup_barrier(mem_flags::mem_threadgroup); }}
    o[g * 256 + t] = s[t]; }}""",
    ),
)


def fresh(name: str) -> None:
    """A first launch of one of them. What nobody needs for that is not imported: this is measured with all of it."""
    import metalloid

    kernel = next(kernel for kernel in KERNELS if kernel.name == name)
    kind = np.uint32 if kernel.counts else np.float32
    arrays = [np.ones(kernel.length, np.float32) for _ in range(kernel.buffers - 1)]
    made = metalloid.device("cpu").library(HEAD + kernel.text)[name]
    made(*arrays, np.zeros(kernel.length, kind), grid=kernel.grid, threadgroup=kernel.threadgroup)

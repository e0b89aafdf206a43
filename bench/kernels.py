"""The kernel library against numpy, OpenBLAS and MLX on the CPU, as ratios: `python -m bench kernels`.

Best of several runs of each, in turns; all on one thread, by the processor's time, then on two, by the clock. A ratio
above 1 means that the library is ahead. BENCH_ONLY=q4_0 chooses rows by their names, BENCH_SECONDS how long each takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))
ONLY = os.environ.get("BENCH_ONLY", "")
ALONE = os.environ.get("METALLOID_THREADS") == "1"
CLOCK = time.process_time if ALONE else time.perf_counter
TURNS = 5  # runs of one before the other's turn
PAUSE = (
    0.0 if ALONE else 0.1
)  # seconds between turns: OpenBLAS's second thread spins on for a while and holds a core
SCALES = {"q4_0": (0,), "q8_0": (0,), "q4_K": (0, 2), "q6_K": (208,)}  # where those of a block lie


@dataclass(frozen=True)
class Row:
    """Two ways to the same result, and how much faster the first has to be."""

    name: str
    ours: Callable[[], object]
    other: str
    theirs: Callable[[], object]
    least: float | None = None
    flops: float = 0.0


def main() -> None:
    """Each number of threads is a process of its own: OpenBLAS reads it once."""
    for threads in ("1", "2"):
        names = ("METALLOID_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        print(f"{threads} thread{'s' if threads != '1' else ''}", flush=True)
        subprocess.run([sys.executable, "-m", "bench.kernels"], env=environment, check=True)


def measure() -> None:
    print(f"  {'':44} {'ratio':>6} {'least':>6} {'ours, us':>10} {'theirs':>10}")
    for row in rows():
        if ONLY not in row.name:
            continue
        ours, theirs = best(row.ours, row.theirs)
        least = f"{row.least:6.2f}" if row.least else "      "
        rate = f"  {row.flops / ours / 1e9:.0f} GFLOP/s" if row.flops else ""
        what = f"{row.name} / {row.other}"
        print(
            f"  {what:44} {theirs / ours:6.2f} {least} {ours * 1e6:10.0f} {theirs * 1e6:10.0f}{rate}",
            flush=True,
        )


def best(*actions: Callable[[], object]) -> list[float]:
    """The shortest run of each, in turns: what else the machine does hits all of them alike."""
    found = [float("inf")] * len(actions)
    for action in actions:
        action()
    end = time.perf_counter() + SECONDS
    rounds = 0
    while time.perf_counter() < end or rounds < 3:
        for n, action in enumerate(actions):
            for _ in range(TURNS):
                start = CLOCK()
                action()
                found[n] = min(found[n], CLOCK() - start)
            time.sleep(PAUSE)
        rounds += 1
    return found


def rows() -> list[Row]:
    return [*norms(), *products(), *elementwise(), *attentions()]


def norms() -> list[Row]:
    import numpy as np

    import metalloid as mt
    import metalloid.kernels as mk
    from metalloid.kernels.arrays import empty

    separate = mt.device().library(Path(__file__).with_name("kernels.metal"))
    found = []
    for count in (64, 2048):
        n = 4096
        x, w = normal(count, n), normal(n)

        def apart(x=x, w=w, count=count, n=n) -> object:
            squares, means, divided = (
                empty(x.shape, x.dtype),
                empty((count,), x.dtype),
                empty(x.shape, x.dtype),
            )
            out = empty(x.shape, x.dtype)
            separate["square"](x, squares, grid=x.size, threadgroup=256)
            separate["row_means"](squares, means, n, grid=count * 32, threadgroup=32)
            separate["divide"](x, means, divided, n, grid=(n, count), threadgroup=(256, 1))
            separate["weigh"](divided, w, out, n, grid=(n, count), threadgroup=(256, 1))
            return out

        def plain(x=x, w=w) -> object:
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * w

        def fused(x=x, w=w) -> object:
            return mk.rms_norm(x, w)

        assert np.abs(apart() - plain()).max() < 1e-4 > np.abs(fused() - plain()).max()
        found += [
            Row(f"RMSNorm {count}x{n}", fused, "separate kernels", apart, 1.5),
            Row(f"RMSNorm {count}x{n}", fused, "numpy", plain, 2.0),
        ]
    return found


def products() -> list[Row]:
    import numpy as np

    import metalloid.kernels as mk
    from metalloid.kernels.matmul import VARIANTS

    n = 1024
    a, b = normal(n, n), normal(n, n, seed=1)
    turned = np.ascontiguousarray(b.T)
    halves = a.astype(np.float16), b.astype(np.float16)
    found = [
        Row("matmul 1024^3", lambda: mk.matmul(a, b), "OpenBLAS", lambda: a @ b, 0.8, 2 * n**3),
        Row(
            "matmul 1024^3, B^T",
            lambda: mk.matmul(a, turned, True),
            "OpenBLAS",
            lambda: a @ turned.T,
            0.8,
            2 * n**3,
        ),
        Row(
            "matmul 1024^3, float16",
            lambda: mk.matmul(*halves),
            "OpenBLAS float32",
            lambda: a @ b,
            None,
            2 * n**3,
        ),
    ]
    for variant in VARIANTS:
        found.append(
            Row(
                f"matmul 1024^3, {variant}",
                lambda v=variant: mk.matmul(a, b, variant=v),
                "OpenBLAS",
                lambda: a @ b,
                None,
                2 * n**3,
            )
        )
    w, x, few = normal(4096, 4096), normal(4096), normal(39, 4096)
    found += [
        Row("matvec 4096x4096", lambda: mk.matvec(w, x), "OpenBLAS", lambda: w @ x, None, 2 * 4096**2),
        Row(
            "39 rows @ (4096x4096)^T",
            lambda: mk.matmul(few, w, True),
            "OpenBLAS",
            lambda: few @ w.T,
            None,
            78 * 4096**2,
        ),
    ]
    for format, least in (("q4_0", 2.5), ("q8_0", None), ("q4_K", None), ("q6_K", None)):
        packed = blocks(format, 4096, 4096)
        found.append(
            Row(
                f"{format} matvec 4096x4096",
                lambda p=packed, f=format: mk.quantized_matmul(x, p, f),
                "f32 matvec",
                lambda: mk.matvec(w, x),
                least,
                2 * 4096**2,
            )
        )
    return found


def blocks(format: str, rows: int, columns: int):
    """Random bytes with scales of a sensible size."""
    import numpy as np

    from metalloid.kernels.quantized import BLOCKS

    block, size = BLOCKS[format]
    source = np.random.default_rng(0)
    made = source.integers(0, 256, (rows, columns // block, size), np.uint8)
    for at in SCALES[format]:
        scales = source.uniform(0.01, 0.02, (rows, columns // block, 1)).astype(np.float16)
        made[..., at : at + 2] = scales.view(np.uint8)
    return made.reshape(rows, -1)


def elementwise() -> list[Row]:
    import numpy as np

    import metalloid.kernels as mk

    x, y = normal(512, 4096), normal(512, 4096, seed=1)
    heads, logits = normal(32, 256, 128), normal(128256)
    half = np.arange(256)[:, None] * 10000.0 ** (-np.arange(64) / 64)
    cosine, sine = np.cos(half).astype(np.float32), np.sin(half).astype(np.float32)

    def shares() -> object:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def turned() -> object:
        a, b = heads[..., :64], heads[..., 64:]
        return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)

    return [
        Row("softmax 512x4096", lambda: mk.softmax(x), "numpy", shares),
        Row("SwiGLU 512x4096", lambda: mk.swiglu(x, y), "numpy", lambda: x / (1 + np.exp(-x)) * y),
        Row("GELU (tanh) 512x4096", lambda: mk.gelu(x, tanh=True), "numpy", lambda: tanh_gelu(np, x)),
        Row("RoPE 32x256x128", lambda: mk.rope(heads), "numpy", turned),
        Row("argmax of 128256", lambda: mk.argmax(logits), "numpy", lambda: logits.argmax()),
    ]


def tanh_gelu(np, x) -> object:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attentions() -> list[Row]:
    import numpy as np

    import metalloid.kernels as mk

    found = []
    for name, heads, kv_heads, n, m, d in (
        ("decode, 4k context, 32 heads", 32, 32, 1, 4096, 128),
        ("decode, 4k context, 32/8 heads", 32, 8, 1, 4096, 128),
        ("prefill of 512, 8/2 heads", 8, 2, 512, 512, 64),
    ):
        q, k, v = normal(1, heads, n, d), normal(1, kv_heads, m, d, seed=1), normal(1, kv_heads, m, d, seed=2)
        causal = n > 1

        def ours(q=q, k=k, v=v, causal=causal) -> object:
            return mk.attention(q, k, v, causal=causal)

        try:
            import mlx.core as mx
        except ImportError:
            print(f"  {name}: MLX is not installed")
            continue
        arrays = [mx.array(a) for a in (q, k, v)]
        mx.eval(arrays)

        def theirs(arrays=arrays, d=d, mask="causal" if causal else None) -> object:
            out = mx.fast.scaled_dot_product_attention(*arrays, scale=d**-0.5, mask=mask)
            mx.eval(out)
            return out

        assert np.abs(ours() - np.array(theirs())).max() < 1e-4
        found.append(Row(f"attention, {name}", ours, "MLX", theirs, 1.0 if n == 1 else None))
    return found


def normal(*shape: int, seed: int = 0):
    import numpy as np

    from metalloid.kernels.arrays import empty

    made = empty(shape, np.float32)
    made[...] = np.random.default_rng(seed).standard_normal(shape)
    return made


if __name__ == "__main__":
    from metalloid.backends.patience import measuring

    with measuring():  # good code from the first launch on; what first launches cost is `bench cold`'s
        measure()

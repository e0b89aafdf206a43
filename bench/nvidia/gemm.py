"""Other people's products of matrices, unmodified, beside cuBLAS: squares of several sizes, halves, sums in float."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from conformance.mlx_headers import KERNELS, include_folder
from conformance.results.ggml.matmul import MM_BATCHES, MM_INPUT, MM_LAST, MM_OUTPUT, MM_R2, MM_R3
from conformance.results.ggml.shapes import fields, launch
from conformance.results.launch import bind

import metalloid as mt
from metalloid.frontend import compile_kernel
from metalloid.runtime.recording import Recording
from metalloid.source import Source

SIZES = 4096, 2048, 3072, 3000  # the last has no whole tiles
COUNT, ROUNDS = 10, 5
Made = tuple[Recording, Any]  # a recording of COUNT products, and where they leave the last


def _ggml(cupy: Any, a: Any, b: Any, kind: str) -> Made:
    """b @ a.T; `kind` is that of b."""
    n = len(a)
    others, out = (
        b.astype(cupy.float16 if kind == "f16" else cupy.float32),
        cupy.full((n, n), np.nan, np.float32),
    )
    shapes = [np.empty((1, 1, n, n), x.dtype) for x in (a, others, out)]
    step = launch(
        "mul_mm",
        f"kernel_mul_mm_f16_{kind}",
        (fields(*shapes, r2=1, r3=1), *shapes),
        (-(-n // 32), -(-n // 64), 1),
        (32, 4, 1),
        memory=8192 if n % 64 else 6144,
        constants={
            MM_INPUT: n % 32 != 0,
            MM_OUTPUT: n % 64 != 0,
            MM_BATCHES: 1,
            MM_LAST: 1,
            MM_R2: 1,
            MM_R3: 1,
        },
    )
    given = bind(compile_kernel(step.source, step.kernel, step.constants).signature, step)[0]
    kernel = mt.device("cuda").library(step.source).kernel(step.kernel, constants=dict(step.constants))
    memory = [given.tobytes(), *(x.reshape(-1).view(cupy.uint8) for x in (a, others, out))]
    made = Recording()
    for _ in range(COUNT):
        made.add(kernel, *memory, threadgroups=step.threadgroups, threadgroup=step.threadgroup,
                 threadgroup_memory=dict(step.threadgroup_memory))  # fmt: skip
    return made, out


def _steel(cupy: Any, a: Any, b: Any, turned: bool) -> Made:
    """b @ a.T, or b @ a; tiles of 64 x 64 x 16 by four SIMD-groups, as MLX chooses them."""
    parts = ("utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h")
    instance = f"gemm<half, 64, 64, 16, 2, 2, false, {str(turned).lower()}>"
    lines = [f'#include "{KERNELS}/{part}"' for part in parts]
    lines.append(f'template [[host_name("gemm")]] [[kernel]] decltype({instance}) {instance};')
    source = Source("\n".join(lines), "gemm.metal", include=(include_folder(),))
    n = len(a)
    tiles, whole = -(-n // 64), n % 64 == 0
    constants: dict[str | int, Any] = {
        10: False,
        100: False,
        110: False,
        200: whole,
        201: whole,
        202: n % 16 == 0,
    }
    kernel = mt.device("cuda").library(source).kernel("gemm", constants=constants)
    out = cupy.full((n, n), np.nan, np.float16)
    params = {
        "M": n, "N": n, "K": n, "lda": n, "ldb": n, "ldd": n, "tiles_n": tiles, "tiles_m": tiles,
        "batch_stride_a": 0, "batch_stride_b": 0, "batch_stride_d": 0, "swizzle_log": 0,
        "gemm_k_iterations_aligned": n // 16, "batch_ndim": 0,
    }  # fmt: skip
    made = Recording()
    for _ in range(COUNT):
        made.add(
            kernel, A=b, B=a, D=out, params=params, threadgroups=(tiles, tiles, 1), threadgroup=(32, 2, 2)
        )
    return made, out


def _timed(cupy: Any, work: Callable[[], object], count: int) -> float:
    """Milliseconds of one."""
    times = []
    for _ in range(ROUNDS):
        cupy.cuda.runtime.deviceSynchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.runtime.deviceSynchronize()
        times.append((time.perf_counter() - begin) / count * 1e3)
    return median(times)


def measured(cupy: Any) -> Iterator[dict[str, Any]]:
    for n in SIZES:
        yield from of_size(cupy, n)


def of_size(cupy: Any, n: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(0)
    a, b = (cupy.asarray(rng.standard_normal((n, n), np.float32).astype(np.float16)) for _ in range(2))
    wide = [x.astype(cupy.float64) for x in (a, b)]
    right = {True: wide[1] @ wide[0].T, False: wide[1] @ wide[0]}

    def blas() -> None:
        for _ in range(COUNT):
            cupy.matmul(b, a)

    for _ in range(3):
        blas()
    theirs = _timed(cupy, blas, COUNT)
    ways: tuple[tuple[str, Callable[[], Made], bool], ...] = (
        ("ggml mul_mm, f16 x f32", lambda: _ggml(cupy, a, b, "f32"), True),
        ("ggml mul_mm, f16 x f16", lambda: _ggml(cupy, a, b, "f16"), True),
        ("MLX steel gemm, f16, nt", lambda: _steel(cupy, a, b, True), True),
        ("MLX steel gemm, f16, nn", lambda: _steel(cupy, a, b, False), False),
    )
    for name, make, turned in ways:
        made, out = make()
        made.run()
        error = float(
            cupy.abs(out.astype(cupy.float64) - right[turned]).max() / cupy.abs(right[turned]).max()
        )
        assert error < 2e-3, f"{name} of {n} is off by {error:.2g}"
        ours = _timed(cupy, made.run, COUNT)
        flops = 2 * n**3 / 1e9
        yield {
            "name": name,
            "n": n,
            "ms": ours,
            "tflops": flops / ours,
            "cublas": flops / theirs,
            "error": error,
        }

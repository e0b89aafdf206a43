"""Other people's matrix kernels (simdgroup_matrix) against OpenBLAS, one thread: `python -m bench matrices`.

ggml's mul_mm with float16 weights and MLX's steel gemm in float32, 512 x 512 x 512, unmodified; fetched by package
name as for `make conformance`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["METALLOID_THREADS"] = "1"

from collections.abc import Callable
from typing import Any

import numpy as np
from conformance.mlx_headers import KERNELS, include_folder
from conformance.results.ggml.matmul import MM_BATCHES, MM_INPUT, MM_LAST, MM_OUTPUT, MM_R2, MM_R3
from conformance.results.ggml.shapes import fields, launch
from conformance.results.launch import bind

import metalloid as mt
from bench.engine import best
from metalloid.backends.patience import measuring
from metalloid.frontend import compile_kernel
from metalloid.source import Source

N = 512
LEAST = 0.5


def ggml_mul_mm(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]
) -> tuple[Callable[[], None], np.ndarray[Any, Any]]:
    """b @ a.T, the weights `a` in half precision."""
    half, others, out = (
        a.astype(np.float16)[None, None],
        b[None, None],
        np.full((1, 1, N, N), np.nan, np.float32),
    )
    step = launch(
        "mul_mm",
        "kernel_mul_mm_f16_f32",
        (fields(half, others, out, r2=1, r3=1), half, others, out),
        (N // 32, N // 64, 1),
        (32, 4, 1),
        memory=6144,
        constants={MM_INPUT: False, MM_OUTPUT: False, MM_BATCHES: 1, MM_LAST: 1, MM_R2: 1, MM_R3: 1},
    )
    compiled = compile_kernel(step.source, step.kernel, step.constants)
    library = mt.device().library(step.source)
    kernel = library.kernel(step.kernel, constants=dict(step.constants))
    memory = [m.reshape(-1).view(np.uint8).data for m in bind(compiled.signature, step)]
    assert step.threadgroups is not None

    def run() -> None:
        kernel(*memory, threadgroups=step.threadgroups, threadgroup=step.threadgroup,
               threadgroup_memory=dict(step.threadgroup_memory))  # fmt: skip

    return run, out[0, 0]


def mlx_steel_gemm(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]
) -> tuple[Callable[[], None], np.ndarray[Any, Any]]:
    """b @ a.T in float32, tiles of 64 x 64 x 16 by four SIMD-groups."""
    parts = ("utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h")
    instance = "gemm<float, 64, 64, 16, 2, 2, false, true>"
    lines = [f'#include "{KERNELS}/{part}"' for part in parts]
    lines.append(f'template [[host_name("gemm")]] [[kernel]] decltype({instance}) {instance};')
    source = Source("\n".join(lines), "gemm.metal", include=(include_folder(),))
    constants: dict[str | int, Any] = {10: False, 100: False, 110: False, 200: True, 201: True, 202: True}
    kernel = mt.device().library(source).kernel("gemm", constants=constants)
    out = np.full((N, N), np.nan, np.float32)
    params = {
        "M": N, "N": N, "K": N, "lda": N, "ldb": N, "ldd": N, "tiles_n": N // 64, "tiles_m": N // 64,
        "batch_stride_a": 0, "batch_stride_b": 0, "batch_stride_d": 0, "swizzle_log": 0,
        "gemm_k_iterations_aligned": N // 16, "batch_ndim": 0,
    }  # fmt: skip
    named = {"A": b, "B": a, "D": out, "params": params}

    def run() -> None:
        kernel(**named, threadgroups=(N // 64, N // 64, 1), threadgroup=(32, 2, 2))

    return run, out


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((N, N)).astype(np.float16).astype(np.float32) for _ in range(2))
    expected = b.astype(np.float64) @ a.T.astype(np.float64)
    print(f"{'':34} {'ratio':>6} {'least':>6} {'engine':>9} {'OpenBLAS':>9} GFLOP/s   error")
    for name, make in (("ggml mul_mm, f16 x f32", ggml_mul_mm), ("MLX steel gemm, f32", mlx_steel_gemm)):
        run, out = make(a, b)
        with measuring():  # good code at once
            run()
        error = np.abs(out - expected).max() / np.abs(expected).max()
        ours, blas = best(run, lambda: np.matmul(b, a.T))
        rate = 2 * N**3 / 1e9
        print(
            f"{name:34} {blas / ours:6.2f} {LEAST:6.2f} {rate / ours:9.1f} {rate / blas:9.1f} {'':8} {error:.1e}"
        )

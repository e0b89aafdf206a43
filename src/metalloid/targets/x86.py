"""x86-64. The numbers of caches and latencies were measured on a Xeon with AVX-512."""

from __future__ import annotations

from dataclasses import replace

from metalloid.targets.info import TargetInfo

AVX512 = TargetInfo(
    "AVX-512",
    vector_bytes=64,
    vector_registers=32,
    gathers=True,
    scatters=True,
    masks_memory=True,
    scales_floats=True,
    float_table="llvm.x86.avx512.permvar.sf.512",
)
AVX2 = TargetInfo("AVX2", vector_bytes=32, vector_registers=16, gathers=True, masks_memory=True)
SSE = replace(AVX2, name="SSE", vector_bytes=16, gathers=False, masks_memory=False)


def info(features: frozenset[str]) -> TargetInfo:
    if "+avx512f" in features:
        return AVX512
    return AVX2 if "+avx2" in features else SSE

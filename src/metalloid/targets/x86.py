"""x86-64. The numbers of caches and latencies were measured on a Xeon with AVX-512."""

from __future__ import annotations

from dataclasses import replace

from metalloid.targets.info import TargetInfo

AVX512 = TargetInfo(
    "AVX-512",
    vector_bytes=64,
    vector_registers=32,
    staged_row=64,
    gathers=True,
    scatters=True,
    masks_memory=True,
    mask_bits=True,
    scales_floats=True,
    scaling=("llvm.x86.avx512.mask.scalef.ps.512", "llvm.x86.avx512.mask.cvtps2dq.512"),
    slow_denormals=True,
    fuses_halves=False,
    fused_rounding="llvm.x86.avx512.vfmadd.ps.512",
    float_table="llvm.x86.avx512.permvar.sf.512",
)
AVX2 = TargetInfo(
    "AVX2",
    vector_bytes=32,
    vector_registers=16,
    gathers=True,
    masks_memory=True,
    slow_denormals=True,
    fuses_halves=False,
)
SSE = replace(AVX2, name="SSE", vector_bytes=16, gathers=False, masks_memory=False)


_DOTS = "llvm.x86.avx512.vpdpbusd"  # bytes without a sign times bytes with one


def info(features: frozenset[str]) -> TargetInfo:
    if "+avx512f" in features:
        recent = "+avx512fp16" in features  # gathers of most of those before are slowed down (probe.py)
        quick = recent or "+fast-gather" in features
        found = replace(AVX512, fuses_halves=recent, quick_gathers=quick)
        return _with_dots(found) if "+avx512vnni" in features else found
    if "+avx2" not in features:
        return SSE
    return _with_dots(AVX2) if "+avxvnni" in features else AVX2


def _with_dots(plain: TargetInfo) -> TargetInfo:
    return replace(plain, byte_dots=(("us", f"{_DOTS}.{8 * plain.vector_bytes}"),))

"""CUDA (and C) spellings that people bring along, and what Metal calls the same thing.

`metal_for(word)` is all that is needed from here. A value reads as the end of the sentence
"'threadIdx' is CUDA; Metal has ...".
"""

from __future__ import annotations

import re

_POSITIONS = {
    "threadIdx": "thread_position_in_threadgroup",
    "blockIdx": "threadgroup_position_in_grid",
    "blockDim": "threads_per_threadgroup",
    "gridDim": "threadgroups_per_grid",
    "warpSize": "threads_per_simdgroup",
    "laneId": "thread_index_in_simdgroup",
}

_BARRIERS = {
    "__syncthreads": "`threadgroup_barrier(mem_flags::mem_threadgroup)`",
    "__syncwarp": "`simdgroup_barrier(mem_flags::mem_threadgroup)`",
    "__threadfence": "`atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst)`",
    "__threadfence_block": "`threadgroup_barrier(mem_flags::mem_threadgroup)`, or an `atomic_thread_fence`",
    "__syncthreads_count": "`simd_sum` and a threadgroup array; there is no counting barrier",
    "__syncthreads_or": "`simd_any` and a threadgroup array; there is no voting barrier",
    "__syncthreads_and": "`simd_all` and a threadgroup array; there is no voting barrier",
}

_QUALIFIERS = {
    "__global__": "`kernel`, as in `kernel void f(device float* x [[buffer(0)]])`",
    "__device__": "no need of it: a kernel can call any function (a variable at file scope is `constant`)",
    "__host__": "no need of it: MSL runs on the GPU only",
    "__shared__": "`threadgroup`, as in `threadgroup float s[32];` inside the kernel",
    "__constant__": "`constant`, as in `constant float table[3] = {1, 2, 3};` at file scope",
    "__managed__": "no such variables: pass a `device` buffer",
    "__restrict__": "no need of it: drop it",
    "__forceinline__": "`inline`",
    "__noinline__": "`__attribute__((noinline))`",
    "__launch_bounds__": "`[[max_total_threads_per_threadgroup(n)]]` before `kernel`",
    "__grid_constant__": "`constant T&`",
}

_SIMD = {
    "__shfl_sync": "`simd_shuffle(v, lane)` (no mask)",
    "__shfl_xor_sync": "`simd_shuffle_xor(v, mask)` (no participation mask)",
    "__shfl_up_sync": "`simd_shuffle_up(v, delta)` (no mask)",
    "__shfl_down_sync": "`simd_shuffle_down(v, delta)` (no mask)",
    "__shfl": "`simd_shuffle(v, lane)`",
    "__shfl_xor": "`simd_shuffle_xor(v, mask)`",
    "__shfl_up": "`simd_shuffle_up(v, delta)`",
    "__shfl_down": "`simd_shuffle_down(v, delta)`",
    "__ballot_sync": "`simd_ballot(condition)`, whose bits are `(simd_vote::vote_t)simd_ballot(...)`",
    "__any_sync": "`simd_any(condition)`",
    "__all_sync": "`simd_all(condition)`",
    "__activemask": "`simd_active_threads_mask()`",
    "__reduce_add_sync": "`simd_sum(v)`",
    "__reduce_min_sync": "`simd_min(v)`",
    "__reduce_max_sync": "`simd_max(v)`",
    "__reduce_and_sync": "`simd_and(v)`",
    "__reduce_or_sync": "`simd_or(v)`",
    "__reduce_xor_sync": "`simd_xor(v)`",
}

_ATOMICS = {
    "atomicAdd": "atomic_fetch_add_explicit",
    "atomicSub": "atomic_fetch_sub_explicit",
    "atomicMin": "atomic_fetch_min_explicit",
    "atomicMax": "atomic_fetch_max_explicit",
    "atomicAnd": "atomic_fetch_and_explicit",
    "atomicOr": "atomic_fetch_or_explicit",
    "atomicXor": "atomic_fetch_xor_explicit",
    "atomicExch": "atomic_exchange_explicit",
}

_FUNCTIONS = {
    "atomicCAS": "`atomic_compare_exchange_weak_explicit(p, &expected, value, memory_order_relaxed, "
    "memory_order_relaxed)`, which returns whether it stored",
    "atomicInc": "a loop of `atomic_compare_exchange_weak_explicit`; there is no wrapping increment",
    "__ldg": "a plain read, `p[i]`: mark the pointer `const device`",
    "__ldcg": "a plain read, `p[i]`",
    "__stcg": "a plain write, `p[i] = v`",
    "__expf": "`fast::exp`",
    "__exp10f": "`fast::exp10`",
    "__logf": "`fast::log`",
    "__log2f": "`fast::log2`",
    "__log10f": "`fast::log10`",
    "__sinf": "`fast::sin`",
    "__cosf": "`fast::cos`",
    "__tanf": "`fast::tan`",
    "__powf": "`fast::pow`",
    "__sincosf": "`fast::sincos(x, c)`, which returns the sine and writes the cosine",
    "sincosf": "`sincos(x, c)`, which returns the sine and writes the cosine",
    "__fdividef": "`fast::divide(a, b)`, or `a / b`",
    "__frcp_rn": "`1.0f / x`",
    "__frsqrt_rn": "`precise::rsqrt(x)`",
    "__fsqrt_rn": "`precise::sqrt(x)`",
    "__fadd_rn": "`a + b`",
    "__fmul_rn": "`a * b`",
    "__fmaf_rn": "`fma(a, b, c)`",
    "__saturatef": "`saturate(x)`",
    "__float2half": "`half(x)`",
    "__float2half_rn": "`half(x)`",
    "__half2float": "`float(x)`",
    "__float2bfloat16": "`bfloat(x)`",
    "__bfloat162float": "`float(x)`",
    "__float22half2_rn": "`half2(x)`",
    "__half22float2": "`float2(x)`",
    "__halves2half2": "`half2(a, b)`",
    "__half2half2": "`half2(x)`",
    "__float2half2_rn": "`half2(x)`",
    "__low2half": "`v.x`",
    "__high2half": "`v.y`",
    "__low2float": "`float(v.x)`",
    "__high2float": "`float(v.y)`",
    "__int2float_rn": "`float(x)`",
    "__uint2float_rn": "`float(x)`",
    "__float2int_rn": "`int(rint(x))`",
    "__float2int_rd": "`int(floor(x))`",
    "__float2int_ru": "`int(ceil(x))`",
    "__float2int_rz": "`int(x)`",
    "__float_as_int": "`as_type<int>(x)`",
    "__float_as_uint": "`as_type<uint>(x)`",
    "__int_as_float": "`as_type<float>(x)`",
    "__uint_as_float": "`as_type<float>(x)`",
    "__half_as_ushort": "`as_type<ushort>(x)`",
    "__ushort_as_half": "`as_type<half>(x)`",
    "__popc": "`popcount(x)`",
    "__popcll": "`popcount(x)` of a `ulong`",
    "__clz": "`clz(x)`",
    "__clzll": "`clz(x)` of a `ulong`",
    "__ffs": "`ctz(x) + 1` (0 where x is 0)",
    "__brev": "`reverse_bits(x)`",
    "__byte_perm": "`as_type<uchar4>(x)` and swizzles",
    "__funnelshift_l": "`(hi << n) | (lo >> (32 - n))`; `rotate(x, n)` where both are the same",
    "__mulhi": "`mulhi(a, b)`",
    "__umulhi": "`mulhi(a, b)` of `uint`s",
    "__mul24": "`mul24(a, b)`",
    "__sad": "`absdiff(a, b) + c`",
    "__dp4a": "no such instruction: multiply `char4`s as `int4`s and add the parts",
    "__nanosleep": "no such function",
    "__trap": "no such function",
    "clock64": "no such function",
    "rsqrtf": "`rsqrt(x)`",
    "rcbrtf": "`1.0f / pow(x, 1.0f / 3)`",
    "fabsf": "`fabs(x)` or `abs(x)`",
    "fminf": "`fmin(a, b)` or `min(a, b)`",
    "fmaxf": "`fmax(a, b)` or `max(a, b)`",
    "fdividef": "`a / b`",
    "lrintf": "`int(rint(x))`",
    "llrintf": "`long(rint(x))`",
    "normcdff": "no such function: `0.5f * (1.0f + erf(x * M_SQRT1_2_F))` with your own `erf`",
    "erff": "no such function: write the polynomial, as MLX's `erf.h` does",
    "tgammaf": "no such function",
    "lgammaf": "no such function",
}

_TYPES = {
    "__half": "`half`",
    "__half2": "`half2`",
    "__nv_bfloat16": "`bfloat`",
    "__nv_bfloat162": "`bfloat2`",
    "nv_bfloat16": "`bfloat`",
    "nv_bfloat162": "`bfloat2`",
    "__nv_fp8_e4m3": "no 8-bit floats: use `uchar` and unpack",
    "__nv_fp8_e5m2": "no 8-bit floats: use `uchar` and unpack",
    "dim3": "`uint3`",
    "nvcuda": "`simdgroup_matrix` in place of `wmma` fragments",
    "wmma": "`simdgroup_matrix`, `simdgroup_load` and `simdgroup_multiply_accumulate`",
    "cooperative_groups": "barriers and `simd_*` functions",
    "cg": "barriers and `simd_*` functions",
    "cub": "`simd_sum`, `simd_prefix_inclusive_sum` and threadgroup arrays",
    "thrust": "no library of the kind",
}

# C's float functions, whose Metal name is the same without the f.
_WITHOUT_F_TEXT = """
acosf acoshf asinf asinhf atanf atan2f atanhf ceilf copysignf cosf coshf cospif expf exp2f exp10f
fdimf floorf fmaf fmodf frexpf ldexpf logf log2f log10f modff nextafterf powf rintf roundf sinf
sinhf sinpif sqrtf tanf tanhf tanpif truncf ilogbf
"""
_WITHOUT_F = frozenset(_WITHOUT_F_TEXT.split())

_ALSO_C = frozenset(("fabsf", "fminf", "fmaxf", "erff", "lgammaf", "tgammaf", "lrintf", "llrintf"))

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"make_(u?(?:char|short|int)|float|half)([234])"), r"`\1\2(...)`"),
    (re.compile(r"make_(u?)longlong([234])"), r"`\1long\2(...)`"),
    (re.compile(r"__h(?:add|sub|mul|div|neg|fma)2?(?:_rn|_sat)?"), "plain operators on `half`, and `fma`"),
    (re.compile(r"__h(?:lt|le|gt|ge|eq|ne|max|min|abs)2?"), "plain operators on `half`, `min`, `max`, `abs`"),
    (re.compile(r"h2?(exp|exp2|log|log2|sqrt|rsqrt|sin|cos)"), r"`\1(x)` for `half` as well"),
    (re.compile(r"M_(?:E|LOG2E|LOG10E|LN2|LN10|PI(_[24])?|[12]_PI|2_SQRTPI|SQRT2|SQRT1_2)"), r"`\g<0>_F`"),
    (re.compile(r"DBL_(MAX|MIN|EPSILON)"), r"`FLT_\1`"),
    (re.compile(r"cuda[A-Z]\w*"), "nothing of the kind: host code stays in Python"),
    (re.compile(r"__nv_\w+|__nvvm_\w+|__cvta_\w+"), "no such intrinsic"),
)  # fmt: skip

_PLAIN = _BARRIERS | _QUALIFIERS | _SIMD | _FUNCTIONS | _TYPES


def is_position(word: str) -> str:
    """The attribute that stands for `threadIdx` and its kin, or nothing."""
    return _POSITIONS.get(word, "")


def is_atomic(word: str) -> bool:
    return word in _ATOMICS or word in ("atomicCAS", "atomicInc", "atomicDec")


def metal_for(word: str) -> str:
    """What Metal has in place of a CUDA or C word; empty where the word is neither."""
    if word in _POSITIONS:
        return f"`{_POSITIONS[word]}`"
    if word in _ATOMICS:
        return f"`{_ATOMICS[word]}(p, value, memory_order_relaxed)`"
    if word in _PLAIN:
        return _PLAIN[word]
    if word in _WITHOUT_F:
        return f"`{word[:-1]}`"
    for pattern, metal in _PATTERNS:
        if match := pattern.fullmatch(word):
            return match.expand(metal)
    return ""


def language(word: str) -> str:
    """Where a word comes from."""
    return (
        "C and CUDA" if word in _WITHOUT_F or word in _ALSO_C or word.startswith(("M_", "DBL_")) else "CUDA"
    )

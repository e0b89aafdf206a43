"""Words that hints are made of: what Metal has, what it lacks, what parameters are usually called."""

from __future__ import annotations

import re

from metalloid.frontend.attributes import PARAMETER_ATTRIBUTES
from metalloid.ir.intrinsics import COLLECTIVES

_FUNCTIONS_TEXT = """
abs absdiff acos acosh addsat all any as_type asin asinh atan atan2 atanh
atomic_compare_exchange_weak_explicit atomic_exchange_explicit atomic_fetch_add_explicit
atomic_fetch_and_explicit atomic_fetch_max_explicit atomic_fetch_min_explicit atomic_fetch_or_explicit
atomic_fetch_sub_explicit atomic_fetch_xor_explicit atomic_load_explicit atomic_store_explicit
atomic_thread_fence ceil clamp clz copysign cos cosh cospi cross ctz determinant distance
distance_squared divide dot exp exp10 exp2 extract_bits fabs fdim floor fma fmax fmax3 fmedian3 fmin
fmin3 fmod fract frexp hadd ilogb insert_bits isfinite isinf isnan isnormal isordered isunordered ldexp
length length_squared log log10 log2 mad24 madhi madsat max max3 median3 min min3 mix modf mul24 mulhi
nextafter normalize not popcount pow powr reflect refract reverse_bits rhadd rint rotate round rsqrt
saturate select sign signbit simdgroup_barrier simdgroup_load simdgroup_multiply
simdgroup_multiply_accumulate simdgroup_store sin sincos sinh sinpi smoothstep sqrt step subsat tan tanh
tanpi threadgroup_barrier transpose trunc
"""
FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split()) | {
    f"{group}_{what}" for group in ("simd", "quad") for what in COLLECTIVES
}

_OTHERS_TEXT = """
mem_flags mem_none mem_device mem_threadgroup mem_texture memory_order_relaxed thread_scope_device
simd_vote simdgroup_matrix simdgroup_float8x8 simdgroup_half8x8 simdgroup_bfloat8x8 atomic_uint
atomic_int atomic_float atomic_bool atomic_ulong INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON HALF_MAX
HALF_MIN INT_MAX INT_MIN UINT_MAX M_E_F M_PI_F M_PI_2_F M_PI_4_F M_1_PI_F M_2_PI_F M_SQRT2_F M_SQRT1_2_F
M_LN2_F M_LN10_F M_LOG2E_F M_LOG10E_F numeric_limits
"""
METAL = FUNCTIONS | frozenset(_OTHERS_TEXT.split())

TYPE = re.compile(
    r"(packed_)?(u?(char|short|int|long)|float|half|bfloat|bool)([234](x[234])?)?|u?int\d+_t|size_t"
)

_KEYWORDS_TEXT = """
if else for while do switch case default break continue return struct class union enum namespace using
typedef template typename const constexpr static inline volatile void bool char short int long unsigned
signed float half device constant threadgroup thread kernel auto sizeof operator true false
"""
KEYWORDS = frozenset(_KEYWORDS_TEXT.split())

_USUAL_TEXT = {
    "uint {} [[thread_position_in_grid]]": "gid global_id thread_id tpig idx index",
    "uint {} [[thread_position_in_threadgroup]]": "tid lid local_id ltid tpitg",
    "uint {} [[threadgroup_position_in_grid]]": "tgid group_id tgpig bid block_id",
    "uint {} [[threads_per_threadgroup]]": "tg_size group_size ntg tptg",
    "uint {} [[thread_index_in_simdgroup]]": "lane lane_id simd_lane simd_lane_id tiisg",
    "uint {} [[simdgroup_index_in_threadgroup]]": "sgid simd_group_id simd_group sgitg warp_id",
}
USUAL = {name: text.format(name) for text, names in _USUAL_TEXT.items() for name in names.split()}

POSITIONS = frozenset(
    name for name in PARAMETER_ATTRIBUTES if "_in_" in name or "_per_" in name or "grid_" in name
)

UNSUPPORTED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"texture\w*|depth(2d|cube)\w*"), "textures are"),
    (re.compile(r"sampler|coord|filter|address|access"), "samplers and textures are"),
    (re.compile(r"visible_function_table|intersection_function_table"), "function tables are"),
    (re.compile(r"raytracing|intersector|acceleration_structure|intersection_\w+|ray"), "ray tracing is"),
    (re.compile(r"convolution2d\w*|reduce_(rows|columns)\w*"), "tensor operations other than matmul2d are"),
    (
        re.compile(r"imageblock\w*|mesh|object_data|interpolant|dfdx|dfdy|fwidth|discard_fragment"),
        "the render pipeline is",
    ),
    (re.compile(r"\w+_command|command_buffer|render_pipeline_state"), "indirect commands are"),
)

_BITS = {"8": "char", "16": "short", "32": "int", "64": "long"}
_FOREIGN = {
    "bfloat16": "`bfloat`",
    "bf16": "`bfloat`",
    "__bf16": "`bfloat`",
    "float16": "`half`",
    "fp16": "`half`",
    "f16": "`half`",
    "float32": "`float`",
    "float32_t": "`float`",
    "fp32": "`float`",
    "f32": "`float`",
    "float64": "`float`; there is no 64-bit float",
    "float8": "two `float4`s; vectors have 2, 3 or 4 elements",
    "half8": "two `half4`s; vectors have 2, 3 or 4 elements",
    "longlong": "`long`, which has 64 bits",
}
NEW_TYPES = dict.fromkeys(("bfloat", "bfloat2", "bfloat3", "bfloat4"), "Metal 3.1")
STANDARD = {
    "vector": "a fixed-size array, `float v[16]`",
    "cout": '`os_log_default.log("...")` with <metal_logging>',
    "printf": '`os_log_default.log("...")` with <metal_logging>',
}


def metal_type(name: str) -> str:
    """What to write in place of a type of another language; empty where it is none."""
    if match := re.fullmatch(r"(u?)int(8|16|32|64)(?:_t)?([234]?)|([ui])(8|16|32|64)", name):
        sign = match[1] if match[1] is not None else "u" * (match[4] == "u")
        return f"`{sign}{_BITS[match[2] or match[5]]}{match[3] or ''}`"
    return _FOREIGN.get(name, "")

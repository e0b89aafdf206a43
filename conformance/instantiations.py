"""What MLX instantiates its kernel templates with.

One row per template: `header: template: argument lists`. Types, tile sizes and group sizes are those of MLX's
own tables (the names in its compiled library spell them out); every template of the headers occurs.
`{T}`, `{I}` ... are expanded by the lists in `TYPES`.
"""

# ruff: noqa: E501  (a table: one template per line)

from __future__ import annotations

from itertools import product

TYPES: dict[str, tuple[str, ...]] = {
    "F": ("float", "float16_t", "bfloat16_t"),
    "T": ("float", "bfloat16_t", "int32_t"),
    "A": ("float", "half", "bfloat16_t", "int8_t", "uint32_t", "int64_t", "bool", "complex64_t"),
    "C": ("float", "complex64_t"),
    "I": ("uint8_t", "int32_t", "uint64_t"),
    "B": ("true", "false"),
    "X": ("int", "int64_t"),
    "G": ("32", "64", "128"),
    "b": ("2", "3", "4", "5", "6", "8"),
}

UTILS = "utils.h"
GEMM = ("utils.h", "steel/gemm/gemm.h")
CONV = ("utils.h", "steel/gemm/gemm.h", "steel/conv/conv.h")
REDUCE = ("utils.h", "atomic.h", "reduction/ops.h", "reduce_utils.h")
QUANTIZED = ("utils.h", "steel/gemm/gemm.h", "quantized_utils.h")

BINARY = (
    "ss", "sv", "vs", "vv", "sv2", "vs2", "vv2", "g_nd1", "g_nd2", "g_nd3", "g",
)  # fmt: skip
UNARY_REAL = [
    "Abs",
    "ArcCos",
    "ArcCosh",
    "ArcSin",
    "ArcSinh",
    "ArcTan",
    "ArcTanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Erf",
    "ErfInv",
    "Exp",
    "Expm1",
    "Floor",
    "Log",
    "Log10",
    "Log1p",
    "Log2",
    "Negative",
    "Round",
    "Rsqrt",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "Square",
    "Tan",
    "Tanh",
]
UNARY_COMPLEX = [
    "Abs",
    "Conjugate",
    "Cos",
    "Exp",
    "Log",
    "Log1p",
    "Negative",
    "Sin",
    "Sqrt",
    "Square",
    "Tan",
    "Tanh",
]
BINARY_REAL = [
    "Add",
    "ArcTan2",
    "Divide",
    "FloorDivide",
    "LogAddExp",
    "Maximum",
    "Minimum",
    "Multiply",
    "Power",
    "Remainder",
    "Subtract",
]
BINARY_TEST = [
    "Equal",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
    "NaNEqual",
    "NotEqual",
    "LogicalAnd",
    "LogicalOr",
]
BINARY_BITS = ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"]

# (header, headers before it, {template: [argument lists]})
Row = tuple[str, tuple[str, ...], dict[str, list[str]]]

ROWS: tuple[Row, ...] = (
    ("arange.h", (UTILS,), {"arange": ["{T}", "uint8_t", "half"]}),
    (
        "unary.h",
        (UTILS, "unary_ops.h"),
        {
            "unary_v": [
                *(f"float, float, {op}" for op in UNARY_REAL),
                *(f"bfloat16_t, bfloat16_t, {op}" for op in UNARY_REAL[::3]),
                *(f"complex64_t, complex64_t, {op}" for op in UNARY_COMPLEX[1:]),
                *("complex64_t, float, Real", "complex64_t, float, Imag", "int32_t, int32_t, BitwiseInvert"),
                *("bool, bool, LogicalNot", "float, uint8_t, ToFP8", "uint8_t, bfloat16_t, FromFP8"),
            ],
            "unary_v2": ["float, float, Exp", "half, half, Sigmoid"],
            "unary_g": ["float, float, Exp, 1, int", "half, half, Tanh, 4, int64_t"],
        },
    ),
    (
        "binary.h",
        (UTILS, "binary_ops.h"),
        {
            **{f"binary_{form}": ["float, float, Add", "bfloat16_t, bfloat16_t, Multiply"] for form in BINARY},
            "binary_vv": [
                *(f"float, float, {op}" for op in BINARY_REAL),
                *(f"half, bool, {op}" for op in BINARY_TEST),
                *(f"uint32_t, uint32_t, {op}" for op in BINARY_BITS),
                *("complex64_t, complex64_t, Divide", "int64_t, int64_t, Remainder", "complex64_t, bool, Equal"),
            ],
            "binary_g_nd2": ["float, float, Add, int", "int8_t, int8_t, Maximum, int64_t"],
            "binary_g": ["float, float, Power, 2, int", "float, bool, Less, 4, int64_t"],
        },
    ),
    (
        "binary_two.h",
        (UTILS, "binary_ops.h"),
        {f"binary_{form}": ["float, float, DivMod", "int32_t, int32_t, DivMod"] for form in BINARY},
    ),
    (
        "ternary.h",
        (UTILS, "ternary_ops.h"),
        {
            "ternary_v": ["{F}, Select, {B}, {B}"],
            "ternary_v2": ["float, Select, false, false", "int64_t, Select, true, false"],
            "ternary_g_nd1": ["float, Select, int"],
            "ternary_g_nd2": ["half, Select, int64_t"],
            "ternary_g_nd3": ["complex64_t, Select, int"],
            "ternary_g": ["float, Select, 2, int", "uint8_t, Select, 4, int64_t"],
        },
    ),
    (
        "copy.h",
        (UTILS,),
        {
            "copy_s": ["float, half", "bool, float"],
            "copy_v": ["{A}, float", "float, {A}", "bfloat16_t, half"],
            "copy_s2": ["float, bfloat16_t"],
            "copy_v2": ["int64_t, int32_t"],
            **{f"copy_{g}_nd{n}": ["{F}, float, {X}"] for g in ("g", "gg", "gg_dynamic") for n in (1, 2, 3)},
            **{f"copy_{g}": ["float, half, 2, int", "uint8_t, uint8_t, 4, int64_t"] for g in ("g", "gg", "gg_dynamic")},
        },
    ),
    ("cross_entropy.h", (UTILS,), {"cross_entropy": ["{F}, float"], "cross_entropy_vjp": ["{F}, float"]}),
    ("dot.h", (UTILS,), {"dot_product": ["{F}, 32, 512, 16"]}),
    (
        "fft.h",
        (UTILS,),
        {
            "generate_bluestein_twiddles": [""],
            "fft": ["{256|1024|4096}, float2, float2", "256, float, float2", "512, float2, float"],
            "rader_fft": ["1024, float2, float2", "2048, float2, float"],
            "bluestein_fft": ["256, float2, float2", "4096, float, float2"],
            "four_step_fft": ["256, float2, float2, 0, false", "4096, float2, float2, 1, false", "4096, float2, float2, 0, true"],
        },
    ),
    (
        "gated_delta_update.h",
        (UTILS,),
        {
            "gated_delta_fused_chunk": ["{F}, 128, 128, 16, 16, 8"],
            "gated_delta_seq": ["float, 128, 128, 16, 16, 1", "bfloat16_t, 128, 128, 16, 64, 8"],
        },
    ),
    ("gated_delta_update_vjp.h", (UTILS,), {"gated_delta_vjp_seq": ["float16_t, 128, 128, 24, 24, 4", "bfloat16_t, 128, 128, 16, 48, 16"]}),
    (
        "gemv.h",
        (UTILS,),
        {
            "gemv": ["{F}, 8, 1, 1, 32, 4, 4, {B}, {B}", "complex64_t, 1, 8, 1, 32, 4, 4, false, true"],
            "gemv_gather": ["{F}, 4, 1, 1, 32, 1, 4"],
            "gemv_t": ["{F}, 1, 4, 8, 4, 4, 4, false, true"],
            "gemv_t_gather": ["{F}, 1, 16, 4, 8, 4, 4"],
            "gemv_wide": ["bfloat16_t, 2, 16", "float16_t, 4, 32"],
            "gemv_wide_gather": ["bfloat16_t, 4, 16"],
        },
    ),
    (
        "gemv_masked.h",
        (UTILS,),
        {
            "gemv_masked": ["{F}, bool, nomask_t, 2, 1, 4, 8, 4, 4, true", "float, float, bool, 2, 1, 4, 8, 1, 4, false"],
            "gemv_t_masked": ["{F}, nomask_t, {bool|float}, 1, 1, 8, 4, 8, 4, true"],
        },
    ),
    (
        "hadamard.h",
        (UTILS, "hadamard_radix_m"),
        {"hadamard_n": ["{F}, 256, 16, 4", "float, 1024, 16, 2, 12"], "hadamard_m": ["{F}, 1024, 12, 2"]},
    ),
    ("indexing/gather_axis.h", (UTILS, "indexing/indexing.h"), {"gather_axis": ["{T}, uint32_t, {X}, {B}, {B}"]}),
    ("indexing/gather_front.h", (UTILS,), {"gather_front": ["{F}, uint32_t, {X}, 2"]}),
    ("indexing/masked_scatter.h", (UTILS,), {"masked_assign_impl": ["{T}, {B}"]}),
    (
        "indexing/scatter.h",
        REDUCE,
        {"slice_update_op_impl": ["float, int, Sum<float>, true, true, false, 4, 0", "half, int64_t, Max<half>, false, false, true, 1, 2"]},
    ),
    (
        "indexing/scatter_axis.h",
        (*REDUCE, "indexing/indexing.h"),
        {"scatter_axis": ["float, int32_t, {X}, Sum<float>, {B}, true", "bfloat16_t, int64_t, int, Prod<bfloat16_t>, true, true", "float, uint32_t, int, None, true, false"]},
    ),
    ("logsumexp.h", (UTILS,), {"logsumexp": ["{F}"], "logsumexp_looped": ["{F}"]}),
    (
        "quantized.h",
        QUANTIZED,
        {
            "affine_qmv_quad": ["float, {G}, 4, 64, true", "float16_t, 64, {b}, 128, false"],
            "affine_qmv_fast": ["bfloat16_t, 64, {b}, {B}", "float, 32, 4, false, true, true, 4"],
            "affine_qmv": ["float16_t, 64, {b}, {B}"],
            "affine_qmv_wide": ["float, 64, {b}, 4, 8, false"],
            "affine_qvm": ["float, 64, {b}, true"],
            "affine_qvm_split_k": ["bfloat16_t, 64, {b}, 32"],
            "affine_qmm_t": ["float16_t, 64, {b}, true, false", "{F}, 32, 4, false, true"],
            "affine_qmm_t_splitk": ["bfloat16_t, 128, 4, false"],
            "affine_qmm_n": ["float, 64, {b}, false"],
            "affine_gather_qmv_fast": ["{F}, 64, 4"],
            "affine_gather_qmv": ["{F}, 64, 4"],
            "affine_gather_qvm": ["{F}, 64, 8"],
            "affine_gather_qmm_t": ["{F}, 64, 4, true"],
            "affine_gather_qmm_n": ["{F}, 64, 4"],
            "affine_gather_qmm_rhs": ["{F}, 64, 4, 16, 32, 32, 1, 2, {B}"],
            "affine_quantize": ["{F}, 64, {b}"],
            "affine_dequantize": ["bfloat16_t, 64, {b}"],
        },
    ),
    (
        "fp_quantized.h",
        QUANTIZED,
        {
            "fp_qmv_quad": ["{F}, 32, 4, 64, true", "float, 16, 4, 128, false"],
            "fp_qmv_fast": ["{F}, 32, {4|8}, true"],
            "fp_qmv": ["{F}, 16, 4, false, false, true, 4"],
            "fp_qmv_wide": ["bfloat16_t, 16, 4, 3, 16, true"],
            "fp_qvm": ["float16_t, 32, {4|8}, true"],
            "fp_qvm_split_k": ["float, 32, 4, 32"],
            "fp_qmm_t": ["{F}, 32, {4|8}, true, false"],
            "fp_qmm_n": ["{F}, 32, {4|8}, false"],
            "fp_gather_qmv_fast": ["bfloat16_t, 32, 8, true"],
            "fp_gather_qmv": ["float16_t, 16, 4, true"],
            "fp_gather_qvm": ["float, 32, 4"],
            "fp_gather_qmm_t": ["{F}, 32, 4, true"],
            "fp_qmm_t_splitk": ["float, 32, 4, false"],
            "fp_gather_qmm_n": ["bfloat16_t, 32, 8"],
            "fp_gather_qmm_rhs": ["{F}, 32, 4, 16, 32, 32, 1, 2, {B}"],
            "fp_quantize": ["{F}, 32, {4|8}, false", "float, 16, 4, true"],
            "fp_dequantize": ["{F}, 32, {4|8}, false", "float, 16, 4, true"],
            "fp_quantize_dequantize": ["bfloat16_t, 16, 4, true"],
        },
    ),
    (
        "reduce.h",
        REDUCE,
        {
            "init_reduce": ["float, Sum<float>", "bool, And<bool>", "int32_t, Max<int32_t>"],
            "all_reduce": ["{I}, int32_t, Sum<int32_t>", "float, float, Max<float>", "bool, bool, Or<bool>", "complex64_t, complex64_t, Sum<complex64_t>"],
            "col_reduce_small": ["{F}, float, Sum<float>, int, 1", "int32_t, int32_t, Min<int32_t>, int64_t, 2"],
            "col_reduce_longcolumn": ["float, float, Prod<float>, int, 1", "half, half, Max<half>, int64_t, 5"],
            "col_reduce_looped": ["{F}, float, Sum<float>, int, 2, 32, 32", "bool, bool, And<bool>, int64_t, 1, 32, 32"],
            "col_reduce_2pass": ["float, float, Sum<float>, {X}, 1, 32, 32"],
            "row_reduce_small": ["{F}, float, Sum<float>, int, 1", "uint8_t, uint8_t, Max<uint8_t>, int64_t, 5"],
            "row_reduce_simple": ["{F}, float, Sum<float>", "int64_t, int64_t, Min<int64_t>"],
            "row_reduce_looped": ["float, float, Sum<float>, {X}, 2", "bfloat16_t, bfloat16_t, Prod<bfloat16_t>, int, 1"],
        },
    ),
    (
        "scan.h",
        (UTILS,),
        {
            "contiguous_scan": ["float, float, CumSum<float>, 4, {B}, {B}", "int32_t, int32_t, CumMax<int32_t>, 4, true, false", "bfloat16_t, bfloat16_t, CumLogaddexp<bfloat16_t>, 4, true, false"],
            "strided_scan": ["float, float, CumProd<float>, 4, {B}, false", "half, half, CumMin<half>, 4, true, true"],
        },
    ),
    ("sdpa_blocked.h", (UTILS,), {"sdpa_blocked_scale_copy": ["float16_t", "bfloat16_t"], "sdpa_blocked_causal_mask": ["float16_t", "bfloat16_t"]}),
    (
        "sdpa_vector.h",
        (UTILS,),
        {
            "sdpa_vector": ["{F}, {64|128|256}, {64|128|256}"],
            "sdpa_vector_2pass_1": ["{F}, 96, 96", "float, 128, 128, 4"],
            "sdpa_vector_2pass_1_gqa": ["float, 128, 128, 16, 2"],
            "sdpa_vector_2pass_2": ["{F}, {64|128}"],
        },
    ),
    ("searchsorted.h", (UTILS, "sort.h"), {"searchsorted": ["{A}, {B}"]}),
    ("softmax.h", (UTILS,), {"softmax_single_row": ["{F}", "half, float"], "softmax_looped": ["{F}", "bfloat16_t, float"]}),
    (
        "sort.h",
        (UTILS,),
        {
            "block_sort": ["{T}, uint32_t, true, 128, 4", "float, float, false, 512, 8"],
            "block_sort_nc": ["{T}, uint32_t, true, 64, 4", "half, half, false, 256, 8"],
            "mb_block_sort": ["{T}, uint32_t, true, 256, 4"],
            "mb_block_partition": ["float, uint32_t, true, 512, 4"],
            "mb_block_merge": ["float, uint32_t, true, 512, 4", "int64_t, uint32_t, true, 256, 4"],
        },
    ),
    (
        "steel/attn/kernels/steel_attention.h",
        ("utils.h", "steel/attn/attn.h"),
        {"attention": ["{F}, 32, 16, 128, 128, 4, 1, bool, float", "float16_t, 32, 32, 64, 64, 4, 1, float16_t, float", "float, 32, 16, 256, 256, 4, 2, bool, float", "bfloat16_t, 32, 32, 96, 64, 4, 1, bfloat16_t, float"]},
    ),
    (
        "steel/conv/kernels/steel_conv.h",
        CONV,
        {"implicit_gemm_conv_2d": ["{F}, 32, 8, 16, 4, 1, {0|1|3}, false", "float, 64, 32, 16, 2, 2, 0, true"]},
    ),
    ("steel/conv/kernels/steel_conv_3d.h", CONV, {"implicit_gemm_conv_3d": ["{F}, 32, 32, 16, 2, 2, {B}"]}),
    ("steel/conv/kernels/steel_conv_general.h", CONV, {"implicit_gemm_conv_2d_general": ["{F}, 32, 32, 16, 2, 2", "float, 64, 64, 16, 2, 2"]}),
    (
        "steel/gemm/kernels/steel_gemm_fused.h",
        GEMM,
        {"gemm": ["{F}, 64, 64, 16, 2, 2, {B}, {B}", "complex64_t, 64, 32, 8, 4, 1, false, false"]},
    ),
    (
        "steel/gemm/kernels/steel_gemm_gather.h",
        GEMM,
        {"gather_mm_rhs": ["{F}, 16, 64, 16, 1, 2, false, {B}"], "gather_mm": ["{F}, 64, 32, 32, 2, 2, {B}, false"]},
    ),
    (
        "steel/gemm/kernels/steel_gemm_masked.h",
        GEMM,
        {"block_masked_gemm": ["{F}, {bool|nomask_t}, bool, 32, 32, 16, 2, 2, false, {B}, true, false", "float, 32, 32, 16, 2, 2, false, true, true, true, {B}"]},
    ),
    ("steel/gemm/kernels/steel_gemm_segmented.h", GEMM, {"segmented_mm": ["{F}, 64, 64, 16, 2, 2, {B}, false"]}),
    (
        "steel/gemm/kernels/steel_gemm_splitk.h",
        GEMM,
        {
            "gemm_splitk": ["{F}, float, 16, 16, 16, 2, 2, {B}, false, true, false", "complex64_t, complex64_t, 32, 16, 16, 2, 2, false, false, true, false"],
            "gemm_splitk_accum": ["float, {F}"],
            "gemm_splitk_accum_axpby": ["float, {F}"],
        },
    ),
)  # fmt: skip

TILE = "64, 64, 64, 2, 2"
# MLX builds none of these: what their templates call has other parameters.
NAX_INVALID = {
    "fp_qmm_n_nax": "'fp_qmm_n_impl' takes 13 argument(s); 14 given",
    "fp_gather_qmm_n_nax": "'fp_qmm_n_impl' takes 13 argument(s); 14 given",
    "gated_delta_vjp_fused_nax0": "'reduce_tile_tg' takes 8 argument(s); 4 given",
}
# As a launch has them: without values these kernels hold the code of all.
_EDGES: dict[str | int, bool | int | float] = {200: False, 201: True}
NAX_CONSTANTS = {
    "gemm_float16_t": {10: False, 100: False, 110: False, 202: True} | _EDGES,
    "gather_mm_rhs_nax": {202: True} | _EDGES,
    "segmented_mm_nax": {199: True} | _EDGES,
    "gemm_splitk_nax": _EDGES,
    "affine_gather_qmm_rhs_nax": {202: True} | _EDGES,
    "fp_gather_qmm_rhs_nax": {202: True} | _EDGES,
}
NAX: tuple[Row, ...] = (
    ("quantized_nax.h", ("utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "steel/gemm/nax.h"), {
        "affine_qmm_t_nax": ["float16_t, 64, 4, true, false"], "affine_qmm_n_nax": ["float16_t, 64, 4, false"],
        "affine_gather_qmm_t_nax": ["float16_t, 64, 4, true"], "affine_gather_qmm_n_nax": ["float16_t, 64, 4"],
        "affine_gather_qmm_rhs_nax": ["float16_t, 64, 4, 64, 64, 64, 2, 2, true"]}),
    ("fp_quantized_nax.h", ("utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "steel/gemm/nax.h"), {
        "fp_qmm_t_nax": ["bfloat16_t, 32, 4, true, false"], "fp_qmm_n_nax": ["bfloat16_t, 32, 4, false"],
        "fp_gather_qmm_t_nax": ["bfloat16_t, 32, 4, true"], "fp_gather_qmm_n_nax": ["bfloat16_t, 32, 4"],
        "fp_gather_qmm_rhs_nax": ["bfloat16_t, 32, 4, 64, 64, 64, 2, 2, true"]}),
    ("gated_delta_update_nax.h", ("utils.h",), {"gated_delta_fused_nax": ["bfloat16_t, 128, 128, 16, 16, 16, 1"]}),
    ("gated_delta_update_nax_vjp.h", ("utils.h",), {
        "gated_delta_vjp_fused_nax": ["bfloat16_t, 128, 128, 16, 16, 16, 1"],
        "gated_delta_vjp_fused_nax1": ["bfloat16_t, 128, 128, 16, 16, 16"],
        "gated_delta_vjp_fused_nax0": ["bfloat16_t, 128, 128, 16, 16, 16"],
        "gated_delta_dgamma_to_dg": ["bfloat16_t, 16"]}),
    ("steel/attn/kernels/steel_attention_nax.h", ("utils.h", "steel/attn/nax.h"), {
        "attention_nax": ["float16_t, 64, 32, 128, 128, 4, 1"], "attention_nax_dsplit": ["float16_t, 64, 32, 256, 4, 2"]}),
    ("steel/gemm/kernels/steel_gemm_fused_nax.h", ("utils.h", "steel/gemm/gemm_nax.h"), {"gemm": [f"float16_t, {TILE}, false, true"]}),
    ("steel/gemm/kernels/steel_gemm_gather_nax.h", ("utils.h", "steel/gemm/gemm_nax.h"), {"gather_mm_rhs_nax": [f"float16_t, {TILE}, false, true"]}),
    ("steel/gemm/kernels/steel_gemm_segmented_nax.h", ("utils.h", "steel/gemm/gemm_nax.h"), {"segmented_mm_nax": [f"float16_t, {TILE}, false, true"]}),
    ("steel/gemm/kernels/steel_gemm_splitk_nax.h", ("utils.h", "steel/gemm/gemm_nax.h"), {"gemm_splitk_nax": [f"float16_t, {TILE}, false, true"]}),
    ("steel/gemm/kernels/steel_gemm_thin_nax.h", ("utils.h", "steel/gemm/gemm_nax.h"), {"gemm_thin_nax": ["float16_t, 1, 2, 1, 4, 2, true"]}),
)  # fmt: skip


def expand(arguments: str) -> list[str]:
    """`{F}, {1|2}` to every combination."""
    parts: list[tuple[str, ...]] = []
    rest = arguments
    while "{" in rest:
        before, _, after = rest.partition("{")
        inside, _, rest = after.partition("}")
        parts += [(before,), TYPES[inside] if inside in TYPES else tuple(inside.split("|"))]
    return ["".join(chosen) for chosen in product(*parts, (rest,))]

"""What an instance of one of MLX's kernel templates is called in MLX's own library.

The launch tables of `conformance.results.mlx` name templates and their arguments; the library has host names, which
MLX's build makes of both. One row for each template; a `|` stands between names that may be meant, of which a library
has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from metalloid.frontend.declared import template_arguments

_INSTANCE = re.compile(r"decltype\((.*?)\) ")
_SHORT = {"float": "float32", "half": "float16", "bool": "bool_", "nomask_t": "nomask"}
_REDUCTION = {"And": "and", "Or": "or", "Sum": "sum", "Prod": "prod", "Min": "min", "Max": "max"}
_MODES = {("32", "4"): "mxfp4", ("32", "8"): "mxfp8", ("16", "4"): "nvfp4"}
_SMALL = ("int8_t", "int16_t", "uint8_t", "uint16_t", "bool")

Arguments = Sequence[str]


def instance_of(text: str) -> tuple[str, tuple[str, ...]]:
    """The template and the arguments of the last instance in a source; ("", ()) where it has none."""
    found = _INSTANCE.findall(text)
    if not found:
        return "", ()
    template, _, rest = found[-1].partition("<")
    return template, tuple(part for part in template_arguments(rest.removesuffix(">")) if part)


def host_names(text: str) -> list[str]:
    """What the kernel of this source may be called in the library."""
    template, arguments = instance_of(text)
    if template not in NAMES:
        return []
    try:
        return NAMES[template](arguments).split("|")
    except (IndexError, KeyError):
        return []


def short(type: str) -> str:
    """`float16_t` is `float16` in most names."""
    return _SHORT.get(type, type.removesuffix("_t"))


def _large(a: Arguments, at: int) -> str:
    return "large" if len(a) > at and a[at] == "int64_t" else ""


def _per_thread(prefix: str, name: Callable[[Arguments], str], at: int) -> Callable[[Arguments], str]:
    """Several elements in each thread: a name of its own, unless there is only one."""
    return lambda a: f"{prefix}_{name(a)}" if len(a) > at else f"{prefix}n_{name(a)}|{prefix}_{name(a)}"


def _both(a: Arguments) -> str:
    return f"{a[2]}{short(a[0])}{short(a[1])}"


def _first(a: Arguments) -> str:
    return f"{a[2]}{short(a[0])}"


def _copy(a: Arguments) -> str:
    return f"copy{short(a[0])}{short(a[1])}"


def _select(a: Arguments) -> str:
    scalars = {"false false": "v", "true false": "sv", "false true": "vs"}
    return scalars[f"{a[2]} {a[3]}"]


def _operation(a: str, given: str = "", made: str = "") -> str:
    """The library adds up and multiplies small integers in larger ones: it has no kernel whose result is as small."""
    operation = _REDUCTION[a.partition("<")[0]]
    if operation in ("sum", "prod") and given == made and made in _SMALL:
        raise KeyError(made)
    return operation


def _reduce(kind: str) -> Callable[[Arguments], str]:
    """`<T, U, Op, index, dimensions, more...>`"""

    def name(a: Arguments) -> str:
        large = "large_" if a[3] == "int64_t" else ""
        return f"{kind}_{large}{'_'.join(a[4:])}_reduce_{_operation(a[2], a[0], a[1])}{short(a[0])}"

    return name


def _scan(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        operation = {"LogAddExp": "logaddexp"}.get(a[2].partition("<")[0].removeprefix("Cum"), "")
        operation = operation or a[2].partition("<")[0].removeprefix("Cum").lower()
        order = ("reverse_" if a[5] == "true" else "") + ("inclusive" if a[4] == "true" else "exclusive")
        return f"{kind}_scan_{order}_{operation}_{short(a[0])}_{short(a[1])}"

    return name


def _softmax(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        precise = "precise_" if len(a) > 1 and a[1] != a[0] else ""
        return f"{kind}_softmax_{precise}{short(a[0])}"

    return name


def _sort(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        arg = "arg" if a[2] == "true" else ""
        return f"{kind}{arg}_block_sort_{short(a[0])}_{short(a[1])}_bn{a[3]}_tn{a[4]}"

    return name


def _many(kind: str) -> Callable[[Arguments], str]:
    return lambda a: f"{kind}_mbsort_{short(a[0])}_{short(a[1])}_bn{a[3]}_tn{a[4]}"


def _blocks(a: Arguments, words: str) -> str:
    return "".join(f"_{word}{value}" for word, value in zip(words.split(), a, strict=False))


def _bit(word: str) -> str:
    return "1" if word == "true" else "0"


def _gemv(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        return f"{kind}_{short(a[0])}{_blocks(a[1:7], 'bm bn sm sn tm tn')}_nc{_bit(a[7])}_axpby{_bit(a[8])}"

    return name


def _gemv_gather(kind: str) -> Callable[[Arguments], str]:
    return lambda a: f"{kind}_{short(a[0])}{_blocks(a[1:7], 'bm bn sm sn tm tn')}"


def _gemv_masked(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        masks = f"outmask_{short(a[1])}_opmask_{short(a[2])}"
        return f"{kind}_{masks}_{short(a[0])}{_blocks(a[3:9], 'bm bn sm sn tm tn')}_nc{_bit(a[9])}"

    return name


def _turned(*words: str) -> str:
    return "".join("t" if word == "true" else "n" for word in words)


def _steel(kind: str) -> Callable[[Arguments], str]:
    """`<T, bm, bn, bk, wm, wn, a transposed, b transposed>`"""
    return lambda a: (
        f"steel_{kind}_{_turned(a[6], a[7])}_{short(a[0])}_{short(a[0])}{_blocks(a[1:6], 'bm bn bk wm wn')}"
    )


def _aligned(a: Arguments) -> str:
    return f"_MN_{_turned(a[0])}aligned_K_{_turned(a[1])}aligned"


def _splitk(a: Arguments) -> str:
    types = f"{short(a[0])}_{short(a[1])}"
    return (
        f"steel_gemm_splitk_{_turned(a[7], a[8])}_{types}{_blocks(a[2:7], 'bm bn bk wm wn')}{_aligned(a[9:])}"
    )


def _block_masked(a: Arguments) -> str:
    if len(a) != 12:  # the older template, without masks of other types
        return ""
    masks = f"outmask_{short(a[1])}_opmask_{short(a[2])}"
    types = f"{short(a[0])}_{short(a[0])}"
    blocks = _blocks(a[3:8], "bm bn bk wm wn")
    return f"steel_gemm_block_{masks}_{_turned(a[8], a[9])}_{types}{blocks}{_aligned(a[10:])}"


def _quantized(kind: str, words: str = "", fp: bool = False) -> Callable[[Arguments], str]:
    """`<T, group size, bits, more...>`: `words` say what the rest is called."""

    def name(a: Arguments) -> str:
        mode = _MODES[a[1], a[2]] if fp else "affine"
        text = f"{mode}_{kind}_{a[0]}_gs_{a[1]}_b_{a[2]}"
        for word, value in zip(words.split(), a[3:], strict=False):
            bit = value if not value.isalpha() or word == "alN" else _bit(value)
            if word == "hgs?":
                text += "_hgs" if value == "true" else ""
            elif word == "hgs:":
                text += f"_hgs_{value}"
            else:
                text += f"_{word}_{bit}"
        return text

    return name


def _qmv(kind: str, fp: bool) -> Callable[[Arguments], str]:
    """Its rows are in the name, and a part of the arguments."""

    def name(a: Arguments) -> str:
        base = _quantized(kind, "batch pr hgs", fp)(a[:6])
        return "|".join(f"{base}_r_{rows}" for rows in (4, 2, 8, 1))

    return name


def _rhs(fp: bool) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        mode = _MODES[a[1], a[2]] if fp else "affine"
        text = "".join(f"_{w}_{v}" for w, v in zip("gs b bm bn bk wm wn".split(), a[1:8], strict=True))
        hgs = "_hgs" if fp and len(a) > 9 and a[9] == "true" else ""
        return f"{mode}_gather_qmm_rhs_n{_turned(a[8])}_{a[0]}{text}{hgs}"

    return name


def _conv(kind: str) -> Callable[[Arguments], str]:
    def name(a: Arguments) -> str:
        blocks = f"implicit_gemm_conv_{kind}_{short(a[0])}{_blocks(a[1:6], 'bm bn bk wm wn')}"
        if kind == "2d_general":
            return blocks
        if kind == "3d":
            return f"{blocks}_filter_{'s' if a[6] == 'true' else 'l'}"
        channels = {"0": "l"}.get(a[6], a[6])
        return f"{blocks}_channel_{channels}_filter_{'s' if a[7] == 'true' else 'l'}"

    return name


def _named(prefix: str, name: Callable[[Arguments], str]) -> Callable[[Arguments], str]:
    return lambda a: f"{prefix}_{name(a)}"


def _strided(prefix: str, name: Callable[[Arguments], str], at: int) -> Callable[[Arguments], str]:
    """So many dimensions; `a[at]` is the type of an index."""
    return lambda a: f"{prefix}{_large(a, at)}_{name(a)}"


def _general(prefix: str, name: Callable[[Arguments], str], at: int) -> Callable[[Arguments], str]:
    """Any number of dimensions; `a[at]` elements in each thread."""
    return lambda a: f"{prefix}n{a[at]}{_large(a, at + 1)}_{name(a)}"


def _chosen(a: Arguments) -> str:
    return f"{a[1]}{short(a[0])}"


def _dynamic(a: Arguments) -> str:
    return f"dynamic_{_copy(a)}"


def _ternary(a: Arguments) -> str:
    return _per_thread(_select(a), _chosen, 4)(a)


NAMES: dict[str, Callable[[Arguments], str]] = {
    "unary_v": _per_thread("v", _both, 3),
    "unary_v2": _named("v2", _both),
    "unary_g": _general("g", _both, 3),
    "binary_ss": _named("ss", _first),
    **{f"binary_{k}": _per_thread(k, _first, 3) for k in ("sv", "vs", "vv")},
    **{f"binary_{k}2": _named(f"{k}2", _first) for k in ("sv", "vs", "vv")},
    **{f"binary_g_nd{n}": _strided(f"g{n}", _first, 3) for n in (1, 2, 3)},
    "binary_g": _general("g", _first, 3),
    "ternary_v": _ternary,
    "ternary_v2": lambda a: f"{_select(a)}2_{_chosen(a)}",
    **{f"ternary_g_nd{n}": _strided(f"g{n}", _chosen, 2) for n in (1, 2, 3)},
    "ternary_g": _general("g", _chosen, 2),
    **{f"copy_{k}": _per_thread(k, _copy, 2) for k in ("s", "v")},
    **{f"copy_{k}2": _named(f"{k}2", _copy) for k in ("s", "v")},
    **{f"copy_{g}_nd{n}": _strided(f"{g}{n}", _copy, 2) for g in ("g", "gg") for n in (1, 2, 3)},
    **{f"copy_{g}": _general(g, _copy, 2) for g in ("g", "gg")},
    **{f"copy_gg_dynamic_nd{n}": _strided(f"gg{n}", _dynamic, 2) for n in (1, 2, 3)},
    "copy_gg_dynamic": _general("gg", _dynamic, 2),
    "arange": lambda a: f"arange{short(a[0])}",
    "all_reduce": lambda a: f"all_reduce_{_operation(a[2], a[0], a[1])}{short(a[0])}",
    "init_reduce": lambda a: f"init_reduce_{_operation(a[1])}{short(a[0])}",
    "row_reduce_simple": lambda a: f"row_reduce_simple_{_operation(a[2], a[0], a[1])}{short(a[0])}",
    **{
        k: _reduce(k)
        for k in ("row_reduce_small", "row_reduce_looped", "col_reduce_small", "col_reduce_looped")
    },
    **{k: _reduce(k) for k in ("col_reduce_2pass", "col_reduce_longcolumn")},
    "contiguous_scan": _scan("contig"),
    "strided_scan": _scan("strided"),
    "softmax_single_row": _softmax("block"),
    "softmax_looped": _softmax("looped"),
    "logsumexp": lambda a: f"block_logsumexp_{short(a[0])}",
    "logsumexp_looped": lambda a: f"looped_logsumexp_{short(a[0])}",
    "cross_entropy": lambda a: f"cross_entropy_{short(a[0])}",
    "cross_entropy_vjp": lambda a: f"cross_entropy_vjp_{short(a[0])}",
    "dot_product": lambda a: f"dot_product_{short(a[0])}{_blocks(a[1:], 'it tg sg')}",
    "block_sort": _sort("c"),
    "block_sort_nc": _sort("nc"),
    "mb_block_sort": _many("sort"),
    "mb_block_partition": _many("partition"),
    "mb_block_merge": _many("merge"),
    "searchsorted": lambda a: f"searchsorted_{short(a[0])}_{'right' if a[1] == 'true' else 'left'}",
    "fft": lambda a: f"fft_mem_{'_'.join(a)}",
    "rader_fft": lambda a: f"rader_fft_mem_{'_'.join(a)}",
    "bluestein_fft": lambda a: f"bluestein_fft_mem_{'_'.join(a)}",
    "four_step_fft": lambda a: f"four_step_mem_{'_'.join(a)}",
    "gemv": _gemv("gemv"),
    "gemv_t": _gemv("gemv_t"),
    "gemv_gather": _gemv_gather("gemv_gather"),
    "gemv_t_gather": _gemv_gather("gemv_t_gather"),
    "gemv_wide": lambda a: f"gemv_wide_{short(a[0])}_nv{a[1]}_kl{a[2]}",
    "gemv_wide_gather": lambda a: f"gemv_wide_gather_{short(a[0])}_nv{a[1]}_kl{a[2]}",
    "gemv_masked": _gemv_masked("gemv"),
    "gemv_t_masked": _gemv_masked("gemv_t"),
    "gemm": _steel("gemm_fused"),
    "gather_mm": _steel("gather_mm"),
    "gather_mm_rhs": _steel("gather_mm_rhs"),
    "segmented_mm": _steel("segmented_mm"),
    "gemm_splitk": _splitk,
    "gemm_splitk_accum": lambda a: f"steel_gemm_splitk_accum_{short(a[1])}_{short(a[0])}",
    "gemm_splitk_accum_axpby": lambda a: f"steel_gemm_splitk_accum_{short(a[1])}_{short(a[0])}_axbpy",
    "block_masked_gemm": _block_masked,
    "affine_quantize": _quantized("quantize"),
    "affine_dequantize": _quantized("dequantize"),
    **{f"fp_{k}": _quantized(k, "hgs:", True) for k in ("quantize", "dequantize", "quantize_dequantize")},
    "affine_qmv": _qmv("qmv", False),
    "affine_qmv_fast": _qmv("qmv_fast", False),
    "fp_qmv": _qmv("qmv", True),
    "fp_qmv_fast": _qmv("qmv_fast", True),
    "affine_qvm": _quantized("qvm", "batch"),
    "fp_qvm": _quantized("qvm", "batch hgs?", True),
    "affine_qmm_t": _quantized("qmm_t", "alN batch"),
    "fp_qmm_t": _quantized("qmm_t", "alN batch hgs?", True),
    "affine_qmm_n": _quantized("qmm_n", "batch"),
    "fp_qmm_n": _quantized("qmm_n", "batch hgs?", True),
    "affine_qmv_wide": _quantized("qmv_wide", "nv kl batch"),
    "fp_qmv_wide": _quantized("qmv_wide", "nv kl batch hgs?", True),
    "affine_qmv_quad": _quantized("qmv_quad", "d batch"),
    "fp_qmv_quad": _quantized("qmv_quad", "d batch hgs?", True),
    "affine_qvm_split_k": _quantized("qvm_split_k", "spk"),
    "fp_qvm_split_k": _quantized("qvm_split_k", "spk hgs?", True),
    "affine_qmm_t_splitk": _quantized("qmm_t_splitk", "alN"),
    "fp_qmm_t_splitk": _quantized("qmm_t_splitk", "alN hgs?", True),
    **{f"affine_gather_{k}": _quantized(f"gather_{k}") for k in ("qmv", "qmv_fast", "qvm", "qmm_n")},
    **{
        f"fp_gather_{k}": _quantized(f"gather_{k}", "hgs?", True) for k in ("qmv", "qmv_fast", "qvm", "qmm_n")
    },
    "affine_gather_qmm_t": _quantized("gather_qmm_t", "alN"),
    "fp_gather_qmm_t": _quantized("gather_qmm_t", "alN hgs?", True),
    "affine_gather_qmm_rhs": _rhs(False),
    "fp_gather_qmm_rhs": _rhs(True),
    "sdpa_vector": lambda a: f"sdpa_vector_{'_'.join(a)}",
    "sdpa_vector_2pass_1": lambda a: (
        f"sdpa_vector_2pass_1_{'_'.join(a[:3])}_tk{a[3]}|sdpa_vector_2pass_1_{'_'.join(a[:3])}"
    ),
    "sdpa_vector_2pass_2": lambda a: f"sdpa_vector_2pass_2_{'_'.join(a)}",
    "sdpa_vector_2pass_1_gqa": lambda a: f"sdpa_vector_2pass_1_gqa_{a[3]}_{'_'.join(a[:3])}",
    "sdpa_blocked_scale_copy": lambda a: f"sdpa_blocked_scale_copy_{short(a[0])}",
    "sdpa_blocked_causal_mask": lambda a: f"sdpa_blocked_causal_mask_{short(a[0])}",
    "attention": lambda a: (
        f"steel_attention_{short(a[0])}{_blocks(a[1:7], 'bq bk bd bv wm wn')}_mask{short(a[7])}"
    ),
    "gated_delta_fused_chunk": lambda a: f"gated_delta_fused_chunk_{'_'.join(a)}",
    "gated_delta_seq": lambda a: f"seq_gated_delta_{'_'.join(a)}",
    "gated_delta_vjp_seq": lambda a: f"seq_gated_delta_vjp_{'_'.join(a)}",
    "implicit_gemm_conv_2d": _conv("2d"),
    "implicit_gemm_conv_3d": _conv("3d"),
    "implicit_gemm_conv_2d_general": _conv("2d_general"),
}

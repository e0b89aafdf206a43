"""M602, names nobody declared; M603, CUDA spellings; M606, placeholders; M616, what is not supported yet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from metalloid.errors import Diagnostic
from metalloid.frontend.hints import cuda
from metalloid.frontend.hints.context import Context, Table
from metalloid.frontend.hints.nearest import nearest
from metalloid.frontend.hints.syntax import left_over, placeholder_braces

_POSITION = re.compile(
    r"(thread|threads|threadgroup|threadgroups|simdgroup|simdgroups|quadgroup|grid|dispatch)_\w+"
)

# What comes with <metal_stdlib>: names nobody should be told to declare.
_METAL = re.compile(
    r"mem_flags|memory_order_\w+|thread_scope_\w+|(simd|quad|simdgroup|atomic|threadgroup)_\w+|metal|as_type|"
    r"(packed_)?(u?(char|short|int|long)|float|half|bfloat)([234](x[234])?|x[234])|u?int\d+_t|"
    r"min|max|abs|clamp|exp2?|log2?|sqrt|rsqrt|pow|sin|cos|tan|tanh|floor|ceil|fma|dot|select|saturate|isnan|isinf"
)

_UNSUPPORTED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"texture\w*|depth(2d|cube)\w*"), "textures are"),
    (re.compile(r"sampler|coord|filter|address|access"), "samplers and textures are"),
    (re.compile(r"raytracing|intersector|acceleration_structure|intersection_\w+|ray"), "ray tracing is"),
    (re.compile(r"visible_function_table|intersection_function_table"), "function tables are"),
    (
        re.compile(r"tensor\w*|tensor_ops|mpp|dextents|cooperative_tensor|matmul2d\w*"),
        "Metal's tensor operations are",
    ),
    (
        re.compile(r"imageblock\w*|mesh|object_data|patch_control_point|stage_in|interpolant"),
        "the render pipeline is",
    ),
    (
        re.compile(r"render_command|compute_command|command_buffer|render_pipeline_state"),
        "indirect commands are",
    ),
)

_FOREIGN_TYPES = {
    "bfloat16": "bfloat",
    "bf16": "bfloat",
    "__bf16": "bfloat",
    "float16": "half",
    "fp16": "half",
    "float32": "float",
    "float32_t": "float",
    "f32": "float",
    "f16": "half",
    "int32": "int",
    "uint32": "uint",
    "u32": "uint",
    "i32": "int",
    "int64": "long",
    "uint64": "ulong",
    "int8": "char",
    "uint8": "uchar",
    "float8": "two `float4`s; vectors have 2, 3 or 4 elements",
    "float64": "float; there is no 64-bit float",
    "u8": "uchar",
    "u16": "ushort",
    "u64": "ulong",
    "i64": "long",
}
_NEW_TYPES = {
    "bfloat": "Metal 3.1",
    "bfloat2": "Metal 3.1",
    "bfloat3": "Metal 3.1",
    "bfloat4": "Metal 3.1",
    "bfloat16_t": "Metal 3.1",
}
_STANDARD = {
    "vector": "a fixed-size array, `float v[16]`",
    "cout": '`os_log_default.log("...")`',
    "printf": '`os_log_default.log("...")` with <metal_logging>',
}


def undeclared(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    name = match["name"]
    meant = match.groupdict().get("meant") or ""
    here = replace(diagnostic, length=max(1, len(name)))
    if found := cuda_word(name, here, context):
        return found
    if found := placeholder(name, here, context):
        return found
    if found := unsupported(name, here):
        return found
    if name in _FOREIGN_TYPES or name in _NEW_TYPES:
        return foreign_type(name, here)
    if name == "std" or name in _STANDARD:
        return standard(name, here, context)
    known = context.candidates
    suggestion = "" if meant.startswith("_") else meant
    suggestion = (
        nearest(name, known)
        if not suggestion or nearest(name, known | {suggestion}) != suggestion
        else suggestion
    )
    return replace(
        here,
        rule="M602",
        message=f"'{name}' is not declared" if "type" not in match[0] else f"'{name}' is not a known type",
        hint=(f"did you mean '{suggestion}'? Otherwise " if suggestion else "")
        + advice(name, match[0], is_called(here, context), context),
    )


def is_called(diagnostic: Diagnostic, context: Context) -> bool:
    line = context.line(diagnostic.file, diagnostic.line)
    return bool(re.match(r"\w+\s*(<[^;]*>)?\s*\(", line[max(0, diagnostic.column - 1) :]))


def advice(name: str, text: str, called: bool, context: Context) -> str:
    """Where a name like this one can come from."""
    base = re.fullmatch(r"(\w+)_(shape|strides|ndim)", name)
    if _POSITION.fullmatch(name):
        kind = "uint" if re.search(r"_index_|simdgroups_|quadgroups_|_width", name) else "uint3"
        if context.form == "mlx":
            return (
                f"use {name} in `source`; functions in `header` do not see it and must take it as an argument"
            )
        return f"add the kernel parameter `{kind} {name} [[{name}]]`"
    if context.form == "mlx" and base:
        return f"add '{base[1]}' to input_names: {name} exists for inputs that are not scalars"
    if _METAL.fullmatch(name) and not any(
        "using namespace metal" in text for text in context.source.values()
    ):
        return "add `#include <metal_stdlib>` and `using namespace metal;` at the top"
    if called:
        where = "in `header`" if context.form == "mlx" else "above the kernel"
        return f"define the function '{name}' {where}, or include the file that does"
    if "type" in text or "template" in text:
        return "declare it, include the header that does, or add `using namespace metal;`"
    if context.form == "mlx":
        return f"add '{name}' to input_names and its value to inputs, or make it a constant: template=[...]"
    return (
        f"add '{name}' as a kernel parameter (`constant T& {name} [[buffer(n)]]`), as a constant "
        f"(`constant T {name} = ...;` at file scope), or declare the variable"
    )


def cuda_word(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    metal = cuda.metal_for(name)
    if not metal:
        return None
    attribute = cuda.is_position(name)
    hint = ""
    if attribute and context.form == "mlx":
        hint = f"write `{attribute}` in its place; MLX declares it for you"
    elif attribute:
        kind = "uint" if attribute.endswith("simdgroup") else "uint3"
        hint = f"add the kernel parameter `{kind} {name} [[{attribute}]]` and the line works as it stands"
    elif cuda.is_atomic(name):
        atomic = (
            "pass atomic_outputs=True"
            if context.form == "mlx"
            else "declare the buffer `device atomic_uint*`"
        )
        hint = f"{atomic}; order is always memory_order_relaxed"
    if name in ("blockIdx", "threadIdx", "blockDim") and "blockIdx" in context.line(
        diagnostic.file, diagnostic.line
    ):
        hint += "; blockIdx * blockDim + threadIdx is thread_position_in_grid"
    return replace(
        diagnostic,
        rule="M603",
        length=len(name),
        message=f"'{name}' is {cuda.language(name)}; Metal has {metal}",
        hint=hint,
    )


def placeholder(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """`{N}` and `$N` in the user's line."""
    if found := placeholder_braces(diagnostic, context):
        return found
    if name.startswith("$"):
        return left_over(diagnostic, name, name.strip("$"), diagnostic.column, context)
    return None


def unsupported(name: str, diagnostic: Diagnostic) -> Diagnostic | None:
    for pattern, what in _UNSUPPORTED:
        if pattern.fullmatch(name):
            message = f"'{name}': {what} not supported yet"
            return replace(
                diagnostic,
                rule="M616",
                message=message,
                hint="see docs/support.md; pass the data in a buffer",
            )
    return None


def foreign_type(name: str, diagnostic: Diagnostic) -> Diagnostic:
    if name in _NEW_TYPES:
        hint = f"'{name}' needs {_NEW_TYPES[name]}; use half or float, or compile for a newer version"
        return replace(
            diagnostic, rule="M605", message=f"'{name}' is not available in this version of Metal", hint=hint
        )
    metal = _FOREIGN_TYPES[name]
    shown = metal if " " in metal else f"`{metal}`"
    return replace(diagnostic, rule="M605", message=f"Metal has no type '{name}'", hint=f"write {shown}")


def standard(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic:
    after = re.match(
        r"std\s*::\s*(\w+)", context.line(diagnostic.file, diagnostic.line)[diagnostic.column - 1 :]
    )
    member = after[1] if after else name
    instead = _STANDARD.get(
        member, f"`metal::{member}`, or nothing in front of it after `using namespace metal;`"
    )
    return replace(
        diagnostic,
        rule="M602",
        message=f"'{'std::' + member if after else name}' is not in Metal, which has no C++ standard library",
        hint=f"use {instead}",
    )


_MEANT = r"(?:; did you mean (?:simply )?'(?:::)?(?P<meant>[\w:]+)'\?)?"
TABLE: Table = (
    (re.compile(r"use of undeclared identifier '(?P<name>[^']+)'" + _MEANT), undeclared),
    (re.compile(r"unknown type name '(?P<name>[^']+)'" + _MEANT), undeclared),
    (re.compile(r"no template named '(?P<name>[^']+)'(?: in namespace '[^']*')?" + _MEANT), undeclared),
    (re.compile(r"no (?:type|member) named '(?P<name>[^']+)' in namespace '[^']*'" + _MEANT), undeclared),
    (re.compile(r"explicit instantiation of undefined function template '(?P<name>[^']+)'"), undeclared),
)

"""M602, names nobody declared; M603, CUDA spellings; M606, placeholders; M616, what is not supported yet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints import cuda, opencl
from metalloid.frontend.hints.context import Context, Table
from metalloid.frontend.hints.formatting import declared_with_placeholder, left_over, placeholder_braces
from metalloid.frontend.hints.nearest import nearest
from metalloid.frontend.hints.vocabulary import (
    KEYWORDS,
    METAL,
    NEW_TYPES,
    POSITIONS,
    STANDARD,
    TYPE,
    UNSUPPORTED,
    USUAL,
    metal_type,
)
from metalloid.records import replace

# Functions of Metal that programs call most; the vocabulary for suggestions leaves out what is too short to guess at.
CALLED = frozenset(
    "abs acos asin atan atan2 ceil clamp cos cosh cross distance dot exp exp2 exp10 fabs floor fma fmax fmin fmod"
    " fract isfinite isinf isnan length log log2 log10 max min mix normalize pow powr precise rint round rsqrt saturate"
    " select sign sin sinh smoothstep sqrt step tan tanh trunc".split()
)


def undeclared(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    name = match["name"]
    if "namespace 'std'" in match[0]:
        line = context.line(diagnostic.file, diagnostic.line)
        if found_std := re.search(rf"\bstd\s*::\s*{re.escape(name)}\b", line):
            return standard("std", replace(diagnostic, column=found_std.start() + 1, length=3), context)
    meant = match.groupdict().get("meant") or ""
    here = underline(name, diagnostic, context)
    if found := cuda_word(name, here, context):
        return found
    if found := opencl_word(name, here, context):
        return found
    if found := placeholder(name, here, context):
        return found
    if found := unsupported(name, here):
        return found
    if metal_type(name) or name in NEW_TYPES:
        return foreign_type(name, here)
    if name == "std" or name in STANDARD:
        return standard(name, here, context)
    is_type = "type" in match[0] or "template" in match[0]
    suggestion = suggest(name, meant, context)
    return replace(
        here,
        rule="M602",
        message=f"'{name}' is not a known type" if is_type else f"'{name}' is not declared",
        hint=(f"did you mean '{suggestion}'? Otherwise " if suggestion else "")
        + advice(name, is_type, here, context),
    )


def suggest(name: str, meant: str, context: Context) -> str:
    """The name that was probably meant: one of the user's, one of Metal's, or clang's own guess."""
    if (name in METAL or name in CALLED) and not uses_metal(context):
        return ""  # it is right as it is, in its namespace
    own = nearest(name, context.candidates - KEYWORDS) or nearest(name, POSITIONS)
    return own or nearest(name, METAL) or ("" if meant.startswith("_") or meant in KEYWORDS else meant)


def member(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A member that a type does not have."""
    name, owner, meant = match["name"], match["owner"].removeprefix("metal::"), match["meant"]
    hint = f"did you mean '{meant}'?" if meant and not meant.startswith("_") else ""
    if re.fullmatch(r"\w*[a-z]([234])", owner):
        size = int(owner[-1])
        hint = f"its members are {', '.join('xyzw'[:size])}, also spelled {', '.join('rgba'[:size])}"
    return replace(
        underline(name, diagnostic, context),
        rule="M602",
        message=f"`{owner}` has no member '{name}'",
        hint=hint,
    )


def underline(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic:
    """The caret under the name, or under the macro in the user's line that it came out of."""
    line = context.line(diagnostic.file, diagnostic.line)
    if not line or context.word_at(diagnostic) == name:
        return replace(diagnostic, length=max(1, len(name)))
    spoken = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if spoken.search(line):
        return diagnostic
    for word in re.finditer(r"[A-Za-z_]\w*", line):
        macro = context.macro(word[0])
        if macro and spoken.search(macro.body):
            return replace(diagnostic, column=word.start() + 1, length=len(word[0]))
    return diagnostic


def is_called(name: str, diagnostic: Diagnostic, context: Context) -> bool:
    """Whether the name is called where the diagnostic points; a name out of a macro, whether it is anywhere."""
    call = re.compile(rf"(?<!\w){re.escape(name)}\s*(<[^;]*>)?\s*\(")
    if context.word_at(diagnostic) == name:
        line = context.line(diagnostic.file, diagnostic.line)
        return bool(call.match(line, max(0, diagnostic.column - 1)))
    return any(call.search(text) for text in context.source.values())


def advice(name: str, is_type: bool, diagnostic: Diagnostic, context: Context) -> str:
    """Where a name like this one can come from."""
    line = context.line(diagnostic.file, diagnostic.line)
    mlx = context.form == "mlx"
    base = re.fullmatch(r"(\w+)_(shape|strides|ndim)", name)
    if name in POSITIONS:
        kind = "uint" if re.search(r"_index_|simdgroups_|quadgroups_|_width", name) else "uint3"
        if mlx:
            return (
                f"use {name} in `source`; functions in `header` do not see it and must take it as an argument"
            )
        return f"add the kernel parameter `{kind} {name} [[{name}]]`"
    if mlx and base:
        return f"add '{base[1]}' to input_names: {name} exists for inputs that are not scalars"
    if (name in METAL or name in CALLED) and not uses_metal(context):
        return f"write `metal::{name}`, or add `using namespace metal;` at the top, after `#include <metal_stdlib>`"
    if TYPE.fullmatch(name) and not uses_metal(context):
        return "add `#include <metal_stdlib>` and `using namespace metal;` at the top"
    if mlx and not is_type and re.fullmatch(r"[A-Z][A-Z0-9]?|[A-Z]\w?_?[tT]?", name):
        return f"pass it to the call: template=[('{name}', dtype)]"
    if is_called(name, diagnostic, context):
        where = "in `header`" if mlx else "above the kernel"
        return f"define the function '{name}' {where}, or include the file that does"
    if is_type and mlx:
        return f"pass it in template=[('{name}', dtype)], or declare it in `header`"
    if is_type:
        return "declare it, include the header that does, or add `using namespace metal;`"
    if mlx:
        return f"add '{name}' to input_names and its value to inputs, or make it a constant: template=[...]"
    if re.search(rf"\w\s+\w+\s*\[\s*{re.escape(name)}\s*\]", line):
        return f"the size of an array is a constant: `constant constexpr uint {name} = ...;` at file scope"
    if name in USUAL:
        return f"add the kernel parameter `{USUAL[name]}`, or declare the variable"
    return (
        f"add '{name}' as a kernel parameter (`constant T& {name} [[buffer(n)]]`), as a constant "
        f"(`constant T {name} = ...;` at file scope), or declare the variable"
    )


def uses_metal(context: Context) -> bool:
    return context.form == "mlx" or any("using namespace metal" in text for text in context.source.values())


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
        underline(name, diagnostic, context),
        rule="M603",
        message=f"'{name}' is {cuda.language(name)}; Metal has {metal}",
        hint=hint,
    )


def opencl_word(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """A word of OpenCL, or one of Metal's without its namespace or the end of its name."""
    if metal := opencl.metal_for(name):
        attribute, hint = opencl.POSITIONS.get(name, ""), ""
        if attribute and context.form == "mlx":
            hint = f"write `{attribute}.x` in place of `{name}(0)`; MLX declares it for you"
        elif attribute:
            hint = f"add the kernel parameter `uint3 {attribute} [[{attribute}]]`; `{name}(0)` is its `.x`"
        return replace(diagnostic, rule="M603", message=f"'{name}' is OpenCL; Metal has {metal}", hint=hint)
    if metal := opencl.completed(name):
        return replace(
            diagnostic, rule="M602", message=f"'{name}' is not declared; Metal has {metal}", hint=""
        )
    return None


def placeholder(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """`{N}` and `$N` in the user's line."""
    if found := placeholder_braces(diagnostic, context):
        return found
    if found := declared_with_placeholder(name, diagnostic, context):
        return found
    if name.startswith("$"):
        return left_over(diagnostic, name, name.strip("$"), diagnostic.column, context)
    return None


def unsupported(name: str, diagnostic: Diagnostic) -> Diagnostic | None:
    for pattern, what in UNSUPPORTED:
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
    if name in NEW_TYPES:
        hint = f"'{name}' needs {NEW_TYPES[name]}; use half or float, or compile for a newer version"
        return replace(
            diagnostic, rule="M605", message=f"'{name}' is not available in this version of Metal", hint=hint
        )
    message = f"Metal has no type '{name}'"
    return replace(diagnostic, rule="M605", message=message, hint=f"write {metal_type(name)}")


def standard(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic:
    after = re.match(
        r"std\s*::\s*(\w+)", context.line(diagnostic.file, diagnostic.line)[diagnostic.column - 1 :]
    )
    member = after[1] if after else name
    instead = STANDARD.get(
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
    (re.compile(r"no member named '(?P<name>[^']+)' in '(?P<owner>[^']+)'" + _MEANT), member),
    (re.compile(r"explicit instantiation of undefined function template '(?P<name>[^']+)'"), undeclared),
)

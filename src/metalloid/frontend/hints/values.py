"""M604, `.x` on a number; M620, a vector where a number is due; M605, types that do not meet; M615, M618."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Macro, Table
from metalloid.frontend.hints.words import bare_type
from metalloid.records import replace

_SCALAR = re.compile(r"(?:u?(?:char|short|int|long)|float|half|bfloat|bool|unsigned|size_t|u?int\d+_t)")
_QUALIFIED = r"(?:const |device |constant |thread |threadgroup )*"
_VECTOR = re.compile(_QUALIFIED + r"(u?(?:char|short|int|long)|float|half|bfloat|bool)([234])")
_SPACE = re.compile(r"\b(device|threadgroup|constant)\b")
_COMPONENT = re.compile(r"\.\s*[xyzwrgba]{1,4}\b")
# Builtins that can be declared uint, uint2 or uint3.
_GROWS = re.compile(
    r"thread_position_in_\w+|threadgroup_position_in_grid|threads_per_(?:grid|threadgroup)|threadgroups_per_grid|dispatch_threads_per_threadgroup|grid_(?:origin|size)"
)


def member_of_scalar(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    type_ = match[1]
    line = context.line(diagnostic.file, diagnostic.line)
    member = re.match(r"(?:\.|->)\s*(\w+)", line[max(0, diagnostic.column - 1) :])
    base = context.word_before(diagnostic) if member else ""
    macro = context.macro_at(diagnostic)
    inside = _COMPONENT.search(macro.body) if macro else None
    written = member or inside or _COMPONENT.search(line, max(0, diagnostic.column - 1))
    suffix = written.group().replace(" ", "") if written else ".x"
    if type_.rstrip().endswith("*"):
        if match[0].startswith("member reference type"):
            return None
        return replace(
            diagnostic,
            message=f"{quoted(base)} is a pointer (`{type_}`); `{suffix}` needs one element of it",
            hint=f"write `{base}[i]{suffix}`" if base else f"index it, as in `[i]{suffix}`",
        )
    bare = re.sub(r"\b(const|device|constant|thread|threadgroup|volatile)\b ?", "", type_).strip()
    if not _SCALAR.fullmatch(bare):
        return None
    if not base:
        return replace(
            diagnostic,
            rule="M604",
            length=len(suffix) if member else diagnostic.length,
            message=f"this value is a single {bare}: it has no {suffix}",
            hint=unnamed(
                line[: max(0, diagnostic.column - 1)], bare, suffix, macro if inside else None, context
            ),
        )
    known = context.parameter(base)
    attribute = known.attribute if known else base
    start = diagnostic.column - len(base)
    text = context.source.get(diagnostic.file, "")
    used = re.findall(rf"\b{re.escape(base)}\s*\.\s*([xyzw]+)", text)
    size = max((" xyzw".find(c) for c in "".join(used) + suffix[1:]), default=1)
    vector = f"{bare}{max(2, size)}"
    if attribute and _GROWS.fullmatch(attribute) and size < 4:
        declared = f"`{vector} {base} [[{attribute}]]`"
        hint = f"declare it {declared}" + (f", or drop `{suffix}`" if size == 1 else "")
    elif known and known.attribute:
        hint = f"[[{known.attribute}]] is always one number: drop `{suffix}`"
    else:
        hint = f"drop `{suffix}`, or declare '{base}' as a vector such as `{vector}`"
    return replace(
        diagnostic,
        rule="M604",
        column=start,
        length=len(base + suffix),
        message=f"'{base}' is a single {bare}: it has no {suffix}",
        hint=hint,
    )


def quoted(base: str) -> str:
    return f"'{base}'" if base else "this value"


def unnamed(before: str, bare: str, suffix: str, macro: Macro | None, context: Context) -> str:
    """What to do about `.x` after an element, a call or a macro."""
    if macro:
        return f"it comes from the macro '{macro.name}': drop `{suffix}` there"
    array = re.search(r"([A-Za-z_]\w*)\s*\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s*$", before)
    if array is None:
        return f"drop `{suffix}`"
    if context.form == "mlx" and context.parameter(array[1]):
        return f"drop `{suffix}`: an element of '{array[1]}' is one `{bare}`"
    return f"drop `{suffix}`, or declare '{array[1]}' with vectors as elements, such as `{bare}4`"


def conversion(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """Two types that do not meet: vector and number, pointers of two spaces, half and bfloat."""
    source, target = match["source"], match["target"]
    vector = _VECTOR.fullmatch(source)
    if vector and re.search(_SCALAR, target) and not _VECTOR.fullmatch(target) and "*" not in target:
        word = whole_value(diagnostic, context)
        what = f"'{word}'" if word else "this value"
        return replace(
            diagnostic,
            rule="M620",
            message=f"{what} is a `{vector[1]}{vector[2]}`, and one number (`{target}`) is expected",
            hint=f"choose a component, as in `{word}.x`" if word else "choose a component: `.x`",
        )
    if "*" in source and "*" in target:
        return pointers(source, target, diagnostic)
    if "*" in source:
        message = f"`{source}` is a pointer, and `{target}` is expected"
        return replace(
            diagnostic, rule="M605", message=message, hint="index it, as in `p[i]`, or read it, as in `*p`"
        )
    source, target = bare_type(source), bare_type(target)
    both = source + " " + target
    if not re.search(r"\b(half|bfloat)\d?\b", both) and not _VECTOR.search(both):
        return None
    middle = "float(...)" if "bfloat" in both and "half" in both else "..."
    message = f"`{source}` does not become `{target}` by itself"
    return replace(diagnostic, rule="M605", message=message, hint=f"convert it: `{target}({middle})`")


def cast(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """A pointer that is cast to another space."""
    source, target = match["source"], match["target"]
    return pointers(source, target, diagnostic) if "*" in source and "*" in target else None


def pointers(source: str, target: str, diagnostic: Diagnostic) -> Diagnostic | None:
    from_space = (_SPACE.findall(source) or ["thread"])[0]
    to_space = (_SPACE.findall(target) or ["thread"])[0]
    if from_space != to_space:
        return replace(
            diagnostic,
            rule="M615",
            message=f"a pointer to {from_space} memory cannot become `{target}` ({to_space} memory)",
            hint=f"declare the pointer `{from_space}`, or copy the data",
        )
    if bare_type(source) != bare_type(target):
        message = f"`{source}` and `{target}` point to different types"
        return replace(
            diagnostic, rule="M605", message=message, hint=f"cast it where that is meant: `({target})...`"
        )
    if "const" in source and "const" not in target:
        return replace(
            diagnostic,
            rule="M618",
            message=f"`{source}` is read-only and cannot become `{target}`",
            hint="declare the pointer const, or the buffer without const where it is meant to be written",
        )
    return None


def read_only(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    line = context.line(diagnostic.file, diagnostic.line)[: max(0, diagnostic.column - 1)]
    name = (match.groupdict().get("name") or "").strip()
    if not name:
        found = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^=;]*\]|\.\w+)*\s*[-+*/%&|^<>]*$", line)
        name = found.group(1) if found else "this"
    if context.form == "mlx" and context.parameter(name):
        hint = "inputs of metal_kernel are const: write to one of output_names"
    elif context.parameter(name):
        hint = f"declare '{name}' as `device T*` without const, or write to another buffer"
    else:
        hint = f"drop the const of '{name}', or assign to another variable"
    return replace(diagnostic, rule="M618", message=f"'{name}' is read-only and cannot be written", hint=hint)


def array_size(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    return replace(
        diagnostic,
        rule="M613",
        message="the size of an array must be known when the kernel is compiled",
        hint="use a constant, or `threadgroup T* p [[threadgroup(0)]]`, which the host sizes",
    )


def vector_index(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`x[gid]` where gid is a uint3."""
    inside = re.search(
        r"\[\s*([A-Za-z_]\w*)\s*\]",
        context.line(diagnostic.file, diagnostic.line)[max(0, diagnostic.column - 2) :],
    )
    name = inside[1] if inside else ""
    if not name:
        return replace(
            diagnostic,
            rule="M620",
            message="an index must be one integer",
            hint="convert or choose a component: `.x`",
        )
    return replace(
        diagnostic,
        rule="M620",
        message=f"'{name}' cannot be an index: an index is one integer",
        hint=f"choose a component, as in `[{name}.x]`, or convert it: `[uint({name})]`",
    )


def part_of_copy(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`f(x).xy = v`: what is stored there, nobody reads."""
    return replace(
        diagnostic,
        rule="M618",
        message=f"'.{match[1]}' is of a value that nothing keeps, and cannot be written",
        hint="write to a swizzle of a variable",
    )


def no_place(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`v.xz[1] = s`, `a + b = s`."""
    return replace(
        diagnostic,
        rule="M618",
        message="what stands before the `=` is a value and no variable: it cannot be written",
        hint="write to a variable, or to an element of it by its own name, as in `v.z = s`",
    )


def vector_condition(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """`if (a == b)` with vectors: one bool for each element."""
    if not _VECTOR.fullmatch(match[1]):
        return None
    return replace(
        diagnostic,
        rule="M620",
        message=f"this condition is a `{bare_type(match[1])}`, and one bool is expected",
        hint="write `all(...)` or `any(...)` around it; to choose by element, `select(b, a, condition)`",
    )


def whole_value(diagnostic: Diagnostic, context: Context) -> str:
    """The value of `T name = value;` where it is a plain name; clang may point at `name`."""
    rest = context.line(diagnostic.file, diagnostic.line)[max(0, diagnostic.column - 1) :]
    found = re.match(r"(?:\w+\s*=\s*)?([A-Za-z_]\w*)\s*[;,)]", rest)
    return found[1] if found else ""


_S, _T = r"'(?P<source>[^']+)'", r"'(?P<target>[^']+)'"
TABLE: Table = (
    (re.compile(r"member reference base type '([^']+)' is not a structure or union"), member_of_scalar),
    (re.compile(r"member reference type '([^']+)' is not a pointer"), member_of_scalar),
    (re.compile(rf"no viable conversion from (?:returned value of type )?{_S} to [a-z ]*{_T}"), conversion),
    (re.compile(rf"cannot convert {_S} to {_T}"), conversion),
    (re.compile(rf"assigning to {_T} from incompatible type {_S}"), conversion),
    (re.compile(rf"cannot initialize [^']*{_T} with an? [lrx]+value of type {_S}"), conversion),
    (re.compile(rf"(?:reinterpret|static)_cast from {_S} to {_T}"), cast),
    (re.compile(r"cannot assign to [^']*'(?P<name>\w+)'.*(?:const|constant)"), read_only),
    (re.compile(r"^expression is not assignable"), no_place),
    (re.compile(r"read-only variable is not assignable|cannot assign to return value because"), read_only),
    (re.compile(r"'this' argument to member function '__put_(\w+)' is an rvalue"), part_of_copy),
    (re.compile(r"variable length array"), array_size),
    (re.compile(r"value of type '([^']+)' is not contextually convertible to 'bool'"), vector_condition),
    (re.compile(r"array subscript is not an integer|no viable overloaded operator\[\]"), vector_index),
)  # fmt: skip

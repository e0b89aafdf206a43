"""Turn the preprocessed MSL of one kernel into C++ that clang accepts.

Every change is an edit in place that keeps the line structure, so clang's messages and debug
lines are the user's; `Rewritten.original_column` undoes the shift within a line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import included
from metalloid.frontend.declarations import Declarations, Entry, Span
from metalloid.frontend.front import guarded_operators
from metalloid.frontend.function_constants import differ_in_front, late_values, value_edits
from metalloid.frontend.global_builtins import builtin_edits
from metalloid.frontend.needed import needless
from metalloid.frontend.rewritten import Edit, Rewritten, applied
from metalloid.frontend.tokens import Token
from metalloid.frontend.unit import KEPT, Unit, reachable
from metalloid.frontend.unsupported import UNSUPPORTED, unsupported_use, unusable
from metalloid.frontend.variables import empty_braces
from metalloid.patterns import pattern

# Attributes of MSL that C++ does not know, or not in the places MSL allows.
ATTRIBUTES = frozenset(
    """kernel host_name buffer threadgroup texture sampler id function_constant
        max_total_threads_per_threadgroup thread_position_in_grid thread_position_in_threadgroup
        thread_index_in_threadgroup thread_index_in_simdgroup thread_index_in_quadgroup
        threadgroup_position_in_grid threads_per_grid threads_per_threadgroup
        threads_per_simdgroup threadgroups_per_grid thread_execution_width
        simdgroup_index_in_threadgroup simdgroups_per_threadgroup quadgroup_index_in_threadgroup
        quadgroups_per_threadgroup dispatch_threads_per_threadgroup
        dispatch_simdgroups_per_threadgroup dispatch_quadgroups_per_threadgroup
        dispatch_threadgroups_per_grid grid_origin grid_size visible stitchable user
        required_threads_per_threadgroup attribute position color vertex_id instance_id stage_in
        raster_order_group""".split()
)

# Out of line, or not optimised: hints that have no meaning where every function becomes part of its kernel.
_APART = frozenset(("noinline", "__noinline__", "optnone", "__optnone__"))
_EDITED = _APART | {"kernel", "coherent", "[["}
_COHERENT = frozenset(("(device)", "(threadgroup)", "(system)"))
_HALF_LITERAL = pattern(r"^([0-9.]+(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+)(h|H|bf|BF)$")
_ORDERED_SWIZZLES = frozenset("""xy yz zw xz yw xyz yzw xyzw rg gb ba rb ga rgb gba rgba""".split())
_VISIBLE = pattern(r"[^\n]")
_SWIZZLE = pattern(r"^(?:[xyzw]{2,4}|[rgba]{2,4})$")


def rewrite(
    unit: Unit,
    entry: Entry | None,
    constants: Mapping[str, str],
    needed: bool = False,
    unknown: bool = False,
) -> Rewritten:
    """C++ for one kernel (or, with None, for all of the source); `constants` are values by name.

    `needed`: only what the kernel needs; the source must have been examined. `unknown`: function constants without a
    value have none, where 0 takes its place otherwise; good for asking clang about the text, not for code.
    """
    found = unit.declarations
    drops, bodies, front = [*found.drops, *found.stages], list[Span](), 0
    if entry is None:
        drops += _needless_in_all(unit)
    else:
        keep = reachable(unit, entry)
        left_out = [*(one.span for one in found.instantiations), *unusable(unit, keep)]
        others = [k for k in found.kernels if k.name not in keep]
        left_out += needless(unit, entry) if needed else [k.span for k in others if k.body is None]
        bodies = [] if needed else [k.body for k in others if k.body is not None]
        if needed and (front := _front(unit, constants)):
            left_out = [span for span in left_out if span.first >= front]
            left_out += [span for span in _needless_in_all(unit) if span.first < front]
        drops += left_out
    dropped = _Ranges(_range(unit, span) for span in drops if span.last > span.first)
    forgotten = _Ranges(_range(unit, Span(body.first, body.last + 1)) for body in bodies)
    edits = [edit for ranges in (dropped, forgotten) for edit in _blanked(unit, ranges)]
    openings = [unit.tokens[body.first - 1] for body in bodies]  # other kernels stay declared, for typedefs
    edits += [Edit(token.start, token.end, ";") for token in openings]
    gone = _Ranges([*dropped, *forgotten, *((token.start, token.end) for token in openings)])
    edits += (e for e in (*_edits(unit), *value_edits(unit, constants, unknown)) if not gone.covers(e.start))
    text, ordered = applied(unit.text, edits)
    shared = entry is None or front > 0
    late = late_values(unit, constants) if shared else ()
    return Rewritten(text, unit.text, ordered, _all_swizzles(unit), shared, late)


def _needless_in_all(unit: Unit) -> list[Span]:
    """What is left out where all of a source is looked at."""
    left_out = unusable(unit, frozenset())
    return [*left_out, *_repeated_instantiations(unit.declarations, left_out)]


def _front(unit: Unit, constants: Mapping[str, str]) -> int:
    """The first token behind all that is included, where that is the same text for every kernel; else 0."""
    cut = included.end(unit.text)
    front = bisect_left(unit.tokens, cut, key=lambda token: token.start)
    return 0 if differ_in_front(unit, constants, front) else front


@lru_cache(maxsize=KEPT)
def _edits(unit: Unit) -> tuple[Edit, ...]:
    """What is changed whichever kernel is asked for."""
    return (
        *_token_edits(unit),
        *_static_edits(unit),
        *_cast_edits(unit),
        *(Edit(*edit) for edit in guarded_operators(unit)),
        *_parameter_edits(unit),
        *(Edit(*edit) for edit in builtin_edits(unit)),
    )


@lru_cache(maxsize=KEPT)
def _all_swizzles(unit: Unit) -> bool:
    """Whether some swizzle is out of order."""
    tokens, last = unit.tokens, len(unit.tokens) - 1
    members = {tokens[index + 1].text for index in unit.words.of((".", "->")) if index < last}
    return not {word for word in members if _SWIZZLE.match(word)} <= _ORDERED_SWIZZLES


def _repeated_instantiations(found: Declarations, left_out: Sequence[Span]) -> Iterator[Span]:
    """All but the first of each template: one shows its mistakes, all of them would take seconds. None of what is
    left out."""
    known = {kernel.name for kernel in found.kernels if kernel.span in left_out}
    for one in found.instantiations:
        if one.name in known:
            yield one.span
        known.add(one.name)


def refuse_unsupported(unit: Unit, entry: Entry) -> None:
    """Raise for textures, ray tracing and the like in what the kernel uses."""
    keep = reachable(unit, entry)
    found = unit.declarations
    spans = [k.span for k in found.kernels if k.name in keep]
    spans += [s for name, all_ in found.functions.items() if name in keep for s in all_]
    for span in spans if unit.words.of(UNSUPPORTED) else ():
        index = unsupported_use(unit.tokens, found, span)
        if index is not None:
            file, line, column = unit.place(index)
            name = unit.tokens[index].text
            message = f"{UNSUPPORTED[name]} is not supported yet; see docs/support.md"
            raise CompileError([Diagnostic(message, file, line, column, len(name), rule="M616")])


class _Ranges:
    """Parts of the text, those that touch as one."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        self.starts = [start for start, _ in merged]
        self.ends = [end for _, end in merged]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts, self.ends, strict=True)

    def covers(self, offset: int) -> bool:
        index = bisect_right(self.starts, offset) - 1
        return index >= 0 and offset < self.ends[index]


def _range(unit: Unit, span: Span) -> tuple[int, int]:
    return unit.tokens[span.first].start, unit.tokens[min(span.last, len(unit.tokens)) - 1].end


def _blanked(unit: Unit, ranges: _Ranges) -> Iterator[Edit]:
    """Spaces for parts of the text; line markers and line ends stay."""
    markers = [token for token in map(unit.tokens.__getitem__, unit.directives) if "pragma" not in token.text]
    places = [marker.start for marker in markers]
    for start, end in ranges:
        inside = markers[bisect_left(places, start) : bisect_left(places, end)]
        for last, after in zip(
            [*(m.start for m in inside), end], [*(m.end for m in inside), end], strict=True
        ):
            if start < last:
                yield Edit(start, last, _VISIBLE.sub(" ", unit.text[start:last]))
            start = after


def _blank(unit: Unit, span: Span) -> list[Edit]:
    """Spaces for a span's tokens; line markers and line ends stay."""
    edits: list[Edit] = []
    for token in unit.tokens[span.first : span.last]:
        if token.kind != "directive" or "pragma" in token.text:
            blank = _VISIBLE.sub(" ", token.text)
            edits.append(Edit(token.start, token.end, blank))
    return edits


def _token_edits(unit: Unit) -> list[Edit]:
    """Half literals, the `kernel` keyword and attributes, wherever they stand."""
    edits: list[Edit] = []
    blanked = 0
    tokens = unit.tokens
    marks = unit.words.of(ATTRIBUTES)
    for index in sorted((*unit.words.kind("number", _HALF_LITERAL.match), *unit.words.of(_EDITED))):
        token = tokens[index]
        if token.kind == "number":
            if literal := _HALF_LITERAL.match(token.text):
                digits = literal[1] if re.search(r"[.eEpP]", literal[1]) else f"{literal[1]}.0"
                # Not by way of a float, which would round twice. A bfloat has no literal; `L` is a double.
                value = f"{digits}f16" if literal[2] in "hH" else f"((bfloat){digits}L)"
                edits.append(Edit(token.start, token.end, value))
        elif token.text == "kernel" and _declares(tokens, index):
            edits.append(Edit(token.start, token.end, " " * len(token.text)))
        elif token.text == "coherent" and "".join(t.text for t in tokens[index + 1 : index + 4]) in _COHERENT:
            edits += _blank(unit, Span(index, index + 4))
        elif token.text in _APART and _is_attribute(tokens, index):
            edits.append(Edit(token.start, token.end, "always_inline"))
        elif token.text == "[[":
            close = unit.pairs.get(index, index)
            at = bisect_right(marks, index)
            if index >= blanked and at < len(marks) and marks[at] < close:
                edits += _blank(unit, Span(index, close + 1))
                blanked = close + 1
    return edits


def _is_attribute(tokens: Sequence[Token], index: int) -> bool:
    """A word inside `__attribute__((...))` or behind `[[clang::`."""
    before = index - 1
    while before >= 0 and (tokens[before].kind == "name" or tokens[before].text in ("(", ",", "::", "[[")):
        if tokens[before].text in ("__attribute__", "__attribute", "[["):
            return True
        before -= 1
    return False


def _declares(tokens: Sequence[Token], index: int) -> bool:
    """`kernel` as a keyword, not as somebody's name."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    return following is None or following.kind == "name" or following.text == "[["


def _static_edits(unit: Unit) -> list[Edit]:
    """Threadgroup variables; `used` keeps LLVM from reasoning that only one thread sees them."""
    word = "static __attribute__((used, loader_uninitialized)) "
    edits = []
    for index in unit.declarations.statics:
        start = unit.tokens[index].start
        previous = unit.tokens[index - 1].text if index else ""
        edits.append(Edit(start, start, word if previous != "static" else word.removeprefix("static ")))
        until = next((n for n in range(index, len(unit.tokens)) if unit.tokens[n].text in "{;"), index)
        if empty_braces(unit.tokens, unit.pairs, until):
            edits += _blank(unit, Span(until, unit.pairs[until] + 1))
    return edits


def _cast_edits(unit: Unit) -> Iterator[Edit]:
    for span, type_ in unit.declarations.casts:
        first, last = unit.tokens[span.first].start, unit.tokens[span.last - 1].end
        yield Edit(first, first, f"({type_})(")
        yield Edit(last, last, ")")


def _parameter_edits(unit: Unit) -> list[Edit]:
    """Array parameters in an address space become pointers."""
    edits: list[Edit] = []
    for index, brackets in unit.declarations.arrays:
        name = unit.tokens[index]
        if brackets.last < len(unit.tokens) and unit.tokens[brackets.last].text == "[":  # m[2][4]
            edits += [Edit(name.start, name.start, "(*"), Edit(name.end, name.end, ")")]
        else:
            edits.append(Edit(name.start, name.start, "* "))
        edits += _blank(unit, brackets)
    return edits

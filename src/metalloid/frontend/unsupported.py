"""What a source uses that metalloid cannot compile: textures, ray tracing, function tables, tensors of the host.

The kernel that was asked for is refused where it uses one of these; anything else that does is left
out, and with it what mentions it, so that the rest of the file compiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from metalloid.frontend.declarations import Declarations, Span
from metalloid.frontend.methods import SPACES
from metalloid.frontend.tokens import Token
from metalloid.frontend.unit import KEPT, Unit

# Name -> what to call it.
UNSUPPORTED = {
    **{
        name: name
        for name in """texture1d texture1d_array texture2d texture2d_array texture2d_ms texture2d_ms_array
            texture3d texturecube texturecube_array texture_buffer depth2d depth2d_array
            depth2d_ms depth2d_ms_array depthcube depthcube_array sampler
            acceleration_structure primitive_acceleration_structure instance_acceleration_structure
            visible_function_table intersection_function_table
            intersector intersection_query intersection_params tensor_handle
            tensor_offset imageblock imageblock_slice
            render_pipeline_state compute_pipeline_state command_buffer compute_command
            render_command depth_stencil_state simdgroup_event""".split()
    },
    "raytracing": "ray tracing",
    "tensor": "a tensor that the host binds",  # others are made of buffers, and supported
}


def unsupported_use(tokens: Sequence[Token], declarations: Declarations, span: Span) -> int | None:
    """Index of the first token in a span that names an unsupported type; a user's own type is none."""
    for index in range(span.first, span.last):
        token = tokens[index]
        if token.kind == "name" and token.text in UNSUPPORTED and token.text not in declarations.functions:
            previous = tokens[index - 1].text if index else ""
            following = tokens[index + 1] if index + 1 < len(tokens) else token
            if _is_type(previous, following) and (token.text != "tensor" or _is_bound(tokens, index)):
                return index
    return None


def _is_type(previous: str, following: Token) -> bool:
    if previous in (".", "->"):
        return False
    if following.text in ("&", "*"):
        return previous in SPACES or previous == "const"
    if following.text in (",", ">"):
        return previous == "<"
    return following.kind == "name" or following.text in ("<", "::")


def _is_bound(tokens: Sequence[Token], index: int) -> bool:
    """Whether the declaration that begins here has an attribute."""
    depth = 0
    for token in tokens[index + 1 :]:
        depth += (token.text in ("<", "(")) - (token.text in (">", ")"))
        if depth < 0 or token.text in ("{", ";") or (depth == 0 and token.text == ","):
            return False
        if depth == 0 and token.text == "[[":
            return True
    return False


def unusable(unit: Unit, keep: frozenset[str]) -> list[Span]:
    """Items that use what is not supported, or mention such an item; never what the kernel needs."""
    found = [(name, span) for name, span in _unsupported(unit) if name not in keep]
    spans = [span for _, span in found]
    names = {name for name, _ in found}
    items = [item for item in _items(unit.declarations) if item[0] not in keep] if found else []
    while names:
        more = [(n, s) for n, s in items if s not in spans and _mentions(unit.tokens, s, names)]
        spans += [span for _, span in more]
        names = {name for name, _ in more}
    return spans


@lru_cache(maxsize=KEPT)
def _unsupported(unit: Unit) -> list[tuple[str, Span]]:
    """Items that use what is not supported."""
    found = unit.declarations
    if not unit.words.of(UNSUPPORTED):
        return []
    return [(n, s) for n, s in _items(found) if unsupported_use(unit.tokens, found, s) is not None]


def _items(declarations: Declarations) -> Iterator[tuple[str, Span]]:
    for name, spans in declarations.functions.items():
        for span in spans:
            yield name, span
    for kernel in declarations.kernels:
        yield kernel.name, kernel.span


def _mentions(tokens: Sequence[Token], span: Span, names: set[str]) -> bool:
    return any(t.text in names for t in tokens[span.first : span.last])


def stage_function(
    tokens: Sequence[Token], declarations: Declarations, name: str, stages: frozenset[str]
) -> tuple[str, int] | None:
    """(stage, token of the name) of a vertex, fragment or like function."""
    for span in declarations.stages:
        for index in range(span.first, span.last - 1):
            if tokens[index].text == name and tokens[index + 1].text == "(":
                words = (t.text for t in tokens[span.first : index])
                return next(word for word in words if word in stages), index
    return None

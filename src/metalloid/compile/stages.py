"""Every text on a kernel's way, by name: those of the front end, then those of a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.backends.backend import Backend
from metalloid.backends.base import Triple
from metalloid.compile.sources import scalar
from metalloid.errors import MetalloidError
from metalloid.frontend import rewritten_text
from metalloid.source import Binary, Constant, Source

Constants = Mapping[str | int, Constant]


def _scalar(source: Source, kernel: str, constants: Constants) -> str:
    """The scalar IR of a kernel; a file of it, as reports of mistakes hold, is shown from there on."""
    return source.text if source.name.endswith(".ll") else scalar(source, kernel, constants)[0]


def _text(source: Source, kernel: str, constants: Constants) -> str:
    return _readable(source).text


def _rewritten(source: Source, kernel: str, constants: Constants) -> str:
    return rewritten_text(_readable(source), kernel, constants)


def _readable(source: Source) -> Source:
    if isinstance(source, Binary):
        raise MetalloidError(
            f"{source.name} is a compiled library: it has no text; --stage air shows its code"
        )
    return source


def _air(source: Source, kernel: str, constants: Constants) -> str:
    """What a compiled library holds of a kernel."""
    if not isinstance(source, Binary):
        raise MetalloidError(f"{source.name} is a text; only a compiled library (.metallib) has AIR to show")
    from metalloid.air.build import disassembled
    from metalloid.air.stored import choose, container_of

    container = container_of(source)
    return disassembled(container, choose(container, kernel))


FRONT: dict[str, Callable[[Source, str, Constants], str]] = {
    "metal": _text,
    "air": _air,
    "rewritten": _rewritten,
    "ll": _scalar,
}


def stage(
    name: str, source: Source, kernel: str, constants: Constants, size: Triple, backend: Backend
) -> str:
    """One stage of a kernel, for threadgroups of a size. May raise NotVectorised."""
    if name in FRONT:
        return FRONT[name](source, kernel, constants)
    return backend.stages[name](_scalar(source, kernel, constants), size)

"""Every text on a kernel's way, by name: those of the front end, then those of a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.backends.backend import Backend
from metalloid.backends.base import Triple
from metalloid.frontend import compile_kernel, rewritten_text
from metalloid.source import Constant, Source

Constants = Mapping[str | int, Constant]


def _scalar(source: Source, kernel: str, constants: Constants) -> str:
    """The scalar IR of a kernel; a file of it, as reports of mistakes hold, is shown from there on."""
    return source.text if source.name.endswith(".ll") else compile_kernel(source, kernel, constants).ir


FRONT: dict[str, Callable[[Source, str, Constants], str]] = {
    "metal": lambda source, kernel, constants: source.text,
    "rewritten": rewritten_text,
    "ll": _scalar,
}


def stage(
    name: str, source: Source, kernel: str, constants: Constants, size: Triple, backend: Backend
) -> str:
    """One stage of a kernel, for threadgroups of a size. May raise NotVectorised."""
    if name in FRONT:
        return FRONT[name](source, kernel, constants)
    return backend.stages[name](_scalar(source, kernel, constants), size)

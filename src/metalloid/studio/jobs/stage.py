"""The generated texts of a kernel, each line with the line of the source it comes from."""

from __future__ import annotations

from typing import Any

from metalloid import backends
from metalloid.backends.base import Triple
from metalloid.compile import kernel_names, scalar, stages
from metalloid.errors import MetalloidError, NotVectorised
from metalloid.ir.lines import Lined
from metalloid.runtime.device import device
from metalloid.source import Source
from metalloid.studio.jobs.inputs import size
from metalloid.studio.jobs.lines import front
from metalloid.studio.jobs.source import source_of

NAMES = ("metal", "rewritten", "ll")  # of the front end; a compiled library's is of no use here


def names() -> list[str]:
    """The stages of this machine's device, then those of the others: their texts need no such device."""
    found = [*NAMES]
    for name in dict.fromkeys((device().name, *backends.names())):
        found += [stage for stage in backends.named(name).stages if stage not in found]
    return found


def stage(data: dict[str, Any]) -> dict[str, Any]:
    source, wanted = source_of(data), str(data["stage"])
    if wanted not in names():
        raise MetalloidError(f"there is no stage {wanted!r}; there are {', '.join(names())}")
    kernel = str(data.get("kernel") or "") or next(iter(kernel_names(source)), "")
    x, y, z = (*(size("threadgroup", str(data.get("threadgroup") or "")) or (256,)), 1, 1)[:3]
    try:
        made = _lined(wanted, source, kernel, (x, y, z))
    except NotVectorised as why:
        return {"stage": wanted, "text": "", "lines": [], "missing": _sentence(why)}
    lines = [place.line if place is not None and place.file == source.name else 0 for place in made.places]
    return {"stage": wanted, "text": made.text, "lines": lines, "missing": ""}


def _lined(name: str, source: Source, kernel: str, threadgroup: Triple) -> Lined:
    if name in stages.FRONT:
        return front(name, stages.FRONT[name](source, kernel, {}), source.name)
    owners = dict.fromkeys((device().name, *backends.names()))
    backend = next(b for b in map(backends.named, owners) if name in b.stages)
    return backend.lined(name, scalar(source, kernel)[0], threadgroup)


def _sentence(why: NotVectorised) -> str:
    return " ".join(str(why).removeprefix("[engine] ").split())

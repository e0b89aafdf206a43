"""MSL to scalar IR."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid import background
from metalloid.frontend import Examined, compile_kernel, examine_source
from metalloid.source import Constant, Source
from metalloid.types import Signature


def examined(source: Source) -> Examined:
    """A source without mistakes; raises CompileError for another."""
    return examine_source(source, on_miss=_get_ready)


def scalar(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    checked: bool = False,
    known: Examined | None = None,
) -> tuple[str, Signature]:
    """The scalar IR and the signature of a kernel; `checked`: IR that keeps every access of the user's.

    `known` is what the examination of this source has made already.
    """
    if known and known.kernel and not constants and not checked and known.kernel.signature.name == name:
        return known.kernel.ir, known.kernel.signature
    kernel = compile_kernel(
        source,
        name,
        dict(constants or {}),
        checked=checked,
        on_miss=_get_ready,
        parsed=known.parsed if known else None,
    )
    return kernel.ir, kernel.signature


def _get_ready() -> None:
    """What has no scalar IR on disk will need the rest as well: begin it while clang works.

    Imported here and not in the background, where it would take turns with the front end's own imports: the sooner
    the runtime's compiler starts, the better.
    """
    from metalloid.backends.cpu import native

    background.begin("runtime", native.runtime)
    background.begin("passes", _load_passes)


def _load_passes() -> None:
    import metalloid.backends.cpu.pipeline  # noqa: F401

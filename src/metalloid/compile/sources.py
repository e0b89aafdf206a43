"""MSL to scalar IR."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid import ahead
from metalloid.frontend import compile_kernel
from metalloid.source import Constant, Source
from metalloid.types import Signature


def scalar(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    checked: bool = False,
) -> tuple[str, Signature]:
    """The scalar IR and the signature of a kernel; `checked`: IR that keeps every access of the user's."""
    ahead.begin("runtime", _load_runtime)
    kernel = compile_kernel(
        source,
        name,
        dict(constants or {}),
        checked=checked,
        on_miss=lambda: ahead.begin("passes", _load_passes),
    )
    return kernel.ir, kernel.signature


def _load_runtime() -> None:
    """A launch is likely to follow, and will want it."""
    from metalloid.backends.cpu import native

    native.runtime()


def _load_passes() -> None:
    """What has no scalar IR on disk has no vector code there either."""
    import metalloid.compile.vector  # noqa: F401

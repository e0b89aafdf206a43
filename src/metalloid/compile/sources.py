"""MSL, or a library that is compiled already, to scalar IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.errors import Diagnostic
from metalloid.frontend import Examined, compile_kernel, examine_source
from metalloid.source import Binary, Constant, Source
from metalloid.types import Signature


def _nothing() -> None: ...


def examined(source: Source, on_miss: Callable[[], None] = _nothing) -> Examined:
    """A source without mistakes; raises CompileError for another. `on_miss`: as in `scalar`."""
    if isinstance(source, Binary):
        return Examined(kernel_names(source))
    return examine_source(source, on_miss=on_miss)


def kernel_names(source: Source) -> tuple[str, ...]:
    """Every kernel that can be asked for by name, host names included."""
    if isinstance(source, Binary):
        from metalloid.air import stored

        return stored.kernel_names(source)
    from metalloid.frontend import find_kernels

    return tuple(entry.name for entry in find_kernels(source))


def warnings(
    source: Source, name: str, constants: Mapping[str | int, Constant] | None = None
) -> tuple[Diagnostic, ...]:
    """What the compiler warns about in a kernel that compiles, and in what it uses; nothing without its text."""
    if isinstance(source, Binary):
        return ()
    from metalloid.frontend.parse import parse
    from metalloid.frontend.warnings import warnings as told

    return told(parse(source), name, constants, needed=True)


def scalar(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    checked: bool = False,
    known: Examined | None = None,
    on_miss: Callable[[], None] = _nothing,
) -> tuple[str, Signature]:
    """The scalar IR and the signature of a kernel; `checked`: IR that keeps every access of the user's.

    `known` is what the examination of this source has made already. `on_miss` is called where there is no scalar IR on
    disk: the kernel will need the rest as well, and a device can begin it while clang works.
    """
    if known and known.kernel and not constants and not checked and known.kernel.signature.name == name:
        return known.kernel.ir, known.kernel.signature
    if isinstance(source, Binary):
        from metalloid.air import stored

        made = stored.compile_kernel(source, name, constants, checked=checked, on_miss=on_miss)
        return made.ir, made.signature
    kernel = compile_kernel(
        source,
        name,
        dict(constants or {}),
        checked=checked,
        on_miss=on_miss,
        parsed=known.parsed if known else None,
        reading="needed" if known else "others declared",
    )
    return kernel.ir, kernel.signature

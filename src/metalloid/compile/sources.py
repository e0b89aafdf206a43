"""MSL to scalar IR."""

from __future__ import annotations

from collections.abc import Mapping

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
    kernel = compile_kernel(source, name, dict(constants or {}), checked=checked)
    return kernel.ir, kernel.signature

"""M621 to M625: what the compiler itself warns about, told with the launches of a kernel."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from metalloid.checker.case import Case
from metalloid.compile import warnings
from metalloid.errors import Diagnostic, MetalloidError
from metalloid.findings import Finding
from metalloid.ir.debug import Location

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

_known: weakref.WeakKeyDictionary[KernelCode, tuple[Diagnostic, ...]] = weakref.WeakKeyDictionary()


def warned(case: Case) -> Iterator[Finding]:
    """The warnings of the kernel that was launched."""
    kernel = case.kernel
    if kernel not in _known:
        try:
            _known[kernel] = warnings(kernel.source, kernel.signature.name, kernel.constants)
        except MetalloidError:  # the kernel came from a cache, and its text is not there any more
            _known[kernel] = ()
    for said in _known[kernel]:
        place = Location(said.file, said.line, said.column, kernel.signature.name)
        yield Finding(
            said.rule,
            said.message,
            case.launch.kernel,
            place,
            hint=said.hint,
            excerpt=said.excerpt,
            severity=said.severity,
        )

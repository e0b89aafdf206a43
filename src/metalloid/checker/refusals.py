"""A launch that was refused, as a finding: the runtime's own sentence, under its rule.

Messages of the runtime name their rule ("M302 threadgroup is ..."); those about arguments are M306.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metalloid.errors import LaunchError
from metalloid.findings import Finding
from metalloid.ir.debug import Location

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel

_RULE = re.compile(r"\b(M[1-6][0-9]{2}) ")
_WHERE = re.compile(r"^\[[^\]]*\] *")


def refusal(kernel: Kernel, error: LaunchError) -> Finding:
    """What a LaunchError says; the last sentence, which says what to do, is the hint."""
    text = str(error).removesuffix(f"\n{kernel.signature}")
    named = _RULE.search(text)
    message, _, hint = _WHERE.sub("", text).partition("\n")
    message = _RULE.sub("", message, count=1)
    location, excerpt = _place(kernel, message)
    return Finding(
        named[1] if named else "M306",
        message.rstrip(". "),
        kernel.name,
        location,
        hint=hint.strip() or "compare the call with the kernel's signature",
        excerpt=excerpt,
    )


def _place(kernel: Kernel, message: str) -> tuple[Location, str]:
    """The line of the parameter that the message names, else of the kernel."""
    from metalloid.frontend.diagnose import Texts

    signature = kernel.signature
    line = signature.line
    for parameter in signature.parameters:
        if f"'{parameter.name}'" in message and parameter.line:
            line = parameter.line
    excerpt = Texts(kernel.library.source).line(signature.file, line)
    return Location(signature.file, line, 0, signature.name), excerpt

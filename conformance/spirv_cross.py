"""Compute shaders that SPIRV-Cross has translated to MSL: its own reference outputs, from Debian's source package.

Nobody wrote them by hand, so they hold what people do not write: arrays in classes, casts of everything, layouts by
offset. Files that the project itself marks as invalid are left out.
"""

from __future__ import annotations

import re

from conformance.cases import Case
from conformance.debian import DebianSource, fetch_source
from metalloid.source import Source

PACKAGE = DebianSource("spirv-cross", "/reference/")
_KERNEL = re.compile(r"^kernel void (\w+)\(", re.M)
_LATER = re.compile(
    r"\b(texture\w*<|texture_buffer|sampler\b|raytracing|acceleration_structure|intersection_query)"
)
INVALID = {  # not marked, and not MSL
    "glsl-signed-operations.asm.comp": "'sign' does not take `int4`",
    "glsl.std450.comp": "'sign' fits several overloads",
}


def cases() -> list[Case]:
    """None where the sources of Debian's packages cannot be had."""
    folder = fetch_source(PACKAGE)
    found = []
    for path in sorted(folder.rglob("*.comp")) if folder else ():
        text = path.read_text()
        kernel = _KERNEL.search(text)
        name = str(path.relative_to(folder)).partition("/reference/")[2] if folder else ""
        if kernel is None or "msl" not in name or ".invalid." in name:
            continue
        attempts = ((Source(text, name=name), kernel[1]),)
        later = _LATER.search(text) is not None
        found.append(
            Case("spirv-cross", name, kernel[1], attempts, refused=later, invalid=INVALID.get(path.name, ""))
        )
    return found

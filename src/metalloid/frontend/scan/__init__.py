"""Find the structure the rewriter needs: scopes, kernels, instantiations, threadgroup variables.

Not a C++ parser. It walks declarations by their brackets: at namespace level each item ends at
`;` or at the `}` of its body; what stands in front of the body says what it is. Where the text
is too broken to follow, it finds less, and clang reports the error.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.frontend.declarations import Declarations
from metalloid.frontend.scan.walk import STAGES, Walker
from metalloid.frontend.tokens import Token

__all__ = ["STAGES", "scan"]


def scan(tokens: Sequence[Token]) -> Declarations:
    walker = Walker(tokens)
    walker.namespace(0, len(tokens), ())
    found = walker.found
    return Declarations(
        tuple(found.kernels),
        tuple(found.instantiations),
        tuple(found.constants),
        {name: tuple(spans) for name, spans in found.functions.items()},
        tuple(found.parts),
        tuple(found.statics),
        tuple(found.arrays),
        tuple(found.drops),
        tuple(found.casts),
        tuple(found.stages),
        tuple(found.builtins),
    )

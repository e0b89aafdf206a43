"""Find the structure the rewriter needs: scopes, kernels, instantiations, threadgroup variables.

Not a C++ parser. It walks declarations by their brackets: at namespace level each item ends at
`;` or at the `}` of its body; what stands in front of the body says what it is. Where the text
is too broken to follow, it finds less, and clang reports the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.frontend.scan.walk import STAGES, Found, Walker
from metalloid.frontend.tokens import Token
from metalloid.frontend.words import Words

__all__ = ["STAGES", "Found", "scan"]


def scan(
    tokens: Sequence[Token], pairs: Mapping[int, int], words: Words, found: Found, first: int = 0
) -> Found:
    """What is found from one token on, which begins an item, and what was found before."""
    Walker(tokens, pairs, words, found).namespace(first, len(tokens), ())
    return found

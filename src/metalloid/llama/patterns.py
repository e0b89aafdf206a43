"""The regular expressions that cut text into words before it is merged into tokens.

They are written for engines that know Unicode's categories as \\p{L}; Python's `re` does not, so each becomes a
set of ranges. Making those takes a tenth of a second, so text in ASCII has short ones of its own.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from metalloid.errors import ModelError

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Unicode's White_Space; Python's \s has four control characters more.
_SPACES = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_PROPERTY = re.compile(r"\\([pP])\{(\^?)(\w+)\}")
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf".split()
)


class Splitter:
    """Cuts text at a pattern's matches."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._plain = _compiled(pattern, 128)

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """All of the text in order, each piece with whether the pattern matched it."""
        found, end = [], 0
        expression = self._plain if text.isascii() else _compiled(self.pattern, sys.maxunicode + 1)
        for match in expression.finditer(text):
            if match.start() > end:
                found.append((text[end : match.start()], False))
            if match.end() > match.start():
                found.append((match.group(), True))
            end = match.end()
        if end < len(text):
            found.append((text[end:], False))
        return found


@cache
def _compiled(pattern: str, limit: int) -> re.Pattern[str]:
    if len(pattern) > 4096:
        raise ModelError(f"the tokenizer's pattern has {len(pattern)} characters; at most 4096 are read.")
    try:
        return re.compile(translated(pattern, limit))
    except (re.error, RecursionError, OverflowError) as error:
        raise ModelError(f"the tokenizer's pattern {pattern!r:.80} is not supported: {error}.") from None


def translated(pattern: str, limit: int) -> str:
    """The pattern for Python's `re`; characters from `limit` on are not expected."""
    out, at, inside = [], 0, False
    while at < len(pattern):
        character = pattern[at]
        if match := _PROPERTY.match(pattern, at):
            out.append(_property(match, inside, limit))
            at = match.end()
            continue
        pair = pattern[at : at + 2]
        if pair == r"\s":
            out.append(_SPACES if inside else f"[{_SPACES}]")
        elif pair == r"\S":
            if inside:
                raise ModelError(f"the tokenizer's pattern {pattern!r:.80} has \\S in a set.")
            out.append(f"[^{_SPACES}]")
        elif character == "\\":
            out.append(pair)
        else:
            if character == "[" and inside:
                raise ModelError(f"the tokenizer's pattern {pattern!r:.80} has a set in a set.")
            inside = character == "[" or (inside and character != "]")
            out.append(character)
        at += 2 if character == "\\" else 1
    return "".join(out)


def _property(match: re.Match[str], inside: bool, limit: int) -> str:
    negated = (match[1] == "P") != bool(match[2])
    if match[3] not in _CATEGORIES or (negated and inside):
        raise ModelError(f"the tokenizer's pattern has {match[0]}, which is not supported.")
    ranges = _ranges(match[3], limit) or "^\\0-\\U0010ffff"
    return ranges if inside else f"[{'^' if negated else ''}{ranges}]"


@cache
def _ranges(category: str, limit: int) -> str:
    """The characters of a category as the inside of a set."""
    found: list[list[int]] = []
    for code in range(limit):
        if unicodedata.category(chr(code)).startswith(category):
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)

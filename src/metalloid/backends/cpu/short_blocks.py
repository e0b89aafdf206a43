"""Blocks of few instructions, for machine code that is wanted soon.

LLVM's instruction selection takes a block at a time, and longer for each instruction of a long one: MLX's gemm of
bfloat in blocks of up to 1,500 took 2.4 s, and takes 0.8 s in blocks of 50.
"""

from __future__ import annotations

import re

from metalloid.patterns import pattern

LENGTH = 50
_LABEL = pattern(r"\n([\w.$-]+):")
_FIRST = pattern(r"  (?:%\S+ = )?(?:phi|alloca) ")  # what only the start of a block may have
_LAST = pattern(r"  (?:br|ret|switch|unreachable|resume)\b")
_PHI = pattern(r"\n  %\S+ = phi [^\n]*")
_FROM = pattern(r"%([\w.$-]+) \]")


def short_blocks(text: str) -> str:
    """The same code; a block that is too long goes on in another."""
    parts = text.split("\n}\n")
    for at, part in enumerate(parts):
        start = 0 if part.startswith("define ") else part.find("\ndefine ")
        if start >= 0 and part.count("\n", start) > LENGTH:
            parts[at] = part[:start] + _in_function(part[start:])
    return "\n}\n".join(parts)


def _in_function(text: str) -> str:
    pieces = _LABEL.split(text)  # what stands before the first label; then labels and what follows each
    ends: dict[str, str] = {}  # of a block that was cut: where its last part begins
    count = 0
    for at in range(0, len(pieces), 2):
        if pieces[at].count("\n") > LENGTH:  # most are shorter, and stay as they are
            pieces[at], cuts = _cut(pieces[at], count)
            if cuts:
                count += cuts
                ends[pieces[at - 1] if at else ""] = f"onward.{count}"
    made = "".join(f"\n{piece}:" if at % 2 else piece for at, piece in enumerate(pieces))
    if not ends:
        return made

    def renamed(phi: re.Match[str]) -> str:
        return _FROM.sub(lambda found: f"%{ends.get(found[1], found[1])} ]", phi[0])

    return _PHI.sub(renamed, made)


def _cut(block: str, before: int) -> tuple[str, int]:
    """A block in parts, and how often it was cut; the parts are counted on from `before`."""
    lines: list[str] = []
    length, count = 0, 0
    for line in block.split("\n"):
        if line[:2] == "  " and line[2] != " " and not _FIRST.match(line):
            length += 1
            if length > LENGTH and not _LAST.match(line):
                count, length = count + 1, 1
                name = f"onward.{before + count}"
                lines += (f"  br label %{name}", f"{name}:")
        lines.append(line)
    return "\n".join(lines), count

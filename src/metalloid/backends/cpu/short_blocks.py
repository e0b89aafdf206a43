"""Blocks of few instructions, for machine code that is wanted soon.

LLVM's instruction selection takes a block at a time, and longer for each instruction of a long one: MLX's gemm of
bfloat in blocks of up to 1,500 took 2.4 s, and takes 0.8 s in blocks of 50.
"""

from __future__ import annotations

import re

LENGTH = 50
_FUNCTION = re.compile(r"^define [^\n]*\n.*?^}$", re.M | re.S)
_LABEL = re.compile(r"([\w.$-]+):")
_FIRST = re.compile(r"  (?:%\S+ = )?(?:phi|alloca) ")  # what only the start of a block may have
_LAST = re.compile(r"  (?:br|ret|switch|unreachable|resume)\b")
_PHI = re.compile(r"^  %\S+ = phi [^\n]*", re.M)
_FROM = re.compile(r"%([\w.$-]+) \]")


def short_blocks(text: str) -> str:
    """The same code; a block that is too long goes on in another."""
    return _FUNCTION.sub(lambda found: _in_function(found[0]), text)


def _in_function(text: str) -> str:
    lines: list[str] = []
    ends: dict[str, str] = {}  # of a block that was cut: where its last part begins
    block, length, count = "", 0, 0
    for line in text.split("\n"):
        if label := _LABEL.match(line):
            block, length = label[1], 0
        elif line.startswith("  ") and line[2] != " " and not _FIRST.match(line):
            length += 1
            if length > LENGTH and not _LAST.match(line):
                count, length = count + 1, 1
                ends[block] = f"onward.{count}"
                lines += (f"  br label %onward.{count}", f"onward.{count}:")
        lines.append(line)
    made = "\n".join(lines)
    if not ends:
        return made

    def renamed(phi: re.Match[str]) -> str:
        return _FROM.sub(lambda found: f"%{ends.get(found[1], found[1])} ]", phi[0])

    return _PHI.sub(renamed, made)

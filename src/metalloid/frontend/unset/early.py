"""Values that are read before a test and used behind it: the read stays where the author wrote it.

`float v = x[i]; if (i >= n) return;` reads past the end, and the optimiser moves the read behind the test, where no run
can see it. Before the optimiser such a read is given a use of its own, an empty piece of assembly, which goes when the
optimiser is done. A value is moved to the next block only, so blocks that end in a test are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOAD = re.compile(
    r"  (?P<name>%[\w.]+) = load (?P<type>float|half|bfloat|i\d+|<\d+ x \w+>), ptr addrspace\(1\) "
)
_COPY = re.compile(
    r"  call void @llvm\.memcpy\.p(?P<to>[05])\.p1\.i64\(ptr(?: addrspace\(5\))? [^%,]*(?P<place>%[\w.]+), "
)
_DEBUG = re.compile(r", !dbg !\d+")
_TEST = "  br i1 "
_USE = 'call void asm sideeffect "", "r"'
_USED = re.compile(rf"^  (?:tail )?{re.escape(_USE)}\(.*\n", re.M)


def kept(ir: str) -> str:
    """The module before the optimiser, with uses of what is read in front of a test."""
    made: list[str] = []
    block: list[str] = []
    for line in ir.splitlines(keepends=True):
        if line.startswith("  "):
            block.append(line)
            continue
        made += _with_uses(block)
        block = []
        made.append(line)
    return "".join([*made, *_with_uses(block)])


def _with_uses(block: list[str]) -> list[str]:
    if not any(line.startswith(_TEST) for line in block[-1:]):
        return block
    return [each for n, line in enumerate(block) for each in (line, *_use(n, line))]


def _use(number: int, line: str) -> Iterator[str]:
    debug = _DEBUG.search(line)
    end = f"{debug[0] if debug else ''}\n"
    if load := _LOAD.match(line):
        yield f"  {_USE}({load['type']} {load['name']}){end}"
    elif copy := _COPY.match(line):
        space, name = " addrspace(5)" if copy["to"] == "5" else "", f"%mt_k{number}.{copy['place'][1:]}"
        yield f"  {name} = load i8, ptr{space} {copy['place']}, align 1{end}"
        yield f"  {_USE}(i8 {name}){end}"


def without_uses(ir: str) -> str:
    return _USED.sub("", ir)

"""Values that are read before a test and used behind it: the read stays where the author wrote it.

`float v = x[i]; if (i >= n) return;` reads past the end, and the optimiser moves the read behind the test, where no run
can see it, or leaves it out, in device and in threadgroup memory. Before the optimiser such a read is given a use of
its own, an empty piece of assembly, which goes when the optimiser is done. A value is moved to the next block only, so
blocks that end in a test are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from itertools import count

_LOAD = re.compile(
    r"  (?P<name>%[\w.]+) = load (?P<type>float|half|bfloat|i\d+|<\d+ x \w+>), ptr addrspace\([13]\) "
)
_COPY = re.compile(
    r"  call void @llvm\.memcpy\.p(?P<to>[05])\.p[013]\.i64\(ptr(?: addrspace\(5\))? [^%,]*(?P<place>%[\w.]+), "
    r"ptr(?P<shared> addrspace\([13]\))? (?:align (?P<align>\d+) )?[^%,]*(?P<of>%[\w.]+), i64 (?P<bytes>\d+),"
)
_CAST = re.compile(r"  (?P<name>%[\w.]+) = addrspacecast ptr addrspace\([13]\) ")
_DEBUG = re.compile(r", !dbg !\d+")
_TEST = "  br i1 "
USE = 'call void asm sideeffect "", "r"'
_QUIET = "nounwind willreturn memory(inaccessiblemem: readwrite)"  # a read in a loop may still move out of it
_USED = re.compile(rf"^  (?:tail )?{re.escape(USE)}\(.*\n", re.M)
# A place that nothing is behind: null, or as many bytes from it.
_NOWHERE = r"null|inttoptr \(i64 \d+ to ptr addrspace\([13]\)\)|getelementptr \([^%]*? null, [^%]*?\)"
_MADE = re.compile(
    r"  (?P<name>%[\w.]+) = (?:(?:(?P<how>getelementptr) .*?|load [^,]*), ptr addrspace\([13]\) |bitcast \S+ )"
    rf"(?P<of>{_NOWHERE}|%[\w.]+)"
)
_NAME = re.compile(r"%[\w.]+")
_NOTE = re.compile(r"^    #dbg_.*\n", re.M)


def kept(ir: str) -> str:
    """The module before the optimiser, with uses of what is read in front of a test."""
    made: list[str] = []
    block: list[str] = []
    numbers = count()
    for line in ir.splitlines(keepends=True):
        if line.startswith("  "):
            block.append(line)
            continue
        made += _with_uses(block, numbers)
        block = []
        made.append(line)
    return "".join([*made, *_with_uses(block, numbers)])


def _with_uses(block: list[str], numbers: Iterator[int]) -> list[str]:
    if not any(line.startswith(_TEST) for line in block[-1:]):
        return block
    shared = {cast["name"] for line in block if (cast := _CAST.match(line))}  # vectors are copied from there
    return [each for line in block for each in (line, *_use(numbers, line, shared))]


def _use(numbers: Iterator[int], line: str, shared: Set[str]) -> Iterator[str]:
    debug = _DEBUG.search(line)
    end = f"{debug[0] if debug else ''}\n"
    if load := _LOAD.match(line):
        yield f"  {USE}({load['type']} {load['name']}) {_QUIET}{end}"
    elif (copy := _COPY.match(line)) and (copy["shared"] or copy["of"] in shared):
        space, name = " addrspace(5)" if copy["to"] == "5" else "", f"%mt_k.{next(numbers)}"
        each = min(int(copy["align"] or 1), int(copy["bytes"]), 4)  # as its parts are read
        yield f"  {name} = load i{8 * each}, ptr{space} {copy['place']}, align 1{end}"
        yield f"  {USE}(i{8 * each} {name}) {_QUIET}{end}"


def without_uses(ir: str) -> str:
    """The module behind the optimiser, and nothing of what was added to it.

    Where a parameter is switched off by a function constant its reference is null. Passing its value on to a function
    that does not use it is no read of the author's: Metal's compiler leaves it out, and here it would be kept by its
    use alone.
    """
    ir = _USED.sub("", ir)
    nowhere: set[str] = set()
    read: dict[str, str] = {}  # what was read from nowhere, or cast from that: its line
    for line in ir.splitlines():
        made = _MADE.match(line)
        if made is not None and (made["of"][0] != "%" or made["of"] in nowhere or made["of"] in read):
            if made["how"] == "getelementptr":
                nowhere.add(made["name"])
            else:
                read[made["name"]] = line
    if not read:
        return ir
    used = Counter(name for name in _NAME.findall(_NOTE.sub("", ir)) if name in read)
    gone: set[str] = set()
    for name, line in reversed(read.items()):
        if used[name] == 1:
            gone.add(name)
            used.subtract(_NAME.findall(line))
    return "".join(
        line for line in ir.splitlines(keepends=True) if not gone.intersection(_NAME.findall(line))
    )

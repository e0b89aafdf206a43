"""Drop from a module what only the front end needed: describing variables, most debug info.

What stays is what a message needs: for each instruction its line, file and inlined callers.
Clang's full debug info is ten times the size of the code, and every later stage would read it.
"""

from __future__ import annotations

import re

from metalloid.frontend.names import LIMIT, SIGNATURE
from metalloid.patterns import pattern

_NODE = pattern(r"^!(\d+) = (.*)$", re.MULTILINE)
_REFERENCE = pattern(r"!(\d+)")
_HEAVY = pattern(
    r", (?:type|retainedNodes|declaration|templateParams|containingType|thrownTypes|globals|imports|enums"
    r"|retainedTypes|nameTableKind|annotations): (?:!\d+|None|\w+)"
)
_LIGHT = pattern("(?:distinct )?!DILocation")  # nearly all of them
_DEBUG_RECORD = pattern(r"\n    #dbg_.*")
_CARRIERS = pattern(rf"^@(?:llvm\.(?:compiler\.)?used|\S*(?:{SIGNATURE}|{LIMIT})) = .*\n", re.MULTILINE)
# What clang adds for a sanitizer whose attribute alone is wanted (see clang.CHECKED).
_SANITIZER = pattern(
    r"^(?:@llvm\.(?:used|global_ctors) = .*\n|declare void @__tsan_init\(\).*\n"
    r"|define internal void @tsan\.module_ctor\(\)[^{]*\{\n(?:[^}].*\n|\n)*\}\n)",
    re.MULTILINE,
)
_TYPE = pattern(r'^(%(?:"[^"]*"|[\w.$-]+)) = type .*\n', re.MULTILINE)
_NAMED = pattern(r'%(?:"[^"]*"|[\w.$-]+)')
_ENDS = r"(?![\w.$-])"  # behind a name
_GLOBAL_DEBUG = pattern(r"^(@.*), !dbg !\d+$", re.MULTILINE)
_AMDGPU = pattern(r", !amdgpu\.[a-z.]+ !\d+")


def slim(ir: str) -> str:
    """The same module without what nobody reads again."""
    start = ir.find("\n!")
    code, metadata = (ir[: start + 1], ir[start + 1 :]) if start >= 0 else (ir, "")
    code = _DEBUG_RECORD.sub("", code)
    if "tsan.module_ctor" in code:
        code = _SANITIZER.sub("", code)
    at = code.find("\ndefine ") + 1  # types and variables stand before all functions
    head, body = code[:at], _AMDGPU.sub("", code[at:])
    head = _GLOBAL_DEBUG.sub(r"\1", _CARRIERS.sub("", head))
    code = _without_unused_types(head, body) + body
    return code + _reachable_metadata(code, metadata)


def _without_unused_types(head: str, body: str) -> str:
    """The head; struct types are named by instructions, or by other struct types that stay."""
    definitions = {m[1]: m[0] for m in _TYPE.finditer(head)}
    rest = _TYPE.sub("", head)
    needed: set[str] = set()
    todo = [
        n
        for n in definitions
        if (named := re.compile(re.escape(n) + _ENDS)).search(body) or named.search(rest)
    ]
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [n for n in _NAMED.findall(definitions[name].split(" = ", 1)[1]) if n in definitions]
    return _TYPE.sub(lambda m: m[0] if m[1] in needed else "", head)


def _reachable_metadata(code: str, metadata: str) -> str:
    """Named metadata and the nodes that the code reaches."""
    nodes = {m[1]: m[2] if _LIGHT.match(m[2]) else _HEAVY.sub("", m[2]) for m in _NODE.finditer(metadata)}
    named = [line for line in metadata.splitlines() if line.startswith("!llvm.")]
    named = [line for line in named if line.startswith(("!llvm.dbg.cu", "!llvm.module.flags"))]
    needed: set[str] = set()
    todo = {*_REFERENCE.findall(code), *_REFERENCE.findall("\n".join(named))} & nodes.keys()
    while todo:  # a generation at a time: most nodes are asked for by the code itself
        needed |= todo
        todo = set(_REFERENCE.findall("\n".join(nodes[number] for number in todo))) & nodes.keys() - needed
    kept = [f"!{number} = {nodes[number]}" for number in sorted(needed, key=int)]
    return "\n".join([*named, "", *kept]) + "\n"

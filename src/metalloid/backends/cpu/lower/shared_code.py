"""Code that is the same at many places of a kernel: a function of its own where machine code is wanted soon.

A kernel that multiplies matrices of 8 x 8 has hundreds of products, loads and stores of them, each of which is some
dozens of vector instructions. Good code has them where they are; baseline code calls them, and LLVM has each to compile
once (MLX's attention: 35,700 lines of vector code in its place, and 2.8 s of LLVM).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalloid.backends.cpu.lower.text import Text

Write = Callable[[Text, Sequence[str]], Sequence[str]]  # code for some values; what it gives


def shared(
    e: Text, name: str, results: Sequence[str], given: Sequence[tuple[str, str]], write: Write
) -> list[str]:
    """What `write` gives for some values (types and names), here or by a call; all that it writes is in the name."""
    if not e.out.brief:
        return list(write(e, [ref for _, ref in given]))
    if name not in e.out.helpers:
        e.out.helpers[name] = _function(e, name, results, [kind for kind, _ in given], write)
    call = f"call {_kind(results)} @{name}({', '.join(f'{kind} {ref}' for kind, ref in given)})"
    if not results:
        e.do(call)
        return []
    made = e.put(call)
    return [e.put(f"extractvalue {_kind(results)} {made}, {n}") for n in range(len(results))]


def _kind(results: Sequence[str]) -> str:
    return "{ " + ", ".join(results) + " }" if results else "void"


def _function(e: Text, name: str, results: Sequence[str], kinds: Sequence[str], write: Write) -> str:
    body = Text(e.out)
    names = [f"%p{n}" for n in range(len(kinds))]
    made = "poison"
    for n, (kind, ref) in enumerate(zip(results, write(body, names), strict=True)):
        made = body.put(f"insertvalue {_kind(results)} {made}, {kind} {ref}, {n}")
    body.do(f"ret {_kind(results)} {made}" if results else "ret void")
    parameters = ", ".join(f"{kind} {p}" for kind, p in zip(kinds, names, strict=True))
    head = f"define internal {_kind(results)} @{name}({parameters}) noinline nounwind {{"
    return "\n".join([head, *body.allocas, *body.lines, "}", ""])

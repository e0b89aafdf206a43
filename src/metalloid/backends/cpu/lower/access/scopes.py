"""What a launch knows of its buffers, told to LLVM: where no memory is bound twice, what is stored to one buffer is not
what is loaded from another. A thread that runs alone writes rows in loops: without that, each row of each thread asks
first whether it overlaps what it is made from, and a number of its own is loaded again after each store."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.output import Output

_DOMAIN = 10  # of nodes of the text, then: a buffer's own, the list of it alone, the list of all others
_OWN, _ALONE, _OTHERS = 100, 200, 300


def told(e: Emitter, place: MemRef) -> str:
    """What is written behind an access that is inside its buffer."""
    if not e.out.apart or e.width > 1 or not e.proved or place.root.kind != "buffer":
        return ""
    n = place.root.index
    e.out.scopes.add(n)
    return f", !alias.scope !{_ALONE + n}, !noalias !{_OTHERS + n}"


def nodes(out: Output) -> list[str]:
    """Of a module's text, the nodes that its accesses name."""
    if not out.scopes:
        return []
    made = [f"!{_DOMAIN} = distinct !{{!{_DOMAIN}}}"]
    for n in sorted(out.scopes):
        others = ", ".join(f"!{_OWN + m}" for m in sorted(out.scopes - {n}))
        made += [
            f"!{_OWN + n} = distinct !{{!{_OWN + n}, !{_DOMAIN}}}",
            f"!{_ALONE + n} = !{{!{_OWN + n}}}",
            f"!{_OTHERS + n} = !{{{others}}}",
        ]
    return made

"""Long sums that all lanes share: the parts of all SIMD-groups, which every thread adds up behind a barrier.

Each addition would wait for the one before it: 32 of them are 128 cycles in which nothing else can be done. Where the
author leaves the order open, numbers that a block makes are added up by halves, and what it was given (the sum of the
rounds before) comes last. Only in kernels with barriers, whose threads never run alone: all code of a kernel adds up in
one order.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.ir import Instruction
from metalloid.ir.values import Local, Value
from metalloid.transforms.folds import SUM
from metalloid.transforms.sum_trees import chains

LEAST = 8  # numbers


def shared_sum(e: Emitter, i: Instruction) -> str | None:
    """The last addition of such a sum, with all of it; None where it is not one."""
    if e.width == 1 or not e.out.barriers or i.opcode != "fadd":
        return None
    if e.shared is None:
        e.shared = _found(e)
    addends = e.shared.get(i.name)
    if addends is None:
        return None
    made = [o for o in addends if isinstance(o, Local) and e.function.home[o.name] == e.block]
    parts = [e.scalar(o) for o in made if not _is_phi(e, o)]
    kind = lowered(i.type)
    while len(parts) > 1:
        half = len(parts) // 2
        odd = parts[2 * half :]
        parts = [e.put(f"fadd {kind} {parts[n]}, {parts[n + half]}") for n in range(half)] + odd
    for other in (o for o in addends if o not in made or _is_phi(e, o)):
        parts = [e.put(f"fadd {kind} {parts[0]}, {e.scalar(other)}")]
    return parts[0]


def _is_phi(e: Emitter, value: Value) -> bool:
    return isinstance(value, Local) and e.function.definitions[value.name].opcode == "phi"


def _found(e: Emitter) -> dict[str, tuple[Value, ...]]:
    """What each sum adds up, by its last addition."""
    found: dict[str, tuple[Value, ...]] = {}
    for block, sums in chains(e.function):
        for chain in sums:
            names = {*chain.inner, chain.last.made.name}
            plain = all(i.opcode == "fadd" for i in block.instructions if i.name in names)
            own = [o for o in chain.addends if isinstance(o, Local) and e.function.home[o.name] == block.name]
            own = [o for o in own if not _is_phi(e, o)]
            shape = e.shape(chain.last.made.value)
            shared = shape is not None and shape.uniform and chain.last.kind == SUM
            if plain and shared and len(own) >= LEAST:
                found[chain.last.made.name] = chain.addends
    return found

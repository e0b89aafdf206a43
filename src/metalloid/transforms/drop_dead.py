"""Results that nobody reads, and what only they were made from."""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import Effect, effect, is_reload


def drop_dead(function: Function) -> Function:
    """Without results that nobody reads, and what only they were made from."""
    count: dict[str, int] = {}
    for i in function.instructions():
        for name in i.uses:
            count[name] = count.get(name, 0) + 1
    dead: set[str] = set()
    work = [i for i in function.instructions() if i.name and not count.get(i.name)]
    while work:
        i = work.pop()
        if i.name in dead or not _removable(i):
            continue
        dead.add(i.name)
        for name in i.uses:
            count[name] -= 1
            if not count[name] and name in function.definitions:
                work.append(function.definitions[name])
    if not dead:
        return function
    return function.with_blocks(
        tuple(Block(b.name, tuple(i for i in b.instructions if i.name not in dead)) for b in function.blocks)
    )


def _removable(i: Instruction) -> bool:
    """Kept values stay: shapes of others name them."""
    if i.is_terminator or "volatile" in i.flags or is_reload(i.called):
        return False
    return effect(i) in (Effect.NONE, Effect.READS)

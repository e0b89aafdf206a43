"""Pointers that lead to one of several address spaces: chosen by a condition, kept in an array, walked with."""

from __future__ import annotations

from tests.engine.fuzz.frame import MOST
from tests.engine.fuzz.writer import INTS, Place, Writer

WORDS = 4  # of each thread, in each space


def write(w: Writer, place: Place) -> None:
    name, n = w.fresh("any"), w.fresh("n")
    w.begins.append(f"threadgroup uint near_{name}[{MOST * WORDS}];")
    own = f"own_{name}"
    w.line(place, f"uint {own}[{WORDS}] = {{u0, {w.integer(2)}, u2, i}};")
    w.line(
        place,
        f"for (uint {n} = 0; {n} < {WORDS}; {n}++) near_{name}[t * {WORDS} + {n}] = {w.integer(2)} + {n};",
    )
    spaces = [f"(uint*)(mine + {w.row} * 8)", f"(uint*)(near_{name} + t * {WORDS})", f"(uint*){own}"]
    writing = w.chance(2)
    if not writing:
        spaces.append(f"(uint*)(far + {w.pick(('i', 'N - 1 - i', 'lane'))})")
    _choose(w, place, name, w.random.sample(spaces, w.choose(2, len(spaces))))
    if writing:
        w.line(place, f"{name}[{w.integer(2)} & {WORDS - 1}u] {w.pick(('=', '+=', '^='))} {w.integer(1)};")
    target = w.pick(INTS)
    if w.chance(2):
        w.line(place, f"for (uint {n} = 0; {n} < {WORDS}; {n}++) {target} = {target} * 3 + *{name}++;")
    else:
        w.line(
            place,
            f"{target} ^= {name}[{w.integer(2)} & {WORDS - 1}u] + {own}[{w.integer(2)} & {WORDS - 1}u];",
        )


def _choose(w: Writer, place: Place, name: str, spaces: list[str]) -> None:
    if len(spaces) == 2:
        test = w.uniform() if w.chance(3) else w.condition()
        w.line(place, f"uint* {name} = {test} ? {spaces[0]} : {spaces[1]};")
    elif w.chance(2):
        w.line(place, f"uint* table_{name}[{len(spaces)}] = {{{', '.join(spaces)}}};")
        w.line(place, f"uint* {name} = table_{name}[{w.integer(1)} % {len(spaces)}u];")
    else:
        w.line(place, f"uint* {name} = {spaces[0]};")
        w.line(place, *(f"if ({w.condition()}) {name} = {space};" for space in spaces[1:]))

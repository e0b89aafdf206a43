"""Branches, loops and switches around other features; flags that are asked again and again."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.fuzz.writer import INTS, Place, Writer

Body = Callable[[Writer, Place], None]


def assign(w: Writer, place: Place) -> None:
    what = w.choose(0, 5)
    if what == 0:
        w.line(place, f"{w.pick(('f0', 'f1'))} = {w.real()};")
    elif what == 1:
        w.line(
            place,
            f"out[{w.pick(('i', 'ulong(i)'))} * 8 + {w.choose(0, 3)}] {w.pick(('=', '+=', '^='))} {w.integer()};",
        )
    else:
        w.line(place, f"{w.pick(INTS)} {w.pick(('=', '=', '+=', '^='))} {w.integer()};")


def flag(w: Writer, place: Place) -> None:
    """A bool that later branches ask again."""
    name = w.fresh("flag")
    w.line(place, f"const bool {name} = {w.condition()};")
    if place.indent == 1:
        w.flags.append(name)


def branch(w: Writer, place: Place, body: Body) -> None:
    uniform = w.chance(3)
    with w.block(place, f"if ({w.uniform() if uniform else w.condition()})", meet=uniform) as below:
        body(w, below)
    if w.chance(2):
        with w.block(place, "else", meet=uniform) as below:
            body(w, below)


def loop(w: Writer, place: Place, body: Body) -> None:
    n, uniform = w.fresh("n"), w.chance(2)
    limit = w.pick(("args[0] % 4", "2", "3")) if uniform else f"({w.integer(2)} & 3u)"
    head = w.pick(
        (f"for (uint {n} = 0; {n} < {limit}; {n}++)", f"for (int {n} = int({limit}); {n} > 0; {n} -= 1)",
         f"for (ulong {n} = 0; {n} < {limit}; {n} += 1)", f"for (long {n} = long({limit}) - 1; {n} >= 0; {n}--)")
    )  # fmt: skip
    with w.block(place, head, meet=uniform, loop=True) as below:
        leaves = w.chance(4)
        if leaves:
            below = Place(below.indent, False, True)  # some may be gone: nobody meets here
            w.line(below, f"if ({w.condition()}) {w.pick(('break', 'continue'))};")
        body(w, below)
    if w.chance(3):
        w.line(place, f"{w.pick(INTS)} += far[{w.index()}];")


def switch(w: Writer, place: Place, body: Body) -> None:
    uniform = w.chance(3)
    what = "args[1] % 4" if uniform else f"{w.integer(1)} % 4"
    w.line(place, f"switch ({what}) {{")
    for case in range(w.choose(1, 3)):
        w.line(place, f"case {case}: {{")
        body(w, Place(place.indent + 1, False, False))
        w.line(place, "}" + (" break;" if w.choose(0, 2) else ""))
    w.line(place, f"default: {w.pick(INTS)} += 3;", "}")

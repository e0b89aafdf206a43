"""Loops that ask behind a round whether there is another, and how many there are is in the data: lists that lead from
one element to the next, numbers that are halved until nothing is left, rounds counted by what was read.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import Place, Writer

MOST = 12  # rounds
COUNTS = (
    *(
        "(a[i] & 7u)",
        "few",
        "(uint(raw[i]) >> 5)",
        "uint(starts[i + 1] - starts[i]) % 9u",
        "(i % 5u)",
        "args[0]",
    ),
    *("(uint(columns[i]) & 3u)", "0u", "(t & 3u)", "pos.x / 4 % 7u"),
)


def write(w: Writer, place: Place) -> None:
    w.pick((_counted, _counted, _followed, _halved))(w, place)


def _counted(w: Writer, place: Place) -> None:
    """A row whose number of rounds is looked up, one of them at least."""
    n, s, most = w.fresh("n"), w.fresh("s"), w.fresh("most")
    whole = w.chance(3)
    kind, reads = ("uint", rows.WHOLES) if whole else ("float", rows.REALS)
    w.line(place, f"uint {n} = 0; {kind} {s} = 0; const uint {most} = {w.pick(COUNTS)};")
    at = w.pick(("i * 16 + {n}", "{n} * N + i", "i + {n}", "(N - 1 - i) * 16 + 15 - {n}")).format(n=n)
    x, y = w.pick(reads).format(at), w.pick(reads).format(w.pick((f"columns[{at}]", at, n)))
    with _rounds(w, place, w.pick((f"++{n} < {most}", f"++{n} <= {most} && {n} < {MOST}"))) as below:
        if w.chance(4):
            w.line(below, f"if ({x} == {y}) break;")
        w.line(below, w.pick((f"{s} += {x} * {y};", f"{s} += {x};", f"{s} = max({s}, {y});")))
        if w.chance(4) and (own := rows.room(w)) is not None:
            value = s if whole else f"uint(int({s} * 16.0f))"
            w.line(below, f"{own}[i * {rows.ROOM} + min({n}, 3u)] = {value};")
    rows.show(w, place, s, kind)
    if w.chance(2):
        rows.show(w, place, n, "uint")


def _followed(w: Writer, place: Place) -> None:
    """A list: what was read says where the next element is."""
    at, n, s = w.fresh("at"), w.fresh("n"), w.fresh("s")
    x = w.pick(rows.REALS)
    first = w.pick(("columns[i]", "int(i)", "int(raw[i])", "columns[N - 1 - i]"))
    w.line(place, f"int {at} = {first}; uint {n} = 0; float {s} = 0;")
    ends = w.pick((f"{at} > {w.choose(3, 500)}", f"({at} & {w.choose(1, 7)}) != 0", f"fs[{at}] > -6.0f"))
    with _rounds(w, place, f"++{n} < {MOST} && {ends}", f"{ends} && {n}++ < {MOST}") as below:
        w.line(below, f"{s} += {x.format(at)};")
        w.line(below, f"{at} = {w.pick(('columns[' + at + ']', f'(columns[{at} * 2 + 1] + {at}) & 511'))};")
    rows.show(w, place, s, "float")
    rows.show(w, place, at, "int")


def _halved(w: Writer, place: Place) -> None:
    """Bits one by one, from below or from above."""
    left, s = w.fresh("left"), w.fresh("s")
    w.line(
        place,
        f"uint {left} = {w.pick(('a[i]', 'uint(columns[i])', 'i', 'few', 'a[N - 1 - i] >> 16'))}, {s} = 0;",
    )
    step = w.pick((f"{left} &= {left} - 1;", f"{left} >>= {w.choose(1, 4)};", f"{left} /= 10;"))
    with _rounds(w, place, f"{left} != 0", f"{left} > {w.choose(0, 3)}u") as below:
        read = w.pick((f"{left} & 255u", f"far[{left} & 1023u]", f"uint(raw[ctz({left} | 1024u)])"))
        w.line(below, f"{s} = {s} * {w.pick((1, 3))} + ({read});", step)
    rows.show(w, place, s, "uint")


def _rounds(w: Writer, place: Place, *tests: str) -> AbstractContextManager[Place]:
    """Rounds of a loop that mostly asks behind them; the last of the tests is for one that asks before."""
    if len(tests) > 1 and w.chance(3):
        return w.block(place, f"while ({tests[-1]})", loop=True)
    return w.rounds(place, tests[0])

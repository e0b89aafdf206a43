"""Loops that count in few bits: a counter that goes round on its way to the limit, one that starts there, steps that
pass it by. Places that a counter moves one way and an index the other. Rows that are read after they are written.
"""

from __future__ import annotations

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import Place, Writer

# Of a counter: its type, whether it may go round, and what makes it a place below 256.
COUNTERS = (
    *(("uchar", True, "{j}"), ("uchar", True, "uchar({j})"), ("char", True, "128 + int({j})")),
    *(
        ("ushort", False, "{j}"),
        ("uint", False, "uchar({j})"),
        ("int", False, "128 + {j}"),
        ("int", False, "{j}"),
    ),
)
FOLDS = (
    "{s} += {x};",
    "{s} += {x} * {y};",
    "{s} = max({s}, {x});",
    "{s} += {x} * float(min({kind}({j}), {kind}(5)));",
)
NUMBERS = ("250", "130", "0", "255", "3", "66", "20")
NUMBER = "uchar({a} + {n})"  # which clang does not know
# Rows of sixteen bytes of each thread, each in a buffer of its own; the first has places to itself.
OTHERS = ("((device uchar*)wout)[i * 16 + {}]", "((device uchar*)out)[i * 32 + {}]")
ALL = 4  # regions of `vecs`: together 128 bytes of each thread


def write(w: Writer, place: Place) -> None:
    what = w.choose(0, 4)
    if what == 0:
        _there_and_back(w, place)
    elif what == 4 and (base := rows.region(w)) is not None:
        _read_again(w, place, base)
    elif what == 1 and (base := rows.region(w, ALL)) is not None:
        _written(w, place, base)
    else:
        _sums(w, place)


def _head(w: Writer, place: Place) -> tuple[str, str, str, bool]:
    """A counter and its end: their names, what makes the counter a place, and whether the counter may go round."""
    kind, turns, at = w.pick(COUNTERS)
    j, end = w.fresh("j"), w.fresh("end")
    a = w.pick(("args[0]", "args[0]", "args[1]"))
    start, stop = (NUMBER.format(a=a, n=w.pick(NUMBERS)) for _ in range(2))
    if at.startswith("128"):
        start, stop = f"char({start} - 128)", f"char({stop} - 128)"
    w.line(place, f"{kind} {j} = {start}, {end} = {stop};")
    if not turns:
        w.line(place, f"if ({j} >= {end}) {end} = {j} + 1;")
    return j, end, at.format(j=j), turns


def _sums(w: Writer, place: Place) -> None:
    j, end, at, turns = _head(w, place)
    s, more = w.fresh("s"), w.fresh("s")
    own = w.pick(("i * 16 + ", "i * 31 + "))
    x, y = w.pick(rows.REALS).format(f"{own}{at}"), w.pick(rows.REALS).format(w.pick((at, f"{own}{at}")))
    w.line(place, f"float {s} = 0, {more} = {w.pick(('0', '-64'))};")
    with w.rounds(place, f"{j} {'!=' if turns or w.chance(2) else '<'} {end}") as below:
        for sum, first, second in ((s, x, y), (more, y, x)):
            if sum is s or w.chance(2):
                kind = w.pick(("int", "uint", "ushort"))
                w.line(below, w.pick(FOLDS).format(s=sum, x=first, y=second, j=j, kind=kind))
        w.line(below, f"{j}++;")
    rows.show(w, place, s, "float")
    rows.show(w, place, more, "float")


def _written(w: Writer, place: Place, base: str) -> None:
    """256 bytes of each second thread; of three that each round writes, all stay in them."""
    j, end, at, turns = _head(w, place)
    step = w.pick((1, 1, 1, 3, 4)) if turns else 1
    to = f"((device uchar*){base})[i * 256 + {{}}]"
    own = w.pick(("", "i * 16 + ", "i * 31 + "))
    x = w.pick((*rows.REALS, "float(raw[{}] + 7u)"))
    with (
        w.block(place, "if (i < N / 2)") as inside,
        w.rounds(inside, f"{j} {'!=' if turns and step != 4 else '<'} {end}") as below,
    ):
        for n in range(step):
            here = at if step == 1 else f"uchar({j} + {n})"
            w.line(below, f"{to.format(here)} = uchar(int({x.format(own + here)}));")
        w.line(below, f"{j} += {step};")
        if step == 4:
            w.line(below, f"if ({j} < 4) break;")


def _there_and_back(w: Writer, place: Place) -> None:
    """A pointer that goes up and an index that goes down, or the other way."""
    j, p, s = w.fresh("j"), w.fresh("p"), w.fresh("s")
    count, c = w.pick(("19", "args[0] + 1", "4", "40")), w.choose(0, 5)
    up, down = (f"fs + {j}", f"[{c} + int(i) + int(N) - {j}]"), (f"fs + (64 - {j})", f"[{c} + {j}]")
    start, index = w.pick((up, down))
    with w.block(place, f"float {s} = 0; for (int {j} = 0; {j} < int({count}); {j}++)", loop=True) as below:
        w.line(below, f"const device float* {p} = {start};")
        w.line(below, f"{s} += {p}{index} + {w.pick(rows.REALS).format(f'i * 16 + {j}')};")
    rows.show(w, place, s, "float")


def _read_again(w: Writer, place: Place, base: str) -> None:
    """Three rows: what a round stores in the first, before or after it stores in the second, goes into the third."""
    j, count = w.fresh("j"), w.pick(("args[0] % 17", "args[1] % 17", "min(N, 16u)", "16"))
    first, (second, third) = f"((device uchar*){base})[i * 32 + {{}}]", w.pick((OTHERS, OTHERS[::-1]))
    at = w.pick((j, j, f"15 - {j}"))
    x = w.pick(rows.REALS).format(f"i * 16 + {j}")
    steps = [
        f"{first.format(at)} = uchar(int({x}));",
        f"{second.format(j)} = uchar({j} * 3);",
        f"{third.format(w.pick((j, at)))} = uchar({first.format(at)} + {w.choose(1, 9)});",
    ]
    order = w.pick(((0, 1, 2), (0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0)))
    if w.chance(3):
        w.line(place, f"float s{j} = 0;")
        with w.block(place, f"for (int {j} = 0; {j} < int({count}); {j}++)", loop=True) as below:
            w.line(below, f"s{j} += {x};")
        rows.show(w, place, f"s{j}", "float")
    with w.block(place, f"for (int {j} = 0; {j} < int({count}); {j}++)", loop=True) as below:
        for n in order:
            w.line(below, steps[n])

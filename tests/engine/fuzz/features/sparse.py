"""Sums over rows of sparse matrices: from `starts[row]` to `starts[row + 1]`, of values and of what columns lead to.

Rows have any length, and some are empty. Loops go up and down, by ones, twos and threes, ask before a round or behind
it, are left early and skip rounds; they add up to three sums, and some store or count on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import Place, Writer

# Type, what it starts from, what a round does with a value `v` and with `x`, which is looked up.
REAL_SUMS = (
    *((("float", "0.0f", "{s} += {v} * {x};"),) * 6),
    *(("float", "0.0f", form) for form in ("{s} += {x};", "{s} += {v};", "{s} -= {v} * {x};", "{s} += {y};")),
    *(
        ("float", "0.0f", form)
        for form in ("{s} += {x} * {y};", "{s} = fma({v}, {x}, {s});", "{s} += {v} - {x};")
    ),
    *(("float", "0.0f", form) for form in ("{s} += fabs({x});", "{s} += {x} > {v} ? {x} : {v};")),
    *(("float", "-4000.0f", form) for form in ("{s} = max({s}, {x});", "{s} = max({s}, {v} * {x});")),
    ("float", "b[i]", "{s} += {v} * {x};"),
    ("half", "0.0h", "{s} += hs[{at}];"),
    ("half", "0.0h", "{s} = max({s}, hs[{at}]);"),
)
WHOLE_SUMS = (
    *(("uint", "0u", form) for form in ("{s} += {v} * {x};", "{s} ^= {x};", "{s} = max({s}, {x});")),
    *(("uint", "u0", form) for form in ("{s} += {x} > {v} ? 1u : 0u;", "{s} = {s} * 3 + {x};")),
    *(("int", "0", form) for form in ("{s} += int({v}) * int({x});", "{s} = min({s}, int({x}));")),
    *((kind, "0", "{s} += {kind}({x});") for kind in ("ushort", "uchar", "short", "ulong")),
    ("ulong", "0", "{s} += ulong({v}) * {x};"),
)
ROWS = (*rows.OWN, "(i / 2)", "(i % min(N, 7u))", "(uint(columns[i]) % N)")
TESTS = (
    *(
        "{x} > {c}",
        "{v} <= {c}",
        "{x} != {v}",
        "{at} > 20",
        "({at} & 3) != 1",
        "{at} < 700",
        "{k} != {end} - 1",
    ),
    *("{x} < {y}", "{v} > {c}"),
)
ADD = "atomic_fetch_add_explicit({}, {}, memory_order_relaxed);"


@dataclass(frozen=True)
class Row:
    """One loop: its counter, whose it is, and what it reads in a round."""

    k: str
    end: str
    at: str  # the place that is looked up
    v: str
    x: str
    y: str
    whole: bool  # numbers without fractions
    alone: bool  # no other thread has these elements


def write(w: Writer, place: Place) -> None:
    begin, end, k, own = w.fresh("begin"), w.fresh("end"), w.fresh("k"), w.fresh("row")
    row = w.pick(ROWS)
    kind = w.pick(("int", "int", "int", "uint", "long", "ulong", "ushort"))
    w.line(place, f"const uint {own} = {row};")
    w.line(place, f"const {kind} {begin} = {kind}(starts[{own}]), {end} = {kind}(starts[{own} + 1]);")
    last = f"{kind}(starts[{own} + 1])" if w.chance(2) else end
    heads, index, tails, once = _loop(w, kind, k, begin, last)
    made = _row(w, place, index, end, row in rows.OWN and not once)
    sums = [_sum(w, made) for _ in range(w.pick((1, 1, 1, 2, 2, 3)))]
    for name, kind, start, _ in sums:
        w.line(place, f"{kind} {name} = {start};")
    w.line(place, *heads)
    within = Place(place.indent + 1, False, True)
    _body(w, within, made, [text for *_, text in sums], heads[-1].startswith("for"))
    w.line(within, *tails[:-1])
    w.line(place, tails[-1])
    for name, kind, *_ in sums:
        rows.show(w, place, name, kind)
    if w.chance(4):
        w.line(place, ADD.format(f"&counts[{w.pick(('i', 'uint(' + end + ')', 'lane'))} & 63u]", "1u"))


def _loop(w: Writer, kind: str, k: str, begin: str, end: str) -> tuple[list[str], str, list[str], bool]:
    """How a loop begins, which element a round is about, how it ends, whether its first round runs in any case."""
    what = w.choose(0, 11)
    if what <= 3:
        return [f"for ({kind} {k} = {begin}; {k} < {end}; {k}++) {{"], k, ["}"], False
    if what == 4:
        step = w.choose(2, 3)
        return [f"for ({kind} {k} = {begin}; {k} < {end}; {k} += {step}) {{"], k, ["}"], False
    if what == 5:
        return [f"for ({kind} {k} = {begin}; {k} != {end}; {k}++) {{"], k, ["}"], False
    if what == 6:
        return [f"for (long {k} = long({end}) - 1; {k} >= long({begin}); {k}--) {{"], k, ["}"], False
    if what == 7:
        return [f"for ({kind} {k} = {end}; {k}-- > {begin};) {{"], k, ["}"], False
    if what == 8:
        step = w.pick(("++", "++", " += 2"))
        return [f"{kind} {k} = {begin};", f"while ({k} < {end}) {{"], k, [f"{k}{step};", "}"], False
    if what == 9:
        return [f"for ({kind} {k} = {end}; {k} > {begin}; {k}--) {{"], f"({k} - 1)", ["}"], False
    step = w.pick(("++", "++", " += 2"))
    asked = w.pick((f"{k} < {end}", f"{k} < {end}", f"{k} < {end} && raw[{k}] > 20"))
    if what == 10:
        return (
            [f"{kind} {k} = {begin};", f"if ({k} < {end}) do {{"],
            k,
            [f"{k}{step};", f"}} while ({asked});"],
            False,
        )
    return [f"{kind} {k} = {begin};", "do {"], k, [f"{k}{step};", f"}} while ({asked});"], True


def _row(w: Writer, place: Place, k: str, end: str, alone: bool) -> Row:
    """What a round reads: values of the row, and numbers from one or two tables."""
    whole = w.chance(4)
    reads = rows.WHOLES if whole else rows.REALS
    v, x, y = (w.pick(reads) for _ in range(3))
    at = w.pick(rows.LISTS).format(k)
    if w.chance(8):
        at = f"columns[{at}]"
    if not whole and w.chance(6):  # a table that begins elsewhere, and indices below zero
        name = w.fresh("table")
        w.line(place, f"device const float* {name} = fs + 300;")
        x, at = name + "[{}]", f"int({at}) - 300"
        return Row(k, end, at, v.format(k), x.format(at), x.format(at), whole, alone)
    other = w.pick((at, at, w.pick(rows.LISTS).format(k), f"{at} + 1", k))
    return Row(k, end, at, v.format(k), x.format(at), y.format(other), whole, alone)


def _sum(w: Writer, row: Row) -> tuple[str, str, str, str]:
    """Its name, type and start, and what a round adds."""
    name = w.fresh("s")
    kind, start, form = w.pick(WHOLE_SUMS if row.whole else REAL_SUMS)
    if "{at}" in form and " - 300" in row.at:
        kind, start, form = REAL_SUMS[0]
    return name, kind, start, form.format(s=name, v=row.v, x=row.x, y=row.y, at=row.at, kind=kind)


def _test(w: Writer, row: Row) -> str:
    """Of one to three conditions, of which later ones look up what earlier ones let by."""
    c = f"{w.choose(0, 60)}u" if row.whole else f"{w.choose(-8, 8)}.0f"
    parts = w.random.sample(TESTS, w.choose(1, 3))
    return w.pick((" && ", " && ", " || ")).join(
        part.format(x=row.x, y=row.y, v=row.v, at=row.at, k=row.k, end=row.end, c=c) for part in parts
    )


def _body(w: Writer, place: Place, row: Row, sums: list[str], skips: bool) -> None:
    if w.chance(8):
        w.line(place, f"if ({_test(w, row)}) {'continue' if skips and w.chance(2) else 'break'};")
    if w.chance(4):
        with w.block(place, f"if ({_test(w, row)})") as below:
            w.line(below, *sums)
    else:
        w.line(place, *sums)
    if w.chance(4):
        _stir(w, place, row)


def _stir(w: Writer, place: Place, row: Row) -> None:
    """A store, or something that all threads add to."""
    x = row.x if row.whole else f"uint(int({row.x} * 4.0f))"
    texts = [ADD.format(f"&counts[uint({row.at}) & 63u]", w.pick(("1u", x))),
             ADD.format(f"&counts[{row.k} & 63]", "1u"), ADD.format("&own[i * 2 + 1]", x)]  # fmt: skip
    if not row.whole:
        texts.append(ADD.format(f"&total[{row.k} & 3]", row.x))
    if w.chance(2) and (own := rows.room(w)) is not None:
        slot = w.pick(("0", f"(uint({row.k}) & 3u)", f"min(uint({row.k}), 3u)"))
        texts = [f"{own}[i * {rows.ROOM} + {slot}] {w.pick(('=', '+='))} {x};"]
    if row.alone and w.regions == 0 and w.chance(2):
        w.regions = 4
        kind = w.pick(("uchar", "short", "char"))
        texts = [f"((device {kind}*)vecs)[{row.k}] = {kind}({x});"]
    text = w.pick(texts)
    w.line(place, f"if ({_test(w, row)}) {text}" if w.chance(3) else text)

"""Running sums: each element becomes what lies before it, down a column or along a row, one thread each."""

from __future__ import annotations

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import Place, Writer

MINE = 8  # elements of each thread in `mine`
KINDS = (
    *(("uint", "uint", x) for x in ("far[{}]", "far[{}]", "uint(raw[{}])", "uint(columns[{}])")),
    *(("float", "float", x) for x in ("fs[{}]", "fs[{}]", "float(hs[{}])", "float(raw[{}])")),
    *(("half", "half", "hs[{}]"), ("uchar", "uchar", "raw[{}]"), ("uint", "uchar", "raw[{}]")),
    *(("short", "short", "((const device short*)far)[{}]"), ("int", "ushort", "int(raw[{}])")),
    *(("float", "half", "float(hs[{}])"), ("ulong", "uint", "ulong(far[{}])")),
)
FOLDS = ("{s} += {x};", "{s} += {x};", "{s} += {x};", "{s} = max({s}, {x});", "{s} = {s} + {x} + {x};")


def write(w: Writer, place: Place) -> None:
    if w.chance(4):
        _in_place(w, place)
        return
    sum, stored, x = w.pick(KINDS)
    count = rows.ROOM * (1 if stored in ("uint", "float") else 2 if stored != "uchar" else 4)
    if (base := rows.room(w)) is None:
        count, base, stored = 4, "(out)", "uint"
    own, s, r = w.pick(rows.OWN), w.fresh("s"), w.fresh("r")
    down, along = f"{{r}} * N + {own}", f"{own} * {count} + {{r}}"
    to, source = w.pick(((down, down), (along, along), (along, along), (down, along), (along, down)))
    if base == "(out)":
        to = "i * 8 + {r}"
    most = w.pick((f"{count}", f"{count}", f"min(args[0], {count}u)", f"(few % {count + 1}u)"))
    place_of = w.pick(("{}", "{}", "{}", f"({count - 1} - {{}})")).format(r)
    x, at = x.format(source.format(r=place_of)), f"((device {stored}*){base})[{to.format(r=place_of)}]"
    value = f"uint(int({s}))" if base == "(out)" and sum in ("float", "half") else f"{stored}({s})"
    w.line(place, f"{sum} {s} = 0;")
    with w.block(place, f"for (uint {r} = 0; {r} < {most}; {r}++)", loop=True) as below:
        _round(w, below, (s, x), f"{at} = {value};", r)
    if w.chance(2):
        rows.show(w, place, s, sum)


def _round(w: Writer, place: Place, parts: tuple[str, str], store: str, r: str) -> None:
    """Adds and stores: in this order, or each element without itself; some rounds begin anew."""
    s, x = parts
    add = w.pick(FOLDS).format(s=s, x=x)
    if w.chance(4):
        w.line(place, f"if ({w.pick((f'{x} > 9', f'({r} & 3) == 3', f'raw[i + {r}] < 60'))}) {s} = 0;")
    if w.chance(5):
        add = f"if (raw[i * 2 + {r}] > 90) {add}"
    w.line(place, *w.pick(((add, store), (add, store), (store, add))))


def _in_place(w: Writer, place: Place) -> None:
    """A row of `mine`, which has a second name."""
    r, at = w.fresh("r"), f"{w.row} * {MINE}"
    to, source = w.pick(("mine", "twin")), w.pick(("mine", "twin"))
    if w.chance(2):
        head = f"for (uint {r} = {MINE - 1}; {r} > 0; {r}--)"
    else:
        head = f"for (uint {r} = 1; {r} < {w.pick((str(MINE), 'min(args[0] + 1, 8u)'))}; {r}++)"
    add = f"{to}[{at} + {r}] += {source}[{at} + {r} - 1];"
    with w.block(place, head, loop=True) as below:
        w.line(below, f"if (raw[i + {r}] > 60) {add}" if w.chance(4) else add)
    w.line(place, f"out[i * 8 + {w.choose(0, 3)}] = mine[{at} + {w.choose(0, MINE - 1)}];")

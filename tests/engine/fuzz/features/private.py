"""Arrays of a thread with indices known only when it runs: of one and two dimensions, of every type, of structs."""

from __future__ import annotations

from tests.engine.fuzz.writer import INTS, Place, Writer

TYPES = ("uint", "uint", "uchar", "ushort", "ulong", "half", "float", "uint2", "bool", "Cell")
CELL = """
struct Cell { uchar a; uint b; uint inner[2]; };
static uint last(thread uint* p, uint n) { return p[n & 3u] * 5; }
static void swap(thread uint& a, thread uint& b) { uint c = a; a = b; b = c; }
"""
PUT = {"uint2": "uint2({}, 3)", "Cell": "Cell{{uchar({0}), {0}, {{1, 2}}}}", "half": "half({} & 255u)",
       "float": "float({} & 255u)", "bool": "({} & 4u) != 0"}  # fmt: skip
TAKE = {"uint2": "{0}.x + {0}.y", "Cell": "{0}.a + {0}.b + {0}.inner[1]"}


def write(w: Writer, place: Place) -> None:
    kind, name = w.pick(TYPES), w.fresh("own")
    if kind == "Cell":
        w.top("Cell", CELL)
    rows, count = (w.choose(2, 4), w.choose(2, 5)) if w.chance(3) else (0, w.choose(3, 12))
    put, take = PUT.get(kind, f"{kind}({{}})"), TAKE.get(kind, "uint({})")

    def element(x: str, y: str) -> str:
        return f"{name}[{x} % {rows}u][{y} % {count}u]" if rows else f"{name}[{x} % {count}u]"

    n = w.fresh("n")
    if rows:
        fill = f"for (uint {n} = 0; {n} < {rows * count}; {n}++) {name}[{n} / {count}][{n} % {count}] = "
    else:
        fill = f"for (uint {n} = 0; {n} < {count}; {n}++) {name}[{n}] = "
    dims = f"[{rows}][{count}]" if rows else f"[{count}]"
    w.line(place, f"{kind} {name}{dims}; {fill}{put.format(f'({n} * {w.choose(1, 9)}u + i)')};")
    for _ in range(w.choose(2, 4)):
        one = element(w.integer(1), w.pick(INTS))
        other = element(w.pick(INTS), w.integer(2))
        what = w.choose(0, 5)
        if what <= 1:
            w.line(place, f"{one} = {put.format(w.integer(1))};")
        elif what == 2:
            w.line(place, f"{one} = {other};")
        elif what == 3 and not rows:
            m = w.fresh("m")
            w.line(place, f"for (uint {m} = {count - 1}; {m} > 0; {m}--) {name}[{m}] = {name}[{m} - 1];")
        elif what == 4:
            with w.block(place, f"if ({w.condition()})") as below:
                w.line(below, f"{one} = {other};")
        else:
            w.line(place, f"{w.pick(INTS)} += {take.format(one)};")
    w.line(place, f"{w.pick(INTS)} ^= {take.format(element(w.integer(2), 'u1'))};")


def sort(w: Writer, place: Place) -> None:
    """A thread sorts a few numbers: its loops end where its numbers say."""
    name, n, m = w.fresh("list"), w.fresh("n"), w.fresh("m")
    w.top("Cell", CELL)
    w.line(place, f"uint {name}[5]; for (uint {n} = 0; {n} < 5; {n}++) {name}[{n}] = far[i * 4 + {n}];")
    with w.block(place, f"for (uint {n} = 1; {n} < 5; {n}++)", loop=True) as below:
        unsorted = f"{m} > 0 && {name}[{m} - 1] > {name}[{m}]"
        w.line(below, f"for (uint {m} = {n}; {unsorted}; {m}--) swap({name}[{m}], {name}[{m} - 1]);")
    w.line(place, f"{w.pick(INTS)} ^= {name}[{w.integer(2)} % 5u] + last({name}, {w.integer(2)});")

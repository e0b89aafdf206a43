"""Neighbours that are not next to each other: every second element, rows that are read backwards, two dimensions turned
round, all of them beside what is looked up; and words that are looked for, element by element.
"""

from __future__ import annotations

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import INTS, Place, Writer

# All below 5 * N + 40, but `rounds`, below 20 * N + 40.
INDICES = (
    *("2 * i", "2 * i + 1", "i * 2 + {c}", "N - 1 - i", "N - 1u - i", "(N - 1 - i) * 2", "2 * N - 1 - 2 * i"),
    *(
        "3 * i + {c}",
        "4 * i + {c}",
        "4 * i + {c}",
        "{c} * N + i",
        "i + {c}",
        "i",
        "i",
        "(N - 1 - i) * 3 + {c}",
    ),
    *("pos.y * G.x + (G.x - 1 - pos.x)", "(G.y - 1 - pos.y) * G.x + pos.x", "pos.x * G.y + pos.y"),
    *("(pos.y * G.x + pos.x) * 2 + {c}", "2 * pos.x + 1 + 2 * G.x * pos.y", "G.x * 2 - 1 - pos.x * 2"),
    *("int(N) - 1 - int(i)", "ulong(N) - 1 - ulong(i)", "int(2 * i) - int(args[0]) + 9", "i * args[0] / 4"),
    *(
        "ushort(N - 1 - i)",
        "(i - N) + N",
        "long(i) * 4 + {c}",
        "(N - 1 - i) ^ 1",
        "i ^ 1",
        "i / 2 * 3 + i % 2",
    ),
    *(
        "(i + {c}) * 4 - {c}",
        "min(i + {c}, N - 1)",
        "max(int(i) - {c}, 0)",
        "(i & 15) * 4",
        "lid.x * 3 + {c}",
    ),
    *("(S.x - 1 - lid.x) * 2", "t * 2 + {c}", "size - 1 - t", "(i * 2) % N", "G.x - 1 - pos.x"),
)
ROUNDS = (
    *("(r * N + i) * 2", "(r * N + i) * 2 + 1", "i * 9 + r", "r * N + (N - 1 - i)", "i + r", "N - 1 - i + r"),
    *(
        "i + r * 3",
        "(N - 1 - i) * 9 + 8 - r",
        "2 * r",
        "i * 2 + r * G.x",
        "pos.x + (8 - r) * G.x",
        "4 * i + 2 * r",
    ),
)
LISTS = ("columns[{}]", "columns[{}]", "raw[{}]", "((const device ushort*)columns)[{}]")
STORED = ("uint", "uint", "uchar", "ushort", "short")


def write(w: Writer, place: Place) -> None:
    w.pick((_values, _values, _rounds, _stores, _stores, _told))(w, place)


def _index(w: Writer) -> str:
    index = w.pick(INDICES).format(c=w.choose(0, 5))
    return w.pick(LISTS).format(index) if w.chance(5) else index


def _term(w: Writer, reads: tuple[str, ...]) -> str:
    x = w.pick(reads).format(_index(w))
    return f"{x} * {w.pick(reads).format(_index(w))}" if w.chance(4) else x


def _value(w: Writer, whole: bool) -> str:
    """A sum of some elements. Often they are of one array, at places that belong together."""
    reads = rows.WHOLES if whole else rows.REALS
    if w.chance(2):
        reads = (w.pick(reads),)
    return w.pick((" + ", " + ", " - ")).join(_term(w, reads) for _ in range(w.choose(1, 4)))


def _values(w: Writer, place: Place) -> None:
    whole = w.chance(2)
    kind = "uint" if whole else "float"
    name = w.fresh("x")
    w.line(place, f"{kind} {name} = {_value(w, whole)};")
    if w.chance(3):
        w.line(place, f"if ({_word(w)}) {name} += {_value(w, whole)};")
    rows.show(w, place, name, kind)


def _rounds(w: Writer, place: Place) -> None:
    """A sum over a few rounds, which all go on by strides."""
    s, whole = w.fresh("s"), w.chance(2)
    kind, reads = ("uint", rows.WHOLES) if whole else ("float", rows.REALS)
    x, y = (w.pick(reads).format(w.pick(ROUNDS)) for _ in range(2))
    if w.chance(3):
        y = w.pick(reads).format(w.pick(LISTS).format(w.pick(ROUNDS)))
    w.line(place, f"{kind} {s} = 0;")
    most = w.pick(("9u", "4u", "min(args[0], 9u)", "(few & 7u)", "8u"))
    text = w.pick((f"{s} += {x} * {y};", f"{s} += {x};", f"{s} = max({s}, {x} - {y});"))
    with w.block(place, f"for (uint r = 0; r < {most}; r++)", loop=True) as below:
        w.line(below, f"if ({_word(w)}) {text}" if w.chance(4) else text)
    rows.show(w, place, s, kind)


def _stores(w: Writer, place: Place) -> None:
    """Elements side by side or apart, in any order, of a type of its own."""
    if (base := rows.room(w)) is None:
        _values(w, place)
        return
    kind, own = w.pick(STORED), w.pick(rows.OWN)
    apart = w.choose(1, rows.ROOM)
    start = base if kind == "uint" else f"((device {kind}*){base})"
    head = f"if ({_word(w)})" if w.chance(3) else ""
    with w.block(place, head) as below:
        for c in w.random.sample(range(apart), w.choose(1, apart)):
            value = _value(w, True) if w.chance(2) else f"int(({_value(w, False)}) * 4.0f)"
            how = w.pick(("=", "=", "+="))
            w.line(below, f"{start}[{own} * {apart} + {c}] {how} {kind}({value});")


def _word(w: Writer) -> str:
    """Whether elements from somewhere on are the ones that are looked for."""
    read = w.pick(
        ("raw[{}]", "raw[{}]", "((const device ushort*)columns)[{}]", "fs[{}]", "far[{}]", "hs[{}]")
    )
    start = w.pick(("i", "i", "2 * i", "N - 1 - i", "(pos.y * G.x + pos.x)", "columns[i]"))
    tests = []
    for c in range(w.choose(2, 4)):
        number = w.choose(0, 255) if "raw" in read else w.choose(0, 4)
        test = w.pick((f"!= {number}", f"!= {number}", f"> {number}", f"<= {number * 3}", f"== {number}"))
        tests.append(f"{read.format(f'{start} + {c}')} {test}")
    return w.pick((" && ", " && ", " || ")).join(tests)


def _told(w: Writer, place: Place) -> None:
    """Each place where a word is found is told, counted or skipped."""
    c, n = w.choose(0, 3), w.pick(INTS)
    w.line(place, w.pick((f"out[i * 8 + {c}] = {_word(w)};", f"if ({_word(w)}) out[i * 8 + {c}] = {c};")))
    w.line(place, f"{n} += ({_word(w)}) ? {_value(w, True)} : 1u;")
    if w.chance(2):
        add = "atomic_fetch_add_explicit(&counts[{}], 1u, memory_order_relaxed);"
        w.line(place, f"if ({_word(w)}) {add.format(w.pick(('0', 'i & 63u', 'lane')))}")

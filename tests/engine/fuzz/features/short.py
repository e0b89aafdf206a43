"""Kernels of a line or two, as most are: what the engine does for short code alone is not done for long programs."""

from __future__ import annotations

from tests.engine.fuzz.writer import Place, Writer

COUNTS = (
    *("i", "i + {c}", "i * 2 + {c}", "N - 1 - i", "pos.x + {c}", "t", "lane + {c}", "i + args[1]", "u1"),
    *("ushort(i)", "(i & 63)", "uchar(pos.x + {c})"),  # that go round
)
DIVISORS = ("(args[0] + {d})", "(args[1] + {d})", "{d}", "G.x", "S.x", "(size + {c})")
READ = (
    *(
        "far[{x}]",
        "uint(hs[{x}])",
        "uint(fs[{x}] * 4)",
        "far[{x}] + far[{x} + 1]",
        "far[min(uint({x}), 1000u)]",
    ),
    *("({x} < args[0] * 9 ? far[{x}] : 7u)", "uint(raw[{x}])", "far[{x}] * uint(fs[i])"),
)


def write(w: Writer) -> None:
    place = w.pick(("i * 8 + {n}", "{n} * N + i"))
    if w.choose(0, 2) == 0:
        w.line(
            Place(), f"if ({w.pick(('i', 'pos.x'))} {w.pick(('>=', '<', '=='))} {w.choose(0, 90)}) return;"
        )
    for n in range(w.choose(1, 3)):
        value = w.pick(READ).format(x=_index(w))
        head = w.pick(("", "", f"if {w.condition()} ", f"if ({_index(w)} > {w.choose(0, 60)}) "))
        w.line(Place(), f"{head}out[{place.format(n=n)}] = {value};")


def _index(w: Writer) -> str:
    """Of a flat number: its row, its column, the two put together again."""
    c, d = str(w.choose(0, 9)), str(w.choose(1, 150))
    number = w.pick(COUNTS).format(c=c)
    by = w.pick(DIVISORS).format(c=c, d=d)
    sign = w.pick(("uint", "uint", "int"))
    row, column = f"{sign}({number}) / {sign}({by})", f"{sign}({number}) % {sign}({by})"
    return w.pick(
        (
            column,
            column,
            f"{row} * 3 + {c}",
            f"({row}) * {sign}({by}) + {column}",
            f"{column} * 2 + {row}",
            number,
        )
    )

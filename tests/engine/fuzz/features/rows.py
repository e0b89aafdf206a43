"""What programs about rows and columns of memory are made of: numbers to read, places to write, launches.

Numbers are quarters, and so few and small that no sum of products is rounded: whatever the order, there is one result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.engine.fuzz.writer import Place, Writer

Triple = tuple[int, int, int]
# Floats; all arrays have 32 * N + 2048 elements.
REALS = (
    *("fs[{}]", "fs[{}]", "fs[{}]", "float(hs[{}])", "float(hs[{}])", "float(bs[{}])", "float(raw[{}])"),
    *("float(((const device char*)raw)[{}])", "float(((const device short*)far)[{}] >> 9)"),
    *("float(int(far[{}]) >> 26)", "float(far[{}] & 31u)"),
)
WHOLES = (
    *("far[{}]", "far[{}]", "uint(raw[{}])", "uint(((const device short*)far)[{}])", "uint(columns[{}])"),
    *("uint(((const device char*)raw)[{}])", "uint(((const device ushort*)far)[{}])", "uint(fs[{}] > 0.5f)"),
)
# Lists of places: below 1000 each.
LISTS = (
    *("columns[{}]", "columns[{}]", "columns[{}]", "((const device uint*)columns)[{}]", "raw[{}]"),
    *("((const device ushort*)columns)[{}]", "((const device short*)columns)[{}]"),
)
# One for each thread, and no two the same.
OWN = (
    *("i", "i", "i", "(N - 1 - i)", "(pos.x + G.x * (pos.y + G.y * pos.z))", "(N - 1u - i)"),
    *("(G.x - 1 - pos.x + G.x * (pos.y + G.y * pos.z))", "(pos.y + G.y * (pos.x + G.x * pos.z))"),
)
SHAPES = (
    (7, 3, 1),
    (20, 20, 1),
    (33, 1, 1),
    (33, 1, 1),
    (20, 3, 1),
    (1, 9, 1),
    (5, 4, 3),
    (64, 1, 1),
    (16, 16, 1),
)
LEAVE = (
    *(
        "pos.x >= G.x - min(args[2], G.x - 1)",
        "i >= N - min(args[2], N - 1)",
        "pos.x == 0 || pos.x >= G.x - 1",
    ),
    *("i >= N", "i == args[0]", "(i & 7) == 3", "pos.y >= 3"),
)
ROOM = 4  # words of each thread, in each of the four rooms of `cols`
REGION = 32  # bytes of each thread, in each of the four regions of `vecs`


def show(w: Writer, place: Place, value: str, kind: str) -> None:
    """Store a number of a thread."""
    c = w.choose(0, 3)
    if kind == "float":
        real = f"reals[{w.real_at.format(c=c)}]"
        scaled = f"uint(int({value} * 16.0f))"
        text = w.pick((f"{real} = {value};", f"{real} = {value};", f"out[i * 8 + {c}] = {scaled};",
                       f"hout[i] = half({value});", f"u{c} ^= {scaled};"))  # fmt: skip
    elif kind == "half":
        text = w.pick((f"hout[i] = {value};", f"out[i * 8 + {c}] = uint(int(float({value}) * 16.0f));"))
    elif kind in ("long", "ulong"):
        text = w.pick(
            (f"wout[i * 2 + {c & 1}] = ulong({value});", f"out[i * 8 + {c}] ^= uint({value} >> 9);")
        )
    else:
        text = w.pick((f"out[i * 8 + {c}] = uint({value});", f"u{c} += uint({value});"))
    w.line(place, text)


def room(w: Writer) -> str | None:
    """A place of four words for each thread; None where all are taken."""
    if w.rooms == 4:
        return None
    w.rooms += 1
    return f"(cols + {(w.rooms - 1) * ROOM} * N)"


def region(w: Writer, count: int = 1) -> str | None:
    """A place of 32 bytes for each thread, or of several times as many; None where there are not so many."""
    if w.regions + count > 4:
        return None
    w.regions += count
    return f"(vecs + {(w.regions - count) * REGION} * N)"


def bare(w: Writer, features: Sequence[Callable[[Writer, Place], None]]) -> None:
    """A program of nothing else, as most kernels are."""
    w.real_at = w.pick(("i", "i", "i * 4 + {c}", "{c} * N + i"))
    if w.chance(3):
        w.line(Place(), f"if ({w.pick(LEAVE)}) return;")
    for write in features:
        if w.chance(5):
            with w.block(Place(), f"if ({w.condition()})") as below:
                write(w, below)
        else:
            write(w, Place())


def launch(r: random.Random) -> tuple[Triple, Triple]:
    """Threadgroups that are no multiple of anything, and grids that are no multiple of them."""
    group = (1000, 1, 1) if r.randrange(30) == 0 else r.choice(SHAPES)
    if group[0] * group[1] * group[2] >= 256:
        counts = [1, 1, 1]
    else:
        counts = [r.choice((1, 1, 2, 3)), r.choice((1, 1, 2)) if group[1] > 1 else 1, 1]
    grid = [c * g for c, g in zip(counts, group, strict=True)]
    if r.randrange(2) == 0:
        axis = r.choice([n for n in range(3) if group[n] > 1])
        grid[axis] -= r.randint(0, group[axis] - 1)
    return (grid[0], grid[1], grid[2]), group

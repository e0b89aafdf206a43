"""Sums down columns, as reductions do them: several columns a thread, rows shared out, partial sums met by row.

Every part of it comes and goes: the return of threads past the last column, the branch for columns that are all
inside, the condition around the barrier, the branch around the stores.
"""

from __future__ import annotations

from tests.engine.fuzz.frame import MOST
from tests.engine.fuzz.writer import Place, Writer

# Element, what it is read from, how two become one, how it is shown.
KINDS = (
    ("uint", "far[{}]", "{0} += {1};", "{}"),
    ("uint", "far[{}]", "{0} = max({0}, {1});", "{}"),
    ("float", "fs[{}]", "{0} += {1};", "bits({})"),
    ("float", "fs[{}]", "{0} = min({0}, {1});", "bits({})"),
    ("float", "float(hs[{}])", "{0} += {1};", "bits({})"),
    ("half", "hs[{}]", "{0} = max({0}, {1});", "uint(as_type<ushort>({}))"),
    ("bfloat", "bs[{}]", "{0} = min({0}, {1});", "uint(as_type<ushort>({}))"),
    ("ulong", "ulong(far[{}]) << 7", "{0} += {1};", "uint({0}) ^ uint({0} >> 32)"),
    ("short", "short(far[{}])", "{0} = min({0}, {1});", "uint(ushort({}))"),
    ("uchar", "uchar(far[{}])", "{0} += {1};", "uint({})"),
)
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def write(w: Writer, place: Place) -> None:
    kind, source, fold, shown = w.pick(KINDS)
    count = w.pick((1, 2, 2, 4))
    n, leaves = w.fresh("sum"), w.chance(2)
    first, width = f"first_{n}", f"width_{n}"
    w.line(place, f"const uint {first} = pos.x * {count}, {width} = {_width(w, count, leaves)};")
    if leaves:
        w.line(place, f"if ({first} >= {width}) return;")
    whole = f"whole_{n}"
    inside = f"{first} + {count} <= {width}"
    if w.chance(2):
        w.line(place, f"const bool {whole} = {inside};")
        inside = whole
    start = "0" if "+=" in fold else f"{kind}({source.format(first)})"
    w.line(place, f"{kind} {n}[{count}]; for (uint c = 0; c < {count}; c++) {n}[c] = {start};")
    _rows(w, place, (n, first, width, inside, count, fold, source))
    _meet(w, place, (n, kind, fold, count))
    with w.block(place, f"if (lid.y == 0{'' if leaves else f' && {first} < {width}'})") as below:
        at = f"((pos.z * ((G.y + D.y - 1) / D.y) + group.y) * {width} + {first} + c)"
        _each(w, below, inside, (first, width, count), f"cols[{at}] = {shown.format(f'{n}[c]')};", n)


def _width(w: Writer, count: int, leaves: bool) -> str:
    """How many columns there are: as many as threads have, or a few less."""
    if leaves and not w.leaving:
        return f"G.x * {count}"
    less = w.pick(("", "", f" - min({w.choose(1, count)}u, G.x * {count} - 1)", " - min(args[2], G.x - 1)"))
    return f"G.x * {count}{less}"


def _rows(w: Writer, place: Place, parts: tuple[str, str, str, str, int, str, str]) -> None:
    n, first, width, inside, count, fold, source = parts
    rows = w.pick(("6", "args[1] % 8 + 1", "S.y * 2", "7"))
    with w.block(place, f"for (uint r = lid.y; r < min({rows}, 8u); r += S.y)", loop=True) as below:
        read = source.format(f"{w.pick(('r', 'ulong(r)'))} * {width} + {first} + c")
        _each(w, below, inside, (first, width, count), fold.format(f"{n}[c]", read), n)


def _each(w: Writer, place: Place, inside: str, parts: tuple[str, str, int], text: str, n: str) -> None:
    """A statement for each column: all of them, or those that are inside."""
    first, width, count = parts
    if w.chance(6):
        w.line(place, f"for (uint c = 0; c < {count} && {first} + c < {width}; c++) {text}")
        return
    with w.block(place, f"if ({inside})") as below:
        w.line(below, f"for (uint c = 0; c < {count}; c++) {text}")
    with w.block(place, "else") as below:
        w.line(below, f"for (uint c = 0; {first} + c < {width}; c++) {text}")


def _meet(w: Writer, place: Place, parts: tuple[str, str, str, int]) -> None:
    """The first row adds what the others have."""
    n, kind, fold, count = parts
    if w.chance(2):
        w.begins.append(f"threadgroup {kind} met_{n}[{MOST}][{count}];")
        slot, other = f"met_{n}[t][c]", f"met_{n}[(lid.z * S.y + r) * S.x + lid.x][c]"
    else:
        w.begins.append(f"threadgroup {kind} met_{n}[{MOST * 2 * count}];")
        slot = f"met_{n}[(lid.z * S.y + lid.y) * (S.x * {count} + 1) + lid.x * {count} + c]"
        other = f"met_{n}[(lid.z * S.y + r) * (S.x * {count} + 1) + lid.x * {count} + c]"
    head = w.pick(("if (S.y > 1)", "if (S.y > 1)", "", "if (D.y > 1)"))
    rows = (
        f"for (uint r = 1; r < S.y; r++) for (uint c = 0; c < {count}; c++) {fold.format(f'{n}[c]', other)}"
    )
    store = f"for (uint c = 0; c < {count}; c++) {slot} = {n}[c];"
    with w.block(place, head, meet=True) as below:
        first = w.chance(2)
        w.line(below, f"{'if (lid.y > 0) ' if first else ''}{store} {BARRIER}")
        w.line(below, f"if (lid.y == 0) {rows}")

"""Shuffles, votes and sums of a SIMD-group, in every type, also where some of its lanes are not there.

`claims` gets a bit where a fill from a lane that is not active is not the filling value.
"""

from __future__ import annotations

from tests.engine.fuzz.writer import INTS, Place, Writer

TYPES = ("uint", "int", "ulong", "long", "ushort", "short", "uchar", "char", "half", "float")
WHOLE = TYPES[:8]
REDUCE = ("sum", "max", "min", "xor", "or", "and", "product", "prefix_inclusive_sum", "prefix_exclusive_sum")
TAKE = (
    "simd_shuffle({x}, ushort({y} & 31u))",
    "simd_shuffle_xor({x}, ushort({c}))",
    "simd_shuffle_up({x}, ushort({c}))",
    "simd_shuffle_down({x}, ushort({y} & 7u))",
    "simd_shuffle_rotate_down({x}, ushort({c}))",
    "simd_shuffle_rotate_up({x}, ushort({c}))",
    "simd_broadcast_first({x})",
    "simd_broadcast({x}, ushort({c}))",
    "quad_shuffle_xor({x}, ushort({c} & 3))",
    "quad_shuffle({x}, ushort({y} & 3u))",
    "quad_broadcast({x}, ushort({c} & 3))",
)
VOTES = (
    "uint(simd_any({x} > {y}))",
    "uint(simd_all({x} > {y}))",
    "uint(ulong(simd_ballot(({x} & 1u) != 0)))",
    "popcount(uint(ulong(simd_active_threads_mask())))",
    "uint(simd_is_first()) * {x}",
    "quad_sum({x})",
    "quad_max({x})",
)


def value(w: Writer, kind: str) -> str:
    """A value of a type, made of a uint."""
    x = w.integer(1)
    if kind in ("half", "float"):
        return f"{kind}({x} & 1023u)"
    return f"({kind}({x}) << 20)" if kind in ("long", "ulong") and w.chance(2) else f"{kind}({x})"


def seen(kind: str, x: str) -> str:
    return f"(uint({x}) ^ uint({x} >> 32))" if kind in ("long", "ulong") else f"uint({x})"


def take(w: Writer, place: Place) -> None:
    """A value of another lane."""
    if w.chance(3):
        form = w.pick(VOTES)
        w.line(place, f"{w.pick(INTS)} ^= {form.format(x=w.integer(1), y=w.integer(2))};")
        return
    kind, name = w.pick(TYPES), w.fresh("got")
    form = w.pick(TAKE).format(x=value(w, kind), y=w.integer(2), c=w.choose(0, 31))
    w.line(place, f"{{ {kind} {name} = {form}; {w.pick(INTS)} ^= {seen(kind, name)}; }}")


def reduce(w: Writer, place: Place) -> None:
    kind, name, what = (
        w.pick(("uint", "int", "ulong", "long", "short", "half")),
        w.fresh("all"),
        w.pick(REDUCE),
    )
    if kind == "half":
        what = w.pick(("max", "min"))
    x = value(w, kind) if what != "product" else f"({value(w, kind)} | 1)"
    if what == "product" and kind == "half":
        x = value(w, kind)
    w.line(place, f"{{ {kind} {name} = simd_{what}({x}); {w.pick(INTS)} += {seen(kind, name)}; }}")


def fill(w: Writer, place: Place) -> None:
    """A shuffle that fills: from lanes that are idle, gone, or past the end."""
    kind, way = w.pick(TYPES), w.pick(("up", "down"))
    n, delta = (
        w.fresh("in"),
        w.pick((f"{w.choose(0, 31)}", "(args[0] & 31u)", f"({w.choose(1, 16)} + (args[1] & 7u))")),
    )
    fill = w.pick((f"{kind}(args[3])", f"{kind}({w.choose(0, 99)})"))
    w.line(place, f"const ulong active_{n} = ulong(simd_active_threads_mask());")
    w.line(
        place, f"const {kind} {n} = simd_shuffle_and_fill_{way}({value(w, kind)}, {fill}, ushort({delta}));"
    )
    source = f"int(lane) {'-' if way == 'up' else '+'} int({delta})"
    there = f"({source}) >= 0 && ({source}) < 32 && (active_{n} >> ({source}) & 1) != 0"
    w.line(place, f"if (!({there}) && {n} != {fill}) claims[i] |= 2;")
    w.line(place, f"{w.pick(INTS)} ^= {seen(kind, n)};")


def folded(w: Writer, place: Place) -> None:
    """A sum in halves by shuffles that fill, in lanes below a limit or in all."""
    kind, n = w.pick(WHOLE), w.fresh("sum")
    way, start = w.pick(("down", "down", "up")), w.pick((16, 8, 4))
    how = w.pick(("{n} += {x};", "{n} = max({n}, {x});", "{n} ^= {x};", "{n} = {n} * 3 + {x};"))
    other = f"simd_shuffle_and_fill_{way}({n}, {kind}({w.choose(0, 1)}), ushort(d))"
    w.line(place, f"{kind} {n} = {value(w, kind)};")
    with w.block(place, f"for (uint d = {start}; d > 0; d /= 2)", loop=True) as below:
        w.line(below, how.format(n=n, x=other))
    w.line(place, f"{w.pick(INTS)} += {seen(kind, n)};")

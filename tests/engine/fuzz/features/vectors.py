"""Vectors of every type and length: arithmetic, swizzles, conversions, loads and stores, packed or not."""

from __future__ import annotations

from tests.engine.fuzz.writer import INTS, Place, Writer

WHOLE = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
REAL = ("half", "bfloat", "float")
BYTES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bfloat": 2, "int": 4, "uint": 4, "float": 4,
         "long": 8, "ulong": 8}  # fmt: skip
ON_WHOLE = (
    *(
        "{v} + {w}",
        "{v} - {w}",
        "{v} * {w}",
        "{v} & {w}",
        "{v} | {w}",
        "{v} ^ {w}",
        "~{v}",
        "-{v}",
        "{v} + {s}",
    ),
    *("{s} * {v}", "{v} << ({w} & {s7})", "{v} >> ({w} & {s7})", "{v} / ({w} | {s1})", "{v} % ({w} | {s1})"),
    *(
        "min({v}, {w})",
        "max({v}, {w})",
        "clamp({v}, min({v}, {w}), max({v}, {w}))",
        "select({v}, {w}, {v} < {w})",
    ),
    *(
        "abs({v})",
        "popcount({v})",
        "clz({v})",
        "ctz({v})",
        "rotate({v}, {w})",
        "addsat({v}, {w})",
        "subsat({v}, {w})",
    ),
    *(
        "hadd({v}, {w})",
        "rhadd({v}, {w})",
        "absdiff({v}, {w})",
        "mulhi({v}, {w})",
        "reverse_bits({v})",
        "madhi({v}, {w}, {v})",
    ),
)
ON_REAL = (
    *(
        "{v} + {w}",
        "{v} - {w}",
        "{v} * {s}",
        "-{v}",
        "{v} + {s}",
        "min({v}, {w})",
        "max({v}, {w})",
        "{s} * {v} + {w}",
    ),
    *(
        "fabs({v})",
        "floor({v})",
        "trunc({v})",
        "select({v}, {w}, {v} < {w})",
        "fma({v}, {w}, {v})",
        "{v} * {w}",
    ),
)
LETTERS = "xyzw"


def write(w: Writer, place: Place) -> None:
    """One vector, changed a few times, shown in the end."""
    kind, count = w.pick(WHOLE + (REAL if w.math == "safe" else ())), w.choose(2, 4)
    v, t = w.fresh("v"), f"{kind}{count}"
    w.line(place, f"{t} {v} = {_source(w, kind, count)};")
    for _ in range(w.choose(2, 5)):
        w.line(place, _change(w, kind, count, v))
    _show(w, place, kind, count, v)


def _source(w: Writer, kind: str, count: int) -> str:
    """Where a vector comes from: bytes as they are, or numbers."""
    t = f"{kind}{count}"
    if kind in REAL:
        return (
            f"{t}(({'int' + str(count)}({_source(w, 'char', count)})) / 4)"
            if w.chance(2)
            else f"{t}(float({w.integer(2)} & 63u))"
        )
    what = w.choose(0, 3)
    if what == 0:
        return f"((device const {t}*)raw)[i]"
    if what == 1:
        return f"{t}(((device const packed_{t}*)raw)[{w.pick(('i', 'N - 1 - i'))}])"
    if what == 2:
        return f"{t}({kind}({w.integer(2)}))"
    return f"{t}({', '.join(f'{kind}({w.integer(2)})' for _ in range(count))})"


def _change(w: Writer, kind: str, count: int, v: str) -> str:
    t, other = f"{kind}{count}", _source(w, kind, count)
    what = w.choose(0, 9)
    if what == 0:
        letters = "".join(w.pick(LETTERS[:count]) for _ in range(count))
        return f"{v} = {v}.{letters};"
    if what == 1:
        return f"{v}[{w.integer(2)} % {count}u] = {kind}({w.integer(1)} & 127u);"
    if what == 2:
        letters = "".join(w.random.sample(LETTERS[:count], 2))
        return f"{v}.{letters} = {kind}2({kind}({w.integer(2)} & 15u), {v}.x);"
    if what == 3:
        between = w.pick(WHOLE if kind in REAL else WHOLE + (REAL if w.math == "safe" else ()))
        return f"{v} = {t}({between}{count}({v}));"
    if what == 4:
        return f"if (any({v} < {other})) {v} = {other};"
    if what == 5 and kind not in REAL:
        return f"{v} {w.pick(('+=', '-=', '^=', '|=', '*='))} {other};"
    form = w.pick(ON_REAL if kind in REAL else ON_WHOLE)
    made = form.format(
        v=v,
        w=other if w.chance(2) else f"{v}.{LETTERS[:count][::-1]}",
        s=f"{kind}({w.integer(2)} & 15u)",
        s1=f"{t}(1)",
        s7=f"{t}(7)",
    )
    return f"{v} = {t}({made});"


def _show(w: Writer, place: Place, kind: str, count: int, v: str) -> None:
    t = f"{kind}{count}"
    if kind in REAL:
        parts = " ^ ".join(f"(bits(float({v}.{x})) * {n * 2 + 1}u)" for n, x in enumerate(LETTERS[:count]))
        w.line(place, f"{w.pick(INTS)} ^= {parts};")
        return
    parts = " ^ ".join(f"(uint({v}.{x}) * {n * 2 + 1}u)" for n, x in enumerate(LETTERS[:count]))
    if BYTES[kind] == 8:
        parts += f" ^ uint({v}.y >> 32)"
    w.line(place, f"{w.pick(INTS)} ^= {parts};")
    if w.regions < 4 and w.chance(2):
        packed, at = w.pick(("", "packed_")), f"vecs + {w.regions} * 32 * N"  # one store, one region
        w.regions += 1
        w.line(place, f"((device {packed}{t}*)({at}))[{w.pick(('i', 'N - 1 - i', 'ulong(i)'))}] = {v};")


def mixed(w: Writer, place: Place) -> None:
    """One vector made of another of the same number of bytes, or of its parts."""
    name, bits = w.fresh("x"), w.pick((("uchar4", "uint"), ("ushort2", "uint"), ("uint2", "ulong"), ("short4", "int2"),
                                       ("char4", "short2"), ("ulong2", "uint4"), ("uchar2", "ushort")))  # fmt: skip
    first, second = bits
    w.line(place, f"{first} {name} = ((device const {first}*)raw)[i];")
    w.line(place, f"{name} = as_type<{first}>({second}(as_type<{second}>({name}) * {second}(3)));")
    w.line(place, f"{w.pick(INTS)} += uint({name}.x) + uint({name}.y) * 5u;")

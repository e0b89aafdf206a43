"""Rows of 8, 32 or 20 numbers, one thread each: the largest of them, a scale, and each as a byte or two."""

from __future__ import annotations

from tests.engine.fuzz.features import rows
from tests.engine.fuzz.writer import Place, Writer

SOURCES = ("fs[{}]", "fs[{}]", "float(hs[{}])", "float(bs[{}])", "(float(raw[{}]) * 0.0625f - 8.0f)")
ROUND = ("rint({})", "rint({})", "round({})", "floor({} + 0.5f)", "trunc({})", "ceil({})", "{}")
SIGNED = (("char", "{}", 1), ("char", "clamp({}, -100.0f, 100.0f)", 1), ("short", "{}", 2), ("int", "{}", 4))
UNSIGNED = (
    ("uchar", "clamp({} + 128.0f, 0.0f, 255.0f)", 1),
    ("uchar", "fabs({})", 1),
    ("ushort", "fabs({})", 2),
)
# What the largest becomes, and a power of two that makes as much of 12.5, or of 7.5 if it is doubled.
LARGEST = {"char": 126.0, "uchar": 126.0, "short": 32000.0, "ushort": 32000.0, "int": 70000.0}
POWER = {"char": 8.0, "uchar": 8.0, "short": 2048.0, "ushort": 2048.0, "int": 4096.0}


def write(w: Writer, place: Place) -> None:
    width, own = w.pick((8, 8, 32, 32, 20, 16)), w.pick(rows.OWN)
    kind, form, size = w.pick(SIGNED + UNSIGNED)
    m, scale = w.fresh("m"), w.fresh("scale")
    across = w.chance(5)  # by columns: neighbours of a lane are another's
    at = f"{{j}} * N + {own}" if across else f"{own} * {width} + {{j}}"
    x = w.pick(SOURCES)
    _largest(w, place, m, x.format(at.format(j="j")), width)
    w.line(place, f"const float {scale} = {_scale(w, m, kind)};")
    rounded = w.pick(ROUND).format(f"({x} * {scale})")  # of what is still to be said: where it lies
    number = f"{kind}({form.format(rounded)})"
    _stored(w, place, (kind, number, at, width, size, own))
    rows.show(w, place, m, "float")
    if w.chance(2):
        w.line(place, w.pick((f"hout[i] = half({scale});", f"reals[{w.real_at.format(c=3)}] = {scale};")))


def _largest(w: Writer, place: Place, m: str, x: str, width: int) -> None:
    form = w.pick(("{m} = max({m}, fabs({x}));", "{m} = max({m}, fabs({x}));", "{m} = fmax({m}, fabs({x}));",
                   "if (fabs({x}) > {m}) {m} = fabs({x});", "{m} = max({m}, {x});"))  # fmt: skip
    w.line(place, f"float {m} = {w.pick(('0.0f', '0.0f', '0.25f'))};")
    w.line(place, f"for (uint j = 0; j < {width}; j++) {form.format(m=m, x=x)}")
    if "fabs" not in form:
        w.line(place, f"for (uint j = 0; j < {width}; j++) {m} = max({m}, -{x});")


def _scale(w: Writer, m: str, kind: str) -> str:
    """So that the largest just fits. Only in safe mode a quotient has one result."""
    most, fits = LARGEST[kind], POWER[kind]
    if w.math == "safe":
        return w.pick((f"{m} > 0.0f ? {most}f / {m} : 0.0f", f"{most}f / max({m}, 0.25f)"))
    return w.pick((f"{m} > 7.5f ? {fits}f : {fits * 2}f", f"{fits / 2}f", f"{m} > 0.0f ? {fits}f : 0.0f"))


def _stored(w: Writer, place: Place, parts: tuple[str, str, str, int, int, str]) -> None:
    kind, number, at, width, size, own = parts
    base = rows.region(w, -(-width * size // rows.REGION))
    q = number.format(at.format(j="j"))
    if base is None:
        w.line(place, f"for (uint j = 0; j < {width}; j++) out[i * 8 + (j & 3)] ^= uint({q});")
        return
    to = f"((device {kind}*){base})"
    half = width // 2
    if size == 1 and w.chance(4):  # two numbers of four bits to a byte
        places = w.pick((("j * 2", "j * 2 + 1"), ("j", f"j + {half}")))
        low, high = (number.format(at.format(j=f"({j})")) for j in places)
        pair = f"(uchar({low}) & 15u) | (uchar({high}) & 15u) << 4"
        w.line(place, f"for (uint j = 0; j < {half}; j++) {to}[{own} * {half} + j] = {kind}({pair});")
    elif kind in ("char", "uchar", "short") and w.chance(4):  # four at once
        four = ", ".join(number.format(at.format(j=f"(j + {n})")) for n in range(4))
        head = f"for (uint j = 0; j < {width}; j += 4)"
        w.line(place, f"{head} ((device {kind}4*){base})[({own} * {width} + j) / 4] = {kind}4({four});")
    else:
        along = f"{own} * {width} + j"
        turned = w.pick((along, along, f"{own} * {width} + {width - 1} - j", f"j * N + {own}"))
        w.line(place, f"for (uint j = 0; j < {width}; j++) {to}[{turned}] = {q};")

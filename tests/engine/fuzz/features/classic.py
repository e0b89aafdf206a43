"""What `tests.engine.programs` makes: nested loops, switches into loops, structs by value and by reference."""

from __future__ import annotations

import re

from tests.engine import programs
from tests.engine.fuzz.writer import Place, Writer

STRUCTS = programs.STRUCTS.replace(programs.STRUCTS.strip().splitlines()[-1], "").strip()


def write(w: Writer, place: Place) -> None:
    maker = programs.Maker(w.choose, simd=w.chance(2), barriers=place.meet and w.chance(2), budget=5)
    maker.statements(place.indent, 3, False, True)
    lines = [re.sub(r"\bn(\d+)\b", r"nc\1", line) for line in maker.lines]
    body = "\n".join(lines)
    w.top("Thing", STRUCTS)
    for sign, before, _ in programs.PARTS:
        if re.search(sign, body):
            w.begins.append(before)
    w.lines.extend(lines)


def shown(body: str) -> list[str]:
    """How the variables of these statements show in the end."""
    return [after for sign, _, after in programs.PARTS if after and re.search(sign, body)]

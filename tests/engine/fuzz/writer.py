"""Writes a program line by line: names, blocks, small expressions.

A statement is one line, a block a line that ends in `{` and one that is `}`: so `shrink` can drop any of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

T = TypeVar("T")
INTS = ("u0", "u1", "u2", "u3")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
NUMBERS = "0u 1u 2u 3u 5u 7u 31u 32u 255u 65535u 2147483647u 4294967295u".split()
LEAVES = "i t lane sg args[0] args[1] a[i] pos.x pos.y lid.x lid.y lid.z group.x S.x S.y size few".split()
# Elements of `far`, which has 32 * N + 2048; with 16 to 64 bits, falling, strided, of two and three dimensions.
INDICES = (
    *(
        "N - 1 - i",
        "(N - 1 - i) * 3 + {c}",
        "i * 4 + {c}",
        "i * 2 + lane",
        "size - 1 - t",
        "63 - lane",
        "i / 4 + {c}",
    ),
    *("31 - (lane ^ 3)", "i % 8 * 7", "i ^ 1", "pos.y * G.x + pos.x", "(pos.z * G.x + pos.x) * G.y + pos.y"),
    *(
        "(G.y - 1 - pos.y) * G.x + pos.x",
        "(G.x - 1 - pos.x) * G.y + pos.y",
        "lid.y * S.x + lid.x",
        "args[0] * lane",
    ),
    *(
        "lid.x * S.y + lid.y",
        "(lid.z * S.y + lid.y) * 4 + (lid.x & 3)",
        "args[1] * lid.x + lid.y",
        "t * 4 + {c}",
    ),
    *("group.x * size + (size - 1 - t)", "(u0 & 255) + t", "u1 % 1024", "min(u2, 100u)", "(i - 5) & 1023"),
    *(
        "(i + {c}) % (args[0] + 61)",
        "i / (args[1] + 29) * 40 + i % (args[1] + 29)",
        "(i * 2 + 1) % (args[0] + 90)",
    ),
    *("lid.y * 32 + lid.x", "(lid.y * 4 + {c}) * G.x + pos.x", "sg * 32 + (lane ^ {c})", "pos.x * 8 + lid.y"),
)
WIDE_INDICES = (
    *("ulong(N) - 1 - ulong(i)", "long(N) - 1 - long(i)", "size_t(pos.y) * size_t(G.x) + size_t(pos.x)"),
    *("long(G.y - 1 - pos.y) * long(G.x) + long(pos.x)", "ulong(i) * args[0] / 4", "ulong(i) * 4 + {c}"),
    *("(ulong(i) << 33) >> 32", "long(size) - 1 - t", "(ulong(u0) << 20) % 1024", "ulong(u3) * u1 % 2048"),
    *("(long(int(u2)) >> 3) & 1023", "ulong(lid.y) * ulong(S.x) + lid.x", "long(t) * -3 + 3 * long(size)"),
    *(
        "ulong(int(i) - int(N)) + N",
        "size_t(i) * size_t(args[1]) + {c}",
        "(ulong(u1) * ulong(u0) >> 40) & 2047",
    ),
)
WIDER = ("ulong({x}) * 3", "ulong(long(int({x})) * 5)", "ulong({x} / 2) + {x}", "ulong({x}) - ulong({y})")


@dataclass(frozen=True)
class Place:
    """Where a statement stands: how deep, and whether all threads that still run come by together."""

    indent: int = 1
    meet: bool = True
    loop: bool = False  # `break` and `continue` may stand here

    @property
    def within(self) -> Place:
        return replace(self, indent=self.indent + 1)


@dataclass
class Writer:
    """One program in the making. `math` is its mode: only in safe mode are floats rounded."""

    random: random.Random
    math: str = "safe"
    leaving: bool = False  # threads may leave before barriers
    budget: int = 5
    lines: list[str] = field(default_factory=list)
    tops: dict[str, str] = field(default_factory=dict)  # functions and structs, by name
    begins: list[str] = field(default_factory=list)  # declarations of the kernel
    names: int = 0
    row: str = "i"  # the row of `mine` that belongs to a thread
    regions: int = 0  # of `vecs` that are taken
    rooms: int = 0  # of `cols` that are taken
    real_at: str = "i * 4 + {c}"  # where a thread has its part of `reals`
    flags: list[str] = field(default_factory=list)  # bools that live through the program

    def choose(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def chance(self, of: int) -> bool:
        return self.random.randrange(of) == 0

    def pick(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def fresh(self, start: str) -> str:
        self.names += 1
        return f"{start}_{self.names}"

    def line(self, place: Place, *texts: str) -> None:
        self.lines.extend("    " * place.indent + text for text in texts)

    @contextmanager
    def block(self, place: Place, head: str, meet: bool = False, loop: bool = False) -> Iterator[Place]:
        """A block with a head; `meet`: all threads take it or none."""
        self.line(place, f"{head} {{")
        yield Place(place.indent + 1, place.meet and meet, loop)
        self.line(place, "}")

    @contextmanager
    def rounds(self, place: Place, test: str) -> Iterator[Place]:
        """A loop that asks behind each round."""
        self.line(place, "do {")
        yield Place(place.indent + 1, False, True)
        self.line(place, f"}} while ({test});")

    def top(self, name: str, text: str) -> str:
        self.tops[name] = text.strip("\n")
        return name

    # Expressions

    def index(self) -> str:
        table = WIDE_INDICES if self.chance(3) else INDICES
        return self.pick(table).format(c=self.choose(0, 3))

    def integer(self, depth: int = 0) -> str:
        """An expression of type uint."""
        what = self.choose(0, 9 if depth < 2 else 4)
        if what <= 1:
            return self.pick(INTS)
        if what == 2:
            return self.pick(NUMBERS)
        if what == 3:
            return f"uint({self.pick(LEAVES)})"
        if what == 4:
            return f"far[{self.index()}]" if self.chance(2) else self.pick(INTS)
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        match what:
            case 5 | 6:
                return f"({x} {self.pick(('+', '-', '*', '&', '|', '^'))} {y})"
            case 7:
                if self.chance(3):  # a lane's number out of its type, and wider than that
                    wide = self.pick(WIDER).format(x=self._out_of_type(), y=self._out_of_type())
                    return f"uint(({wide}) >> {self.choose(1, 34)})"
                return f"({x} {self.pick(('<<', '>>'))} ({y} & 31u))"
            case 8:
                return f"({self.condition(depth + 1)} ? {x} : {y})"
        return self.pick(
            (f"uint({self.pick(('short', 'char', 'ushort', 'long'))}({x}))", f"min({x}, {y})", f"popcount({x})",
             f"({x} / (size & 3u) ^ {y})", f"({x} % ({y} & 7u))", f"uint(int({x}) >> 3)", f"mulhi({x}, {y})")
        )  # fmt: skip

    def _out_of_type(self) -> str:
        lane, n = self.pick(("t", "i", "lane", "lid.y")), self.pick(("args[0]", "args[1]"))
        return self.pick(
            (f"({lane} << {self.choose(20, 31)}u)", f"({lane} + {n} * 477218588u)",
             f"({lane} * ({n} * 715827883u & {self.pick((2147483649, 3221225472))}u))")
        )  # fmt: skip

    def real(self, depth: int = 0) -> str:
        """An expression of type float; in other modes than safe, one that leaves nothing to round."""
        what = self.choose(0, 5 if self.math == "safe" and depth < 2 else 2)
        if what == 0:
            return self.pick(("f0", "f1"))
        if what <= 2:
            return self.pick(
                ("1.5f", "0.25f", "-3.0f", "b[i]", "float(lane)", "fs[i]", f"float({self.integer(2)} & 255u)",
                 "float(few)", "float(few)", "float(high & 0x10fu)")
            )  # fmt: skip
        x, y = self.real(depth + 1), self.real(depth + 1)
        if what <= 4:
            return f"({x} {self.pick(('+', '-', '*'))} {y})"
        # Of 0 and -0 the least may be either; with 0 added it is 0.
        least, most = (f"({name}({x}, {y}) + 0.0f)" for name in ("min", "max"))
        return self.pick((f"fabs({x})", least, most, f"fma({x}, 2.0f, {y})", f"floor({x})"))

    def condition(self, depth: int = 1) -> str:
        """A condition that threads of a SIMD-group may see differently."""
        if self.flags and self.chance(4):
            return self.pick(self.flags)
        if self.chance(5):
            return f"({self.real(depth + 1)} {self.pick(('<', '>', '<='))} {self.real(depth + 1)})"
        if self.chance(3):
            name, limit = self.pick(
                (("lane", 31), ("t", 63), ("lid.x", 7), ("lid.y", 3), ("pos.x", 31), ("i", 99))
            )
            return f"({name} {self.pick(COMPARE)} {self.choose(0, limit)}u)"
        return f"({self.integer(depth + 1)} {self.pick(COMPARE)} {self.integer(depth + 1)})"

    def uniform(self) -> str:
        """A condition on which all threads of a threadgroup agree."""
        return self.pick(
            ("S.y > 1", "S.x > S.y", "S.z == 1", "size > 32", f"args[0] > {self.choose(0, 9)}u", "group.x == 0",
             f"(args[1] & {self.pick((1, 2, 4))}u) != 0", f"size > {self.pick((8, 16, 40, 64))}u", "args[0] < args[1]")
        )  # fmt: skip

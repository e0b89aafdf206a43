"""Expressions of MSL programs made at random: 32-bit, 64-bit, half, bfloat and float; every kind of index.

What a program can name is listed here; `programs.FRAME` declares it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Choose = Callable[[int, int], int]  # a number between two, both included

INTS = ("u0", "u1", "u2", "u3")
WIDE = ("w0", "w1")
FLOATS = ("f0", "f1")
BINARY = ("+", "-", "*", "&", "|", "^")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
NAMES = (
    "i",
    "t",
    "lane",
    "args[0]",
    "args[1]",
    "a[i]",
    "p[u0 & 7]",
    "p[u1 & 7]",
    "pos.x",
    "lid.y",
    "group.x",
    "size",
)
# Inside `far`, which has 4 * N + 2048 elements: falling, strided, of two and three dimensions, across lanes;
# with 16 to 64 bits.
INDICES = (
    "N - 1 - i",
    "(N - 1 - i) * 3 + {c}",
    "i * 4 + {c}",
    "i * 2 + lane",
    "size - 1 - t",
    "63 - lane",
    "31 - (lane ^ 3)",
    "i / 4 + {c}",
    "i % 8 * 7",
    "i ^ 1",
    "pos.y * G.x + pos.x",
    "(pos.z * G.x + pos.x) * G.y + pos.y",
    "(G.y - 1 - pos.y) * G.x + pos.x",
    "(G.x - 1 - pos.x) * G.y + pos.y",
    "lid.y * S.x + lid.x",
    "lid.x * S.y + lid.y",
    "(lid.z * S.y + lid.y) * 4 + (lid.x & 3)",
    "args[0] * lane",
    "args[1] * lid.x + lid.y",
    "group.x * size + (size - 1 - t)",
    "t * 4 + {c}",
    "(u0 & 255) + t",
    "u1 % 1024",
    "min(u2, 100u)",
    "(i - 5) & 1023",
    "ulong(N) - 1 - ulong(i)",
    "long(N) - 1 - long(i)",
    "int(N) - 1 - int(i)",
    "size_t(pos.y) * size_t(G.x) + size_t(pos.x)",
    "long(G.y - 1 - pos.y) * long(G.x) + long(pos.x)",
    "ulong(i) * args[0] / 4",
    "ulong(i) * 4 + {c}",
    "(ulong(i) << 33) >> 32",
    "long(size) - 1 - t",
    "(ulong(u0) << 20) % 1024",
    "ushort(63) - ushort(lane)",
)
SIMD_INT = (
    "simd_sum({})",
    "simd_max({})",
    "simd_min({})",
    "simd_xor({})",
    "simd_or({})",
    "simd_and({})",
    "simd_product({} | 1)",
    "uint(simd_max(int({})))",
    "uint(simd_min(short({})))",
    "simd_prefix_inclusive_sum({})",
    "simd_prefix_exclusive_sum({})",
    "simd_prefix_inclusive_product({})",
    "quad_sum({})",
    "quad_max({})",
    "quad_xor({})",
    "simd_broadcast_first({})",
    "simd_shuffle({}, ushort({} & 31))",
    "simd_shuffle_xor({}, ushort(5))",
    "simd_shuffle_up({}, ushort({} & 7))",
    "simd_shuffle_down({}, ushort(3))",
    "simd_shuffle_rotate_down({}, ushort(7))",
    "uint(simd_any({} > 7))",
    "uint(simd_all({} > 7))",
    "uint(ulong(simd_ballot({} & 1)))",
    "popcount(uint(ulong(simd_active_threads_mask())))",
    "quad_shuffle_xor({}, ushort(2))",
    "quad_shuffle({}, ushort({} & 3))",
    "simd_broadcast({}, ushort(4))",
    "quad_broadcast({}, ushort(1))",
    "uint(simd_is_first()) * {}",
    "uint(simd_sum(float({} & 255)))",
    "uint(simd_max(half({} & 1023)))",
    "as_type<uint>(simd_shuffle_xor(float({} & 4095), ushort(9)))",
)


@dataclass
class Expressions:
    """Writes expressions; `choose` makes every decision."""

    choose: Choose
    simd: bool
    barriers: bool
    lines: list[str] = field(default_factory=list)
    loops: int = 0
    budget: int = 12

    def pick(self, items: tuple[str, ...]) -> str:
        return items[self.choose(0, len(items) - 1)]

    def number(self) -> str:
        return str((0, 1, 2, 3, 5, 7, 31, 32, 255, 65535, 2147483647, 4294967295)[self.choose(0, 11)]) + "u"

    def index(self) -> str:
        return self.pick(INDICES).format(c=self.choose(0, 3))

    def integer(self, depth: int = 0) -> str:
        """An expression of type uint."""
        what = self.choose(0, 14 if depth < 2 else 4)
        if what <= 1:
            return self.pick(INTS)
        if what == 2:
            return self.number()
        if what == 3:
            return self.pick(NAMES)
        if what == 4:
            return f"far[{self.index()}]"
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        match what:
            case 5 | 6 | 7:
                return f"({x} {self.pick(BINARY)} {y})"
            case 8:
                return f"({x} {self.pick(('<<', '>>'))} ({y} & 31u))"
            case 9:
                kind = self.pick(("uint", "int", "uint", "short", "uchar", "long"))
                # A zero that clang sees coming is undefined behaviour; one that is loaded is not.
                by = self.pick((f"{y} | 1u", f"{y} | 1u", "a[i] & 3u", "far[63 - lane] & 7u"))
                return f"uint({kind}({x}) {self.pick(('/', '%'))} {kind}({by}))"
            case 10:
                return f"uint({self.pick(('uchar', 'short', 'char', 'ushort', 'long', 'ulong'))}({x}))"
            case 11:
                return f"({self.condition(depth + 1)} ? {x} : {y})"
            case 12:
                return self.pick((f"uint({self.wide(depth + 1)} >> 17)", f"uint({self.wide(depth + 1)})"))
            case 13:
                return self.pick(
                    (
                        "m.c",
                        f"mix3(m, {x})",
                        "uint(m.e)",
                        f"uint(hs[{self.index()}])",
                        f"as_type<uint>(fs[{self.index()}])",
                        f"things[i].c + {x}",
                        "uint(things[i].b)",
                        f"v[{x} & 3]",
                        "v.z",
                        "(far + N)[-1 - int(i)]",
                        "(far + N)[-1 - long(i)]",
                        "(far + i)[long(N) - 1 - 2 * long(i)]",
                    )
                )
            case _:
                return self.pick(
                    (
                        f"uint({self.real(depth + 1)})",
                        f"min({x}, {y})",
                        f"popcount({x})",
                        f"uint(int({x}) >> 3)",
                        f"a[({x}) % N]",
                        f"uint(abs(int({x})))",
                        f"uint((ulong({x}) * ulong({y})) >> 32)",
                        f"clz({x})",
                        f"mulhi({x}, {y})",
                        f"rotate({x}, {y})",
                        f"reverse_bits({x})",
                        f"uint(half({self.real(depth + 1)}))",
                    )
                )

    def wide(self, depth: int = 0) -> str:
        """An expression of type ulong."""
        what = self.choose(0, 6 if depth < 2 else 2)
        if what <= 1:
            return self.pick(WIDE)
        if what == 2:
            return self.pick(("longs[i]", "longs[N - 1 - i]", "m.e", "ulong(i) << 33", "0xfffffffffull"))
        x = f"ulong({self.integer(depth + 1)})" if self.choose(0, 1) else self.wide(depth + 1)
        y = self.wide(depth + 1)
        match what:
            case 3 | 4:
                return f"({x} {self.pick(BINARY)} {y})"
            case 5:
                kind = self.pick(("ulong", "long"))
                by = self.pick(
                    ("/ ({k}({y}) | 1)", "% ({k}({y}) | 1)", ">> ({k}({y}) & 63)", "<< ({k}({y}) & 63)")
                )
                return f"ulong({kind}({x}) {by.format(k=kind, y=y)})"
            case _:
                return self.pick(
                    (f"ulong(long({x}) >> 5)", f"max({x}, {y})", f"({self.condition(depth + 1)} ? {x} : {y})")
                )

    def real(self, depth: int = 0) -> str:
        """An expression of type float whose result does not depend on the order of anything."""
        what = self.choose(0, 7 if depth < 2 else 1)
        if what == 0:
            return self.pick(FLOATS)
        if what == 1:
            return self.pick(
                ("1.5f", "0.25f", "-3.0f", "100.0f", "b[i]", "float(lane)", "float(h)", "float(m.d)")
            )
        x, y = self.real(depth + 1), self.real(depth + 1)
        match what:
            case 2 | 3:
                return f"({x} {self.pick(('+', '-', '*'))} {y})"
            case 4:
                return f"float({self.integer(depth + 1)})"
            case 5:
                return self.pick(
                    (
                        f"float(half({x}) * half({y}))",
                        f"float(bfloat({x}) + bfloat({y}))",
                        f"floor({x})",
                        f"float(half({x}) - h)",
                        f"float(bfloat({x}) * bfloat({y}))",
                    )
                )
            case 6:
                return self.pick(
                    (
                        f"fs[{self.index()}]",
                        f"float(hs[{self.index()}])",
                        f"float(bs[{self.index()}])",
                        "q[u3 & 3].y",
                        "dot(q[1], float4(1, 2, 4, 8))",
                    )
                )
            case _:
                return self.pick(
                    (
                        f"fabs({x})",
                        f"min({x}, {y})",
                        f"max({x}, {y})",
                        f"({self.condition(depth + 1)} ? {x} : {y})",
                        f"fma({x}, 2.0f, {y})",
                        f"trunc({x})",
                    )
                )

    def condition(self, depth: int = 0) -> str:
        what = self.choose(0, 6)
        if what == 0:
            return f"({self.real(depth + 1)} {self.pick(('<', '>', '<='))} {self.real(depth + 1)})"
        if what == 1:
            return f"(int({self.integer(depth + 1)}) {self.pick(COMPARE)} int({self.integer(depth + 1)}))"
        if what == 2 and depth < 2:
            return f"({self.wide(depth + 1)} {self.pick(COMPARE)} {self.wide(depth + 1)})"
        return f"({self.integer(depth + 1)} {self.pick(COMPARE)} {self.integer(depth + 1)})"

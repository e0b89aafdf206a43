"""Make MSL programs at random that have one right result.

Threads write only what is theirs; threadgroup memory is read only behind a barrier, and barriers stand where all
threads come by. Everything else goes: nested loops, break, continue, switch, early return, private arrays,
SIMD-group operations where lanes have parted, narrow and wide integers, half, bfloat and float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Choose = Callable[[int, int], int]  # a number between two, both included

INTS = ("u0", "u1", "u2", "u3")
FLOATS = ("f0", "f1")
BINARY = ("+", "-", "*", "&", "|", "^")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
SIMD_INT = (
    "simd_sum({})",
    "simd_max({})",
    "simd_min({})",
    "simd_xor({})",
    "simd_or({})",
    "simd_prefix_inclusive_sum({})",
    "simd_prefix_exclusive_sum({})",
    "quad_sum({})",
    "quad_max({})",
    "simd_broadcast_first({})",
    "simd_shuffle({}, ushort({} & 31))",
    "simd_shuffle_xor({}, ushort(5))",
    "simd_shuffle_up({}, ushort({} & 7))",
    "simd_shuffle_down({}, ushort(3))",
    "uint(simd_any({} > 7))",
    "uint(simd_all({} > 7))",
    "uint(ulong(simd_ballot({} & 1)))",
    "quad_shuffle_xor({}, ushort(2))",
    "simd_broadcast({}, ushort(4))",
    "quad_broadcast({}, ushort(1))",
    "uint(simd_is_first()) * {}",
)


@dataclass
class Maker:
    """Writes one kernel; `choose` makes every decision."""

    choose: Choose
    simd: bool
    barriers: bool
    lines: list[str] = field(default_factory=list)
    loops: int = 0
    budget: int = 16

    def pick(self, items: tuple[str, ...]) -> str:
        return items[self.choose(0, len(items) - 1)]

    def number(self) -> str:
        return str((0, 1, 2, 3, 5, 7, 31, 32, 255, 65535, 2147483647, 4294967295)[self.choose(0, 11)]) + "u"

    def integer(self, depth: int = 0) -> str:
        """An expression of type uint."""
        what = self.choose(0, 11 if depth < 2 else 3)
        if what <= 1:
            return self.pick(INTS)
        if what == 2:
            return self.number()
        if what == 3:
            return self.pick(("i", "t", "lane", "args[0]", "args[1]", "a[i]", "p[u0 & 7]", "p[u1 & 7]"))
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        match what:
            case 4 | 5 | 6:
                return f"({x} {self.pick(BINARY)} {y})"
            case 7:
                return f"({x} {self.pick(('<<', '>>'))} ({y} & 31u))"
            case 8:
                kind = self.pick(("uint", "int", "uint", "short", "uchar", "long"))
                return f"uint({kind}({x}) {self.pick(('/', '%'))} {kind}({y}))"
            case 9:
                return f"uint({self.pick(('uchar', 'short', 'char', 'ushort', 'long', 'ulong'))}({x}))"
            case 10:
                return f"({self.condition(depth + 1)} ? {x} : {y})"
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
                    )
                )

    def real(self, depth: int = 0) -> str:
        """An expression of type float whose result does not depend on the order of anything."""
        what = self.choose(0, 6 if depth < 2 else 1)
        if what == 0:
            return self.pick(FLOATS)
        if what == 1:
            return self.pick(("1.5f", "0.25f", "-3.0f", "100.0f", "b[i]", "float(lane)"))
        x, y = self.real(depth + 1), self.real(depth + 1)
        match what:
            case 2 | 3:
                return f"({x} {self.pick(('+', '-', '*'))} {y})"
            case 4:
                return f"float({self.integer(depth + 1)})"
            case 5:
                return self.pick(
                    (f"float(half({x}) * half({y}))", f"float(bfloat({x}) + bfloat({y}))", f"floor({x})")
                )
            case _:
                return self.pick(
                    (
                        f"fabs({x})",
                        f"min({x}, {y})",
                        f"max({x}, {y})",
                        f"({self.condition(depth + 1)} ? {x} : {y})",
                    )
                )

    def condition(self, depth: int = 0) -> str:
        if self.choose(0, 4) == 0:
            return f"({self.real(depth + 1)} {self.pick(('<', '>', '<='))} {self.real(depth + 1)})"
        return f"({self.integer(depth + 1)} {self.pick(COMPARE)} {self.integer(depth + 1)})"

    def statements(self, indent: int, count: int, loop: bool, uniform: bool) -> None:
        for _ in range(count):
            if self.budget <= 0:
                return
            self.budget -= 1
            self.statement(indent, loop, uniform)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def body(self, indent: int, loop: bool, uniform: bool) -> None:
        self.statements(indent, self.choose(1, 3), loop, uniform)

    def statement(self, indent: int, loop: bool, uniform: bool) -> None:
        what = self.choose(0, 15)
        if what <= 3 or indent > 4:
            self.assign(indent)
        elif what <= 6:
            self.line(indent, f"if ({self.condition()}) {{")
            self.body(indent + 1, loop, False)
            if self.choose(0, 1):
                self.line(indent, "} else {")
                self.body(indent + 1, loop, False)
            self.line(indent, "}")
        elif what == 7:
            self.loops += 1
            n = f"n{self.loops}"
            limit = f"({self.integer(1)} & 7u)" if self.choose(0, 2) else str(self.choose(1, 4))
            self.line(indent, f"for (uint {n} = 0; {n} < {limit}; {n}++) {{")
            self.body(indent + 1, True, False)
            self.line(indent, "}")
        elif what == 8:
            self.loops += 1
            n = f"n{self.loops}"
            self.line(indent, f"uint {n} = 0;")
            self.line(indent, f"while ({self.condition()} && {n} < 6) {{ {n}++;")
            self.body(indent + 1, True, False)
            self.line(indent, "}")
        elif what == 9 and loop:
            self.line(indent, f"if ({self.condition()}) {self.pick(('break', 'continue'))};")
        elif what == 10:
            self.line(indent, f"p[{self.integer(1)} & 7u] = {self.integer()};")
        elif what == 11:
            self.line(
                indent, f"out[i * 8 + {self.choose(0, 3)}] {self.pick(('=', '+=', '^='))} {self.integer()};"
            )
        elif what == 12:
            self.line(indent, f"switch ({self.integer(1)} % 5) {{")
            for case in range(self.choose(1, 3)):
                self.line(indent, f"case {case}: {{")
                self.body(indent + 1, False, False)
                self.line(indent, "}" + (" break;" if self.choose(0, 2) else ""))
            self.line(indent, f"default: {self.pick(INTS)} += 3; }}")
        elif what == 13 and self.simd:
            form = self.pick(SIMD_INT)
            parts = [self.integer(1) for _ in range(form.count("{}"))]
            self.line(indent, f"{self.pick(INTS)} ^= {form.format(*parts)};")
        elif what == 14 and uniform and self.barriers:
            self.exchange(indent)
        elif what == 15 and not self.barriers and not self.choose(0, 3):
            self.line(indent, f"if ({self.condition()}) {{ out[i * 8 + 7] = {self.integer(1)}; return; }}")
        elif uniform and self.barriers:
            self.uniform_block(indent)
        else:
            self.assign(indent)

    def uniform_block(self, indent: int) -> None:
        """Control flow that all threads share, with barriers inside."""
        if self.choose(0, 1):
            self.loops += 1
            n = f"n{self.loops}"
            self.line(indent, f"for (uint {n} = 0; {n} < {self.pick(('args[0] % 4', '2', '3'))}; {n}++) {{")
        else:
            self.line(indent, f"if (args[1] {self.pick(COMPARE)} {self.choose(0, 9)}) {{")
        self.exchange(indent + 1)
        self.body(indent + 1, False, True)
        self.line(indent, "}")

    def exchange(self, indent: int) -> None:
        self.line(indent, f"s[t] = {self.integer(1)};")
        self.line(indent, "threadgroup_barrier(mem_flags::mem_threadgroup);")
        self.line(indent, f"{self.pick(INTS)} += s[(t + {self.choose(0, 40)}) % size];")
        self.line(indent, "threadgroup_barrier(mem_flags::mem_threadgroup);")

    def assign(self, indent: int) -> None:
        if self.choose(0, 3) == 0:
            self.line(indent, f"{self.pick(FLOATS)} = {self.real()};")
        else:
            self.line(indent, f"{self.pick(INTS)} {self.pick(('=', '=', '+=', '^='))} {self.integer()};")


def program(choose: Choose) -> str:
    """The text of a kernel `k`: in a, b, args; out."""
    maker = Maker(choose, simd=bool(choose(0, 1)), barriers=bool(choose(0, 1)))
    maker.statements(1, 8, False, True)
    return "\n".join(
        [
            "kernel void k(device const uint* a, device const float* b, device uint* out, constant uint* args,",
            "    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],",
            "    uint lane [[thread_index_in_simdgroup]], uint size [[threads_per_threadgroup]],",
            "    uint N [[threads_per_grid]]) {",
            "    threadgroup uint s[1024];",
            "    uint p[8]; for (uint n = 0; n < 8; n++) p[n] = n * i;",
            "    uint u0 = a[i], u1 = i * 3, u2 = 7, u3 = args[0]; float f0 = b[i], f1 = float(i) * 0.5f;",
            *maker.lines,
            "    uint mix = 0; for (uint n = 0; n < 8; n++) mix = mix * 31 + p[n];",
            "    out[i * 8 + 4] = u0 ^ (u1 * 3) ^ (u2 * 5) ^ (u3 * 7); out[i * 8 + 5] = mix;",
            "    out[i * 8 + 6] = as_type<uint>(f0) ^ as_type<uint>(f1 * 2);",
            "}",
        ]
    )

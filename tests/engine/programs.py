"""Make MSL programs at random that have one right result.

Threads write only what is theirs; threadgroup memory is read only behind a barrier, and barriers stand where all
threads come by; atomics on shared words are of the kind whose result does not depend on who comes first. Everything
else goes: nested loops, break, continue, switch into and out of them, early return, private arrays, structs by value
and by reference, SIMD-group operations where lanes have parted.
"""

from __future__ import annotations

import re

from tests.engine.expressions import COMPARE, FLOATS, INTS, SIMD_INT, WIDE, Choose, Expressions

STRIDED = (
    "for (uint {n} = lane; {n} < 90; {n} += 32) u{c} += far[{n}] ^ {n};",
    "for (uint {n} = t; {n} < N; {n} += size) u{c} = u{c} * 3 + far[N - 1 - {n}];",
    "for (int {n} = int(size) - 1; {n} >= int(t); {n} -= 5) u{c} += far[{n}];",
    "for (uint {n} = 0; {n} < 5; {n}++) u{c} ^= far[(4 - {n}) * args[0] + t];",
    "for (uint {n} = 0; {n} < 3; {n}++) f1 += fs[i + {n} * G.x];",
    "for (uint {n} = 0; {n} < 4; {n}++) p[7 - {n}] += p[{n}] + far[i * 4 + {n}];",
    "for (uint {n} = u{c} & 7; {n} != 0; {n}--) p[{n}] += far[{n} * 8 + lane];",
    "for (ulong {n} = t; {n} < N; {n} += size) u{c} += far[ulong(N) - 1 - {n}];",
    "for (long {n} = long(N) - 1 - i; {n} >= 0; {n} -= 7) u{c} ^= far[{n}];",
    "for (ulong {n} = 0; {n} < 4; {n}++) u{c} += far[(ulong(N) - 1 - i) * 4 + {n}];",
)
PRIVATE = (
    "q[{x} & 3u] = float4({f}, {f}, f0, f1);",
    "q[{x} & 3u].z += {f};",
    "v = uint4(u0, {x}, v.x, u1).yxwz;",
    "v[{x} & 3u] += {y};",
    "m.c += {x}; m.a = uchar({y}); m.e ^= {w};",
    "m = turned(m, {x});",
    "twist(m, {x});",
    "ms[{x} & 1u] = m; m = ms[u3 & 1u];",
    "h = half({f});",
    "h += half({x} & 63u) * 0.5h;",
    "m.d = h; m.v.y = f1;",
)
OWN = (
    "out[i * 8 + {c}] {o} {x};",
    "out[ulong(i) * 8 + {c}] {o} {x};",
    "more[(N - 1 - i) * 4 + {c}] {o} {x};",
    "more[(long(N) - 1 - long(i)) * 4 + {c}] {o} {x};",
    "more[4 * N + (pos.z * G.x + pos.x) * G.y + pos.y] {o} {x};",
    "things[i].c {o} {x};",
    "things[i].b = ushort({x}); things[i].e ^= {w};",
    "things[i] = m;",
    "hout[N - 1 - i] = half({f});",
    "hout[ulong(N) - 1 - i] = half({f});",
    "(hout + N)[-1 - long(i)] = half({f});",
    "bout[i] = bfloat({f});",
    "wout[i] {o} {w};",
    "vout[i] = v;",
    "vout[i].yz = uint2({x}, {y});",
)
# One word each; or words that everyone changes in a way whose end does not depend on the order.
ATOMIC = (
    "u{c} += atomic_fetch_add_explicit(&own[i], {x}, memory_order_relaxed);",
    "u{c} ^= atomic_exchange_explicit(&own[i], {x}, memory_order_relaxed);",
    "u{c} ^= atomic_fetch_max_explicit(&own[N + (N - 1 - i)], {x}, memory_order_relaxed);",
    "atomic_fetch_add_explicit(&shared[{x} & 7u], {y}, memory_order_relaxed);",
    "atomic_fetch_xor_explicit(&shared[8 + (u{c} & 7u)], {y}, memory_order_relaxed);",
    "atomic_fetch_max_explicit(&shared[16], {x}, memory_order_relaxed);",
    "atomic_fetch_or_explicit(&shared[17 + (lane & 1)], {x}, memory_order_relaxed);",
    "atomic_fetch_min_explicit(&shared[19], {x}, memory_order_relaxed);",
    "{{ uint ticket = atomic_fetch_add_explicit(&shared[20], 1u, memory_order_relaxed);"
    " atomic_fetch_add_explicit(&shared[32 + (ticket & 63u)], 1u, memory_order_relaxed); }}",
    "{{ uint seen = atomic_load_explicit(&shared[21], memory_order_relaxed); while"
    " (!atomic_compare_exchange_weak_explicit(&shared[21], &seen, seen * 3u, memory_order_relaxed,"
    " memory_order_relaxed)) {{}} }}",
    "atomic_fetch_add_explicit(&total[lane & 3], float({x} & 15u), memory_order_relaxed);",
    "{{ uint was = {x}; bool won = atomic_compare_exchange_weak_explicit(&own[i], &was, {y}, memory_order_relaxed,"
    " memory_order_relaxed); u{c} += won ? 1u : was; }}",
)


class Maker(Expressions):
    """Writes one kernel."""

    def fill(self, form: str) -> str:
        parts = {
            "x": self.integer(1),
            "y": self.integer(1),
            "f": self.real(1),
            "w": self.wide(1),
            "c": self.choose(0, 3),
            "o": self.pick(("=", "+=", "^=")),
        }
        return form.format(**parts)

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

    def name(self) -> str:
        self.loops += 1
        return f"n{self.loops}"

    def statement(self, indent: int, loop: bool, uniform: bool) -> None:
        what = self.choose(0, 22)
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
            self.counted_loop(indent)
        elif what == 8:
            n = self.name()
            self.line(indent, f"uint {n} = 0;")
            self.line(indent, f"while ({self.condition()} && {n} < 6) {{ {n}++;")
            self.body(indent + 1, True, False)
            self.line(indent, "}")
        elif what == 9 and loop:
            self.line(indent, f"if ({self.condition()}) {self.pick(('break', 'continue'))};")
        elif what == 10:
            self.line(indent, f"p[{self.integer(1)} & 7u] = {self.integer()};")
        elif what in (11, 16):
            self.line(indent, self.fill(self.pick(OWN)))
        elif what == 12:
            self.switch(indent)
        elif what in (13, 22) and self.simd:
            form = self.pick(SIMD_INT)
            parts = [self.integer(1) for _ in range(form.count("{}"))]
            self.line(indent, f"{self.pick(INTS)} ^= {form.format(*parts)};")
        elif what == 14 and uniform and self.barriers:
            self.exchange(indent)
        elif what == 15 and not self.barriers and not self.choose(0, 3):
            self.line(indent, f"if ({self.condition()}) {{ out[i * 8 + 7] = {self.integer(1)}; return; }}")
        elif what in (17, 18):
            self.line(indent, self.fill(self.pick(PRIVATE)))
        elif what == 19:
            self.line(indent, self.pick(STRIDED).format(n=self.name(), c=self.choose(0, 3)))
        elif what == 20:
            self.line(indent, self.fill(self.pick(ATOMIC)))
        elif what == 21 and not self.choose(0, 2):
            self.into_a_loop(indent)
        elif uniform and self.barriers:
            self.uniform_block(indent)
        else:
            self.assign(indent)

    def counted_loop(self, indent: int) -> None:
        n = self.name()
        limit = f"({self.integer(1)} & 7u)" if self.choose(0, 2) else str(self.choose(1, 4))
        if self.choose(0, 3):
            self.line(indent, f"for (uint {n} = 0; {n} < {limit}; {n}++) {{")
        else:
            self.line(indent, f"for (int {n} = int({limit}); {n} >= 0; {n} -= {self.choose(1, 3)}) {{")
        self.body(indent + 1, True, False)
        self.line(indent, "}")

    def switch(self, indent: int) -> None:
        self.line(indent, f"switch ({self.integer(1)} % 5) {{")
        for case in range(self.choose(1, 3)):
            self.line(indent, f"case {case}: {{")
            self.body(indent + 1, False, False)
            self.line(indent, "}" + (" break;" if self.choose(0, 2) else ""))
        self.line(indent, f"default: {self.pick(INTS)} += 3; }}")

    def into_a_loop(self, indent: int) -> None:
        """A loop that a switch enters at several places."""
        n = self.name()
        self.line(indent, f"uint {n} = 0; switch ({self.integer(1)} % 3) {{ case 0: do {{")
        for label in ("", "case 1:", "default:"):
            self.line(indent, f"{label} {{")
            self.body(indent + 1, False, False)
            self.line(indent, "}")
        self.line(indent, f"}} while ({self.condition()} && ++{n} < 4); }}")

    def uniform_block(self, indent: int) -> None:
        """Control flow that all threads share, with barriers inside."""
        if self.choose(0, 1):
            n = self.name()
            self.line(indent, f"for (uint {n} = 0; {n} < {self.pick(('args[0] % 4', '2', '3'))}; {n}++) {{")
        else:
            self.line(indent, f"if (args[1] {self.pick(COMPARE)} {self.choose(0, 9)}) {{")
        self.exchange(indent + 1)
        self.body(indent + 1, False, True)
        self.line(indent, "}")

    def exchange(self, indent: int) -> None:
        """Something goes through threadgroup memory."""
        barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
        what = self.choose(0, 4)
        take = self.pick(INTS)
        if what == 0:
            self.line(indent, f"halves[size - 1 - t] = half({self.integer(1)} & 1023u); {barrier}")
            self.line(indent, f"{take} += uint(halves[(t * 3 + {self.choose(0, 40)}) % size]); {barrier}")
        elif what == 1:
            self.line(indent, f"tile[lid.z][lid.y & 7][lid.x & 31] = 0; {barrier}")
            self.line(
                indent,
                f"atomic_fetch_add_explicit(&bins[{self.integer(1)} & 7u], {self.integer(1)},"
                f" memory_order_relaxed); {barrier}",
            )
            self.line(
                indent,
                f"{take} ^= atomic_load_explicit(&bins[t & 7], memory_order_relaxed)"
                f" + tile[lid.z][lid.y & 7][lid.x & 31]; {barrier}",
            )
        else:
            self.line(indent, f"s[t] = {self.integer(1)};")
            self.line(indent, barrier)
            index = self.pick(("(t + {c}) % size", "size - 1 - t", "t ^ 1", "(t * 5 + {c}) % size"))
            self.line(indent, f"{take} += s[{index.format(c=self.choose(0, 40))}];")
            self.line(indent, barrier)

    def assign(self, indent: int) -> None:
        what = self.choose(0, 7)
        if what <= 1:
            self.line(indent, f"{self.pick(FLOATS)} = {self.real()};")
        elif what == 2:
            self.line(indent, f"{self.pick(WIDE)} {self.pick(('=', '+=', '^='))} {self.wide()};")
        else:
            self.line(indent, f"{self.pick(INTS)} {self.pick(('=', '=', '+=', '^='))} {self.integer()};")


STRUCTS = """
struct Thing { uchar a; ushort b; uint c; half d; ulong e; float4 v; };
struct Pair { uint x; Thing y; };
static uint mix3(Thing m, uint x) { return m.c * 3 + x + uint(m.a) + uint(m.b); }
static Thing turned(Thing m, uint x) { m.c ^= x; m.b = ushort(m.c >> 3); m.v = m.v.wxyz; return m; }
static void twist(thread Thing& m, uint x) { Pair pair; pair.x = x; pair.y = m; pair.y.c += pair.x; m = pair.y; }
static uint bits(float f) { return isnan(f) ? 0x7fc00000u : as_type<uint>(f); }
"""
HEAD = """
kernel void k(device const uint* a, device const float* b, device uint* out, constant uint* args,
    device const uint* far, device const half* hs, device const bfloat* bs, device const float* fs,
    device const ulong* longs, device Thing* things, device uint* more, device half* hout, device bfloat* bout,
    device ulong* wout, device uint4* vout, device atomic_uint* own, device atomic_uint* shared,
    device atomic_float* total,
    uint3 pos [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
    uint3 lid [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint3 S [[threads_per_threadgroup]],
    uint3 G [[threads_per_grid]]) {
    uint i = pos.x + G.x * (pos.y + G.y * pos.z), N = G.x * G.y * G.z, size = S.x * S.y * S.z;
    uint u0 = a[i], u1 = i * 3, u2 = 7, u3 = args[0]; float f0 = b[i], f1 = float(i) * 0.5f;
"""
# What a program uses: how to see that it does, how it begins, how it shows in the end.
PARTS = (
    (r"\bs\[", "threadgroup uint s[1024];", ""),
    (r"\bhalves\[", "threadgroup half halves[1024];", ""),
    (r"\btile\[", "threadgroup uint tile[4][8][32]; threadgroup atomic_uint bins[8];", ""),
    (
        r"\bp\[",
        "uint p[8]; for (uint n = 0; n < 8; n++) p[n] = n * i;",
        "uint mixed = 0; for (uint n = 0; n < 8; n++) mixed = mixed * 31 + p[n]; out[i * 8 + 5] = mixed;",
    ),
    (
        r"\bq\[",
        "float4 q[4]; for (uint n = 0; n < 4; n++) q[n] = float4(n, i, 0.5f, lane);",
        "more[5 * N + i] ^= bits(q[i & 3].x) ^ bits(q[2].z);",
    ),
    (
        r"\bm\b",
        "Thing m = things[i], ms[2] = {m, m};",
        "wout[N + i] ^= m.e; out[i * 8 + 5] += m.a + m.b * 3u + m.c + bits(float(m.d)) + bits(m.v.w);",
    ),
    (r"\bv\b", "uint4 v = uint4(i, t, 3, lane);", "vout[N + i] = v;"),
    (r"\bh\b", "half h = hs[i];", "more[5 * N + i] += bits(float(h));"),
    (r"\bw[01]\b", "ulong w0 = longs[i], w1 = ulong(i) << 30;", "wout[N + i] += w0 ^ (w1 * 5);"),
)
END = """
    out[i * 8 + 4] = u0 ^ (u1 * 3) ^ (u2 * 5) ^ (u3 * 7); out[i * 8 + 6] = bits(f0) ^ (bits(f1) * 3);
}
"""


def program(choose: Choose) -> str:
    """The text of a kernel `k`; test_fuzz makes its arrays."""
    maker = Maker(choose, simd=bool(choose(0, 1)), barriers=bool(choose(0, 1)))
    maker.statements(1, 8, False, True)
    body = "\n".join(maker.lines)
    used = [(before, after) for sign, before, after in PARTS if re.search(sign, body)]
    begin = "".join(f"    {before}\n" for before, _ in used)
    return STRUCTS + HEAD + begin + body + "".join(f"\n    {after}" for _, after in used) + END

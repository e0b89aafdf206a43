"""Shapes of values: worked out by hand, then random instructions, each lane computed in Python and held against
base + pattern."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metalloid.analysis.lane_layout import LaneLayout, Triple
from metalloid.analysis.lane_shape import LaneShape
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import ENTRY, full, short
from metalloid.ir.types import IntType, Type
from metalloid.ir.values import Int, Local
from tests.analysis.small import kernel, uniformity

EIGHT = LaneLayout(8, (64, 1, 1))
IOTA = tuple(range(8))


def shape(body: str, lanes: LaneLayout = EIGHT) -> LaneShape | None:
    """Of %x."""
    function = kernel(body)
    return uniformity(function, lanes).shape(function.definitions["x"].value)


@pytest.mark.parametrize(
    ("code", "pattern", "align"),
    [
        ("add i32 %i, 5", IOTA, 1),
        ("shl i32 %i, 2", tuple(4 * n for n in IOTA), 32),
        ("mul i32 %i, 3", tuple(3 * n for n in IOTA), 24),
        ("and i32 %i, 3", (0, 1, 2, 3) * 2, 8),
        ("xor i32 %i, 1", (1, 0, 3, 2, 5, 4, 7, 6), 8),
        ("lshr i32 %i, 1", (0, 0, 1, 1, 2, 2, 3, 3), 4),
        ("urem i32 %i, 4", (0, 1, 2, 3) * 2, 1 << 64),
    ],
)
def test_lanes_of_a_base_and_a_pattern(code: str, pattern: tuple[int, ...], align: int) -> None:
    found = shape(f"  %x = {code}")
    assert found is not None and (found.pattern, found.align) == (pattern, align)


def test_a_lane_times_a_uniform_value_keeps_the_value_s_name() -> None:
    found = shape("  %x = mul i32 %i, %g")
    assert found is not None and found.terms == (("g", IOTA),) and found.pattern is None


@pytest.mark.parametrize("code", ["add i32 %g, 7", "udiv i32 %i, 8", "lshr i32 %i, 3", "sub i32 %i, %i"])
def test_what_is_the_same_for_all_lanes(code: str) -> None:
    found = shape(f"  %x = {code}")
    assert found is not None and found.uniform


@pytest.mark.parametrize("code", ["mul i32 %i, %i", "udiv i32 %g, %i", "udiv i32 %i, 3", "ashr i32 %i, %g"])
def test_what_varies_freely(code: str) -> None:
    assert shape(f"  %x = {code}") is None


def test_loads_are_as_uniform_as_their_address() -> None:
    load = "  %q = getelementptr float, ptr addrspace(1) %p, i32 {}\n  %x = load float, ptr addrspace(1) %q"
    assert shape(load.format("%g")) == LaneShape()
    assert shape(load.format("%i")) is None


def test_an_address_is_a_number_of_bytes_from_its_buffer() -> None:
    found = shape("  %x = getelementptr i32, ptr addrspace(1) %p, i32 %i")
    assert found is not None and (found.pattern, found.align) == (tuple(4 * n for n in IOTA), 32)


LOOP = """  br label %loop
loop:
  %x = phi i32 [ {start}, %entry ], [ %next, %loop ]
  %next = add i32 %x, {step}
  %more = icmp ult i32 %next, {end}
  br i1 %more, label %loop, label %end
end:
  %out = phi i32 [ %x, %loop ]
  ret void"""


def test_a_counter_that_starts_at_the_lane_keeps_its_pattern() -> None:
    function = kernel(LOOP.format(start="%i", step=8, end="%g"))
    found = uniformity(function, EIGHT)
    counted = found.shape(function.definitions["x"].value)
    assert counted is not None and counted.pattern == IOTA
    # Each lane compares its own number: they leave at different times, and bring out what they had then.
    assert found.divergence.loops == {"loop"} and found.shape(function.definitions["out"].value) is None


def test_a_uniform_loop_stays_uniform() -> None:
    function = kernel(LOOP.format(start="0", step=1, end="%g"))
    found = uniformity(function, EIGHT)
    assert not found.divergence.branches and not found.varies(function.definitions["out"].value)


def test_a_number_that_may_have_wrapped_is_good_for_addresses_only() -> None:
    wide = "  %d = {} i32 %i, 5\n  %x = zext i32 %d to i64"
    wrapped, safe = shape(wide.format("sub")), shape(wide.format("add"))
    assert wrapped is not None and not wrapped.exact and wrapped.pattern == IOTA
    assert safe is not None and safe.exact and safe.pattern == IOTA
    # Of -4 ... 3 the first half, shifted, is large and the second 0.
    assert shape("  %d = sub i32 %i, 4\n  %x = lshr i32 %d, 2") is None


def test_what_is_chosen_has_what_both_have() -> None:
    choose = "  %c = icmp ult i32 {}, 3\n  %d = add i32 %i, 8\n  %x = select i1 %c, i32 %i, i32 {}"
    same = shape(choose.format("%g", "%d"))
    assert same is not None and same.pattern == IOTA and same.constant is None
    assert shape(choose.format("%g", "%g")) is None and shape(choose.format("%i", "%d")) is None


@pytest.mark.parametrize(
    ("condition", "other", "pattern"), [("%g", "%d", IOTA), ("%g", "7", None), ("%i", "%d", None)]
)
def test_a_phi_has_what_its_ways_have_where_lanes_come_together(
    condition: str, other: str, pattern: tuple[int, ...] | None
) -> None:
    found = shape(f"""  %d = add i32 %i, 8
  %c = icmp ult i32 {condition}, 3
  br i1 %c, label %then, label %end
then:
  br label %end
end:
  %x = phi i32 [ %i, %then ], [ {other}, %entry ]
  ret void""")
    assert (found is None) if pattern is None else (found is not None and found.pattern == pattern)


def test_the_bits_of_a_lane_turned_over_keep_a_small_pattern() -> None:
    found = shape("  %x = xor i32 %i, -1", LaneLayout(8, (8, 1, 1)))
    assert found is not None and (found.pattern, found.constant) == (IOTA[::-1], 0xFFFFFFF8)


def test_a_vote_is_uniform_in_gangs_of_a_simd_group_only() -> None:
    code = f"  %c = icmp ult i32 %i, 5\n  %x = call i1 @{full('simd_any')}(i1 %c)"
    assert shape(code, LaneLayout(32, (64, 1, 1))) == LaneShape()
    assert shape(code, LaneLayout(64, (64, 1, 1))) is None


# ---- random instructions ----------------------------------------------------------------------------------------

LAYOUTS = [
    LaneLayout(8, (64, 1, 1)),
    LaneLayout(32, (32, 1, 1)),
    LaneLayout(4, (4, 4, 2)),
    LaneLayout(16, (8, 8, 1)),
    LaneLayout(8, (16, 3, 1)),
]
START = f"""  %i = call i32 @{full("thread_index_in_threadgroup")}()
  %s = call i32 @{full("thread_index_in_simdgroup")}()
  %a = call i32 @{full("thread_position_in_threadgroup")}(i32 0)
  %b = call i32 @{full("thread_position_in_threadgroup")}(i32 1)
  %t = call i32 @{full("thread_position_in_grid")}(i32 0)
  %g = call i32 @{full("threadgroup_position_in_grid")}(i32 0)
  %n = call i32 @{full("threads_per_threadgroup")}(i32 0)
"""
AMOUNTS = {
    **dict.fromkeys(("add", "sub", "mul", "and", "or", "xor"), st.integers(-40, 70)),
    **dict.fromkeys(("shl", "lshr", "ashr"), st.integers(0, 31)),
    **dict.fromkeys(("udiv", "urem", "sdiv", "srem"), st.integers(1, 70)),
}


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A few instructions over what the start makes: by constants, by each other, to 64 bits and back."""
    known, lines = {32: ["i", "s", "a", "b", "t", "g", "n"], 64: []}, []
    for number in range(draw(st.integers(1, 6))):
        bits = draw(st.sampled_from([b for b in (32, 64) if known[b]]))
        late = (
            known[bits][-1:] if draw(st.booleans()) else known[bits]
        )  # long chains find more than many short ones
        value, name = draw(st.sampled_from(late)), f"v{number}"
        what = draw(st.sampled_from([*AMOUNTS, "wide", "both", "choose"]))
        if what == "wide":
            opcode, to = ("trunc", 32) if bits == 64 else (draw(st.sampled_from(["zext", "sext"])), 64)
            lines.append(f"  %{name} = {opcode} i{bits} %{value} to i{to}")
            bits = to
        elif what == "both":
            other, opcode = draw(st.sampled_from(known[bits])), draw(st.sampled_from(["add", "sub", "mul"]))
            lines.append(f"  %{name} = {opcode} i{bits} %{value}, %{other}")
        elif what == "choose":
            other = draw(st.sampled_from(known[bits]))
            lines.append(f"  %{name}c = icmp ult i32 %{draw(st.sampled_from(known[32]))}, 9")
            lines.append(f"  %{name} = select i1 %{name}c, i{bits} %{value}, i{bits} %{other}")
        else:
            lines.append(f"  %{name} = {what} i{bits} %{value}, {draw(AMOUNTS[what])}")
        known[bits].append(name)
    return "\n".join(lines)


@dataclass
class Thread:
    """One thread, computed as LLVM's manual says."""

    number: int
    group: int
    size: Triple

    def run(self, code: list[Instruction]) -> dict[str, int]:
        values: dict[str, int] = {}
        for i in code:
            if i.name:
                values[i.name] = self._one(i, values) & ((1 << i.type.bits) - 1)  # type: ignore[attr-defined]
        return values

    def _one(self, i: Instruction, values: dict[str, int]) -> int:
        if i.opcode == "call":
            return self._position(i)
        bits = [o.type.bits for o in i.operands]  # type: ignore[attr-defined]
        raw = [o.value if isinstance(o, Int) else values[o.name] for o in i.operands]  # type: ignore[attr-defined]
        signed = [r - (1 << b) if r >> b - 1 else r for r, b in zip(raw, bits, strict=True)]
        x, sx, y, sy = raw[0], signed[0], raw[-1], signed[-1]
        sign = -1 if (sx < 0) != (sy < 0) else 1
        results = {
            "add": lambda: x + y,
            "sub": lambda: x - y,
            "mul": lambda: x * y,
            "and": lambda: x & y,
            "or": lambda: x | y,
            "xor": lambda: x ^ y,
            "shl": lambda: x << y,
            "lshr": lambda: x >> y,
            "ashr": lambda: sx >> y,
            "udiv": lambda: x // y,
            "urem": lambda: x % y,
            "sdiv": lambda: sign * (abs(sx) // abs(sy)),
            "srem": lambda: sx - sy * sign * (abs(sx) // abs(sy)),
            "zext": lambda: x,
            "sext": lambda: sx,
            "trunc": lambda: x,
            "icmp": lambda: int(x < y),
            "select": lambda: raw[1] if x else y,
        }
        return results[i.opcode]()

    def _position(self, i: Instruction) -> int:
        axis = i.operands[0].value if i.operands else 0  # type: ignore[attr-defined]
        x, y, _ = self.size
        at = (self.number % x, self.number // x % y, self.number // (x * y))[axis]
        return {
            "thread_index_in_threadgroup": self.number,
            "thread_index_in_simdgroup": self.number % 32,
            "thread_position_in_threadgroup": at,
            "thread_position_in_grid": self.group * self.size[axis] + at,
            "threadgroup_position_in_grid": self.group,
            "threads_per_threadgroup": self.size[axis],
        }[short(i.called)]


def _signed(value: int, type: Type) -> int:
    """As a coefficient is read."""
    assert isinstance(type, IntType)
    return value - (1 << type.bits) if value >> type.bits - 1 else value


# A number that is negative as a coefficient, and not when the product is widened; lanes that wrap at two places.
LARGE = """  %v0 = mul i32 %g, -1
  %v1 = and i32 %v0, -2147483647
  %v2 = mul i32 %b, %v1
  %v3 = zext i32 %v2 to i64"""
APART = """  %v0 = sub i32 %i, 5
  %v1 = zext i32 %v0 to i64
  %v2 = sub i32 %i, 3
  %v3 = zext i32 %v2 to i64
  %v4 = sub i64 %v1, %v3"""


def holds(found: LaneShape, bits: int, lanes: list[int], coefficients: list[dict[str, int]]) -> bool:
    """Whether some base makes the shape true of these lanes' values."""
    whole = 1 << bits
    moved = [
        sum((values[c] if c else 1) * p[lane] for c, p in found.terms)
        for lane, values in enumerate(coefficients)
    ]
    bases = {(value - by) % whole for value, by in zip(lanes, moved, strict=True)}
    base = next(iter(bases))
    return (
        len(bases) == 1
        and base % min(found.align, whole) == 0
        and max(lanes) <= found.umax
        and found.constant in (None, base)
    )


@settings(max_examples=250, deadline=None)
@given(body=bodies(), lanes=st.sampled_from(LAYOUTS), group=st.sampled_from([0, 1, 7, 12345, (1 << 27) + 3]))
@example(body="  %v0 = shl i32 %i, 28\n  %v1 = lshr i32 %v0, 1", lanes=LAYOUTS[0], group=0)
@example(body=LARGE, lanes=LaneLayout(32, (16, 2, 1)), group=1)
@example(body=APART, lanes=LAYOUTS[0], group=0)
def test_every_lane_is_base_and_pattern(body: str, lanes: LaneLayout, group: int) -> None:
    function = kernel(body, START)
    assert function.name == ENTRY
    found = uniformity(function, lanes)
    code = list(function.instructions())
    for gang in range(lanes.gangs):
        threads = [Thread(gang * lanes.width + n, group, lanes.size).run(code) for n in range(lanes.width)]
        signed = [{n: _signed(x, function.definitions[n].type) for n, x in t.items()} for t in threads]
        for name, i in function.definitions.items():
            of = found.shape(Local(name, i.type))
            if of is None or not of.exact:  # inexact ones may have wrapped, and do for addresses only
                assert of is None or of.terms, f"%{name} is not the same in all lanes\n{body}"
                continue
            assert isinstance(i.type, IntType)
            values = [thread[name] for thread in threads]
            assert holds(of, i.type.bits, values, signed), f"%{name}, gang {gang}: {of} of {values}\n{body}"

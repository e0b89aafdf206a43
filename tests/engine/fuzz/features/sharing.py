"""Values that go through threadgroup memory: by thread, by row, by column, in every type."""

from __future__ import annotations

from tests.engine.fuzz.frame import MOST
from tests.engine.fuzz.writer import INTS, Place, Writer

# Element: how a uint goes in, and how it comes out.
ELEMENTS = (
    ("uint", "{}", "{}"),
    ("uint", "{}", "{}"),
    ("half", "half({} & 1023u)", "uint({})"),
    ("float", "float({} & 65535u)", "uint({})"),
    ("ulong", "(ulong({}) << 9)", "uint({} >> 5)"),
    ("uchar", "uchar({})", "uint({})"),
    ("short", "short({})", "uint({})"),
    ("bfloat", "bfloat({} & 127u)", "uint({})"),
    ("uint2", "uint2({}, t)", "({0}.x + {0}.y)"),
    ("float4", "float4(float({} & 255u), 1.0f, 2.0f, float(t))", "uint({0}.x + {0}.w)"),
    ("Slot", "Slot{{ushort({}), t}}", "({0}.a + {0}.b)"),
)
SLOT = "struct Slot { ushort a; uint b; };"
FLAGS = ("mem_threadgroup", "mem_threadgroup", "mem_device | mem_flags::mem_threadgroup")
LINES = (
    "size - 1 - t",
    "(t + {c}) % size",
    "t ^ (size % 2 == 0 ? 1u : 0u)",
    "(t * 5 + {c}) % size",
    "{x} % size",
)
# Rows of 34 elements: `launches` has at most 33 in a row, and at most 32 rows.
ROWS = ("[lid.z * S.y + (lid.y + {c}) % S.y][lid.x]", "[lid.z * S.y + lid.y][S.x - 1 - lid.x]", "[lid.z * S.y][lid.x]",
        "[{x} % (S.y * S.z)][lid.x]", "[(lid.z + 1) % S.z * S.y + S.y - 1 - lid.y][(lid.x + {c}) % S.x]")  # fmt: skip


def barrier(w: Writer) -> str:
    return f"threadgroup_barrier(mem_flags::{w.pick(FLAGS)});"


def write(w: Writer, place: Place) -> None:
    """Everyone writes a slot, everyone reads another's."""
    kind, put, take = w.pick(ELEMENTS)
    if kind == "Slot":
        w.top("Slot", SLOT)
    name = w.fresh("tile")
    parts = {"c": str(w.choose(0, 40)), "x": w.integer(2)}
    if kind == "float4" or w.chance(2):
        w.begins.append(f"threadgroup {kind} {name}[{MOST}];")
        slot, other = "[t]", f"[{w.pick(LINES).format(**parts)}]"
    else:
        w.begins.append(f"threadgroup {kind} {name}[32][34];")
        slot, other = "[lid.z * S.y + lid.y][lid.x]", w.pick(ROWS).format(**parts)
    w.line(place, f"{name}{slot} = {put.format(w.integer(1))}; {barrier(w)}")
    if w.chance(4):
        w.line(place, f"{w.pick(INTS)} = {w.integer()};")
    target = w.pick(INTS)
    w.line(place, f"{target} {w.pick(('+=', '^='))} {take.format(name + other)}; {barrier(w)}")


def tree(w: Writer, place: Place) -> None:
    """A sum down the rows of a threadgroup, in halves."""
    name, h = w.fresh("rows"), w.fresh("h")
    w.begins.append(f"threadgroup uint {name}[32][34];")
    slot = f"{name}[lid.z * S.y + lid.y][lid.x]"
    w.line(place, f"{slot} = {w.integer(1)}; {barrier(w)}")
    with w.block(place, f"for (uint {h} = 16; {h} > 0; {h} /= 2)", meet=True, loop=True) as below:
        w.line(
            below,
            f"if (lid.y < {h} && lid.y + {h} < S.y) {slot} += {name}[lid.z * S.y + lid.y + {h}][lid.x]; {barrier(w)}",
        )
    w.line(place, f"{w.pick(INTS)} ^= {name}[lid.z * S.y][lid.x]; {barrier(w)}")


def bins(w: Writer, place: Place) -> None:
    """Threadgroup atomics whose order does not matter."""
    name = w.fresh("bins")
    w.begins.append(f"threadgroup atomic_uint {name}[8];")
    kind = w.pick(("add", "xor", "max", "or"))
    clear = f"if (t < 8) atomic_store_explicit(&{name}[t], 0, memory_order_relaxed);"
    if w.chance(2):
        clear = (
            f"for (uint n = t; n < 8; n += size) atomic_store_explicit(&{name}[n], n, memory_order_relaxed);"
        )
    w.line(place, f"{clear} {barrier(w)}")
    where, seen = (
        f"&{name}[{w.integer(1)} & 7u]",
        f"atomic_load_explicit(&{name}[t & 7], memory_order_relaxed)",
    )
    w.line(
        place, f"atomic_fetch_{kind}_explicit({where}, {w.integer(1)}, memory_order_relaxed); {barrier(w)}"
    )
    w.line(place, f"{w.pick(INTS)} ^= {seen}; {barrier(w)}")

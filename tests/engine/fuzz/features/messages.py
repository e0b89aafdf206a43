"""One threadgroup writes, another reads: data, a fence, a flag; a flag, a fence, data.

Whoever sees the flag sees the data behind it, so that what is read never lags the flag: `claims` gets a bit where it
does. Two threads of the machine have to run it side by side for a mistake to show.
"""

from __future__ import annotations

from tests.engine.fuzz.writer import Place, Writer

FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
R = "memory_order_relaxed"
WORDS = 8
ROUNDS = 7  # the element of `args` that says how many messages there are
# Who writes, where its data lies, and which flag is its own: every thread, or one for all.
WAYS = (
    ("", "message + t * 8", "flag[t]"),
    ("", "message + t * 8", "flag[t]"),
    ("", "message + t * 8", "flag[t]"),
    (" && t == 0", "message", "flag[0]"),
)
LOADS = (
    "atomic_load_explicit(&{f}, {r})",
    "atomic_load_explicit(&{f}, {r})",
    "atomic_fetch_or_explicit(&{f}, 0u, {r})",
)


def write(w: Writer) -> None:
    """A whole program."""
    place, (who, data, flag) = Place(), w.pick(WAYS)
    w.line(place, f"device uint* data = {data};")
    rounds = f"for (uint r = 1; r <= args[{ROUNDS}]; r++)"
    with w.block(place, f"if (group.x == 0{who})") as below, w.block(below, rounds) as each:
        w.line(each, f"for (uint n = 0; n < {WORDS}; n++) data[n] = r;")
        w.line(each, FENCE, f"atomic_store_explicit(&{flag}, r, {R});")
    with w.block(place, "if (group.x == 1)") as below:
        _read(w, below, flag)


def _read(w: Writer, place: Place, flag: str) -> None:
    before, count = w.choose(1, 2), w.choose(2, 4)
    words = (
        w.random.sample(range(before + count), before + count) if w.chance(2) else list(range(before + count))
    )
    w.line(place, "uint late = 0, back = 0;")
    with w.block(place, f"for (uint r = 0; r < args[{ROUNDS}]; r++)") as each:
        w.line(each, *(f"const uint x{n} = data[{words[n]}];" for n in range(before)))
        w.line(each, f"const uint seen = {w.pick(LOADS).format(f=flag, r=R)};", FENCE)
        w.line(each, *(f"const uint y{n} = data[{words[before + n]}];" for n in range(count)))
        again = w.chance(2)
        if again:
            w.line(each, f"const uint z = data[{words[0]}];", "back += z < x0 ? 1u : 0u;")
        else:
            w.line(each, "u0 ^= x0;")
        w.line(each, *(f"late += y{n} < seen ? 1u : 0u;" for n in range(count)))
        w.line(each, f"if (seen == args[{ROUNDS}]) break;")
    w.line(place, "if (late > 0) claims[i] |= 4;", "if (back > 0) claims[i] |= 8;")

"""Plain accesses with atomics and fences between them, to the same elements under several names."""

from __future__ import annotations

from tests.engine.fuzz.writer import INTS, Place, Writer

R = "memory_order_relaxed"
ORDERS = ("memory_order_seq_cst", "memory_order_acq_rel", "memory_order_relaxed")
SCOPES = ("thread_scope_device", "thread_scope_threadgroup", "thread_scope_simdgroup")
FENCES = (
    "atomic_thread_fence(mem_flags::mem_device, {o}, {s});",
    "atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, {o});",
    "simdgroup_barrier(mem_flags::mem_device);",
    "simdgroup_barrier(mem_flags::mem_none);",
)
# Elements of eight of one thread's; `mine` and `twin` are the same memory.
PLAIN = ("{v} += {p}[{at} + {c}];", "{v} ^= {p}[{at} + {c}];", "{p}[{at} + {c}] = {x};", "{p}[{at} + {c}] += {x};",
         "{v} = {v} * 3 + {p}[{at} + {c}]; {v} += {p}[{at} + ({c} + 1) % 8];")  # fmt: skip
ATOMIC = (
    "atomic_store_explicit({p}, {x}, {r});",
    "{v} += atomic_fetch_add_explicit({p}, {x}, {r});",
    "{v} ^= atomic_exchange_explicit({p}, {x}, {r});",
    "{v} += atomic_load_explicit({p}, {r});",
    "{v} += atomic_fetch_max_explicit({p}, {x}, {r});",
    "{{ uint was = {x}; if (!atomic_compare_exchange_weak_explicit({p}, &was, {v}, {r}, {r})) {v} ^= was; }}",
)
# Of words that everyone changes in a way whose end does not depend on the order.
SHARED = (
    "atomic_fetch_add_explicit(&shared[{x} & 7u], {y}, {r});",
    "atomic_fetch_xor_explicit(&shared[8 + ({x} & 7u)], {y}, {r});",
    "atomic_fetch_max_explicit(&shared[16], {x}, {r});",
    "atomic_fetch_or_explicit(&shared[17 + (lane & 1)], {x}, {r});",
    "atomic_fetch_min_explicit(&shared[19], {x}, {r});",
    "{{ uint ticket = atomic_fetch_add_explicit(&shared[20], 1u, {r});"
    " atomic_fetch_add_explicit(&shared[32 + (ticket & 63u)], 1u, {r}); }}",
)


def between(w: Writer, place: Place) -> None:
    """Several accesses in a row."""
    at = w.pick((f"{w.row} * 8", f"{w.row} * 8", f"ulong({w.row}) * 8"))
    kept = {w.fresh("old"): w.pick(("mine", "twin")) for _ in range(w.choose(0, 2))}
    for name, array in kept.items():
        w.line(place, f"uint {name} = {array}[{at} + {w.choose(0, 7)}];")
    for _ in range(w.choose(3, 5)):
        w.line(place, _one(w, at, [*kept, *INTS]))
    for name in kept:
        w.line(place, f"{w.pick(INTS)} ^= {name} * 3;")


def _one(w: Writer, at: str, targets: list[str]) -> str:
    what = w.choose(0, 9)
    pointer, v, c = w.pick(("mine", "twin")), w.pick(targets), w.choose(0, 7)
    if what <= 4:
        return w.pick(PLAIN).format(v=v, p=pointer, at=at, c=c, x=w.integer(2))
    if what <= 6:
        word = f"(device atomic_uint*)&{pointer}[{at} + {c}]"
        return w.pick(ATOMIC).format(v=v, p=word, x=w.integer(2), r=R)
    if what == 7:
        return w.pick(SHARED).format(x=w.integer(2), y=w.integer(2), r=R)
    return w.pick(FENCES).format(o=w.pick(ORDERS), s=w.pick(SCOPES))


def chosen(w: Writer, place: Place) -> None:
    """A pointer into one of two buffers."""
    name, test = w.fresh("at"), w.condition() if w.chance(2) else w.uniform()
    first, second = w.pick((("far", "a"), ("a", "far"), ("far + N", "far + 7"))), w.pick(("mine", "twin"))
    if w.chance(2):
        w.line(place, f"device const uint* {name} = {test} ? {first[0]} : {first[1]};")
        w.line(place, f"{w.pick(INTS)} += {name}[{w.pick(('i', 'N - 1 - i', 'i / 2'))}];")
        return
    other = "twin" if second == "mine" else "more"
    w.line(
        place,
        f"device uint* {name} = {test} ? {second} + {w.row} * 8 : {other} + {w.row} * {8 if other == 'twin' else 6};",
    )
    w.line(place, f"{name}[{w.choose(0, 5)}] {w.pick(('=', '+='))} {w.integer(1)};")
    w.line(place, f"{w.pick(INTS)} ^= {name}[{w.integer(2)} % 6u];")


def moved(w: Writer, place: Place) -> None:
    """Pointers that move by 64-bit steps through a loop."""
    name, n = w.fresh("at"), w.fresh("n")
    start, step = w.pick(
        (("i", "N"), ("ulong(i) * 4", "1"), ("31 * N + i", "-long(N)"), ("long(N) - 1 - i", "long(S.x)"))
    )
    w.line(place, f"device const uint* {name} = far + ({start});")
    w.line(
        place,
        f"for (ulong {n} = 0; {n} < {w.pick(('4', 'args[0]', '3'))}; {n}++, {name} += {step}) u0 = u0 * 5 + *{name};",
    )

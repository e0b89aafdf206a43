"""Operations among the lanes of SIMD-groups (32) and quads (4), inside one gang.

Idle lanes take no part: reductions give them the identity, a lane that reads from one keeps its own value, or gets the
one to fill with.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.never_nan import never_nan
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction, intrinsics
from metalloid.ir.intrinsics import FILLS, FIRST, MOVES, SCANS
from metalloid.ir.values import Int, Value

_KINDS = {"f16": "half", "f32": "float"}

GREATEST, LEAST = "greatest", "least"  # of floats that are no NaNs
CHOOSES = {"max": (GREATEST, "ogt"), "min": (LEAST, "olt")}
TESTS = dict(CHOOSES.values())

IDENTITY = {
    "sum": {"f": "-0.0", "h": "0xH8000", "i": "0"},
    "product": {"f": "1.0", "h": "0xH3C00", "i": "1"},
    "min": {"f": "0x7FF8000000000000", "h": "0xH7E00"},
    "max": {"f": "0x7FF8000000000000", "h": "0xH7E00"},
    GREATEST: {"f": "0xFFF0000000000000"},
    LEAST: {"f": "0x7FF0000000000000"},
    "and": {"i": "-1"},
    "or": {"i": "0"},
    "xor": {"i": "0"},
}


def collective(e: Emitter, i: Instruction) -> None:
    found = intrinsics.collective(i.called)
    if found is None or e.width % 32:
        raise NotVectorised(f"[engine] {i.called} is not supported with {e.width} lanes")
    group, what, letter = found.lanes, found.what, found.letter or "i"
    kind = _KINDS.get(f"{letter}{found.bits}", f"i{found.bits or 32}")
    if what in VOTES:
        VOTES[what](e, i, group)
    elif what == FIRST:
        _broadcast_first(e, i, group, kind)
    elif what in MOVES or what in FILLS:
        _shuffle(e, i, group, what, kind)
    elif what in SCANS:
        _, extent, operation = what.split("_")
        e.set(
            i.name,
            Val(
                kind,
                vec=scan(e, operation, kind, letter, e.vector(i.operands[0]), group, extent == "exclusive"),
            ),
        )
    else:
        what = _of_numbers(e, what, kind, i.operands[0])
        if group == 32 == e.width:
            e.set(i.name, Val(kind, reduce_all(e, what, kind, letter, e.vector(i.operands[0]))))
        else:
            e.set(i.name, Val(kind, vec=reduce_groups(e, what, kind, letter, e.vector(i.operands[0]), group)))


def _of_numbers(e: Emitter, what: str, kind: str, value: Value) -> str:
    """A fold that need not look for NaNs, where there are none and that takes instructions; else the same one."""
    plain = what not in CHOOSES or kind != "float" or e.out.target.limits_skip_nans
    return what if plain or not never_nan(e.function, value) else CHOOSES[what][0]


# ---- reductions ----------------------------------------------------------------------------------------------


def identity(what: str, kind: str, letter: str) -> str:
    if kind in ("float", "half"):
        return IDENTITY[what]["h" if kind == "half" else "f"]
    if what in ("min", "max"):
        bits = int(kind[1:])
        low, high = (0, (1 << bits) - 1) if letter == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        return str(high if what == "min" else low)
    return IDENTITY[what]["i"]


def combine(e: Emitter, what: str, kind: str, letter: str, a: str, b: str, count: int = 0) -> str:
    """Two vectors, element by element."""
    count = count or e.width
    type = f"<{count} x {kind}>"
    real = kind in ("float", "half", "double")
    if what in ("min", "max"):
        short = {"float": "f32", "half": "f16"}.get(kind, kind)
        stem = f"llvm.{what}num" if real else f"llvm.{'u' if letter == 'u' else 's'}{what}"
        name = f"{stem}.v{count}{short}"
        e.out.declare(name, f"declare {type} @{name}({type}, {type})")
        return e.put(f"call {type} @{name}({type} {a}, {type} {b})")
    if what in TESTS:  # of two that are equal the first, as with NaNs
        test = e.put(f"fcmp {TESTS[what]} {type} {b}, {a}")
        return e.put(f"select <{count} x i1> {test}, {type} {b}, {type} {a}")
    opcode = {"sum": "fadd" if real else "add", "product": "fmul" if real else "mul"}.get(what, what)
    return e.put(f"{opcode} {type} {a}, {b}")


def filled(e: Emitter, what: str, kind: str, letter: str, ref: str) -> str:
    """Idle lanes hold the identity."""
    if e.mask is None:
        return ref
    idle = (
        e.splat(kind, identity(what, kind, letter))
        if identity(what, kind, letter) != "0"
        else "zeroinitializer"
    )
    return e.put(f"select {e.vt('i1')} {e.mask}, {e.vt(kind)} {ref}, {e.vt(kind)} {idle}")


def reduce_all(e: Emitter, what: str, kind: str, letter: str, ref: str) -> str:
    """All lanes to one scalar: halves are folded onto each other."""
    ref = filled(e, what, kind, letter, ref)
    narrow = kind
    if kind == "half" and what in ("sum", "product"):
        ref, kind = e.put(f"fpext {e.vt('half')} {ref} to {e.vt('float')}"), "float"
    count = e.width
    while count > 1:
        half = count // 2
        low = ", ".join(f"i32 {n}" for n in range(half))
        high = ", ".join(f"i32 {n + half}" for n in range(half))
        a = e.put(
            f"shufflevector <{count} x {kind}> {ref}, <{count} x {kind}> poison, <{half} x i32> <{low}>"
        )
        b = e.put(
            f"shufflevector <{count} x {kind}> {ref}, <{count} x {kind}> poison, <{half} x i32> <{high}>"
        )
        ref = combine(e, what, kind, letter, a, b, half)
        count = half
    ref = e.put(f"extractelement <1 x {kind}> {ref}, i64 0")
    return ref if narrow == kind else e.put(f"fptrunc {kind} {ref} to {narrow}")


def permute(e: Emitter, kind: str, ref: str, source: Callable[[int], int]) -> str:
    picks = ", ".join(f"i32 {source(lane)}" for lane in range(e.width))
    return e.put(f"shufflevector {e.vt(kind)} {ref}, {e.vt(kind)} poison, <{e.width} x i32> <{picks}>")


def reduce_groups(e: Emitter, what: str, kind: str, letter: str, ref: str, group: int) -> str:
    """Each group on its own, the result in all its lanes."""
    ref = filled(e, what, kind, letter, ref)
    narrow = kind
    if kind == "half" and what in ("sum", "product"):
        ref, kind = e.put(f"fpext {e.vt('half')} {ref} to {e.vt('float')}"), "float"
    step = 1
    while step < group:
        other = permute(e, kind, ref, lambda lane, step=step: lane ^ step)  # type: ignore[misc]
        ref = combine(e, what, kind, letter, ref, other)
        step *= 2
    return ref if narrow == kind else e.put(f"fptrunc {e.vt(kind)} {ref} to {e.vt(narrow)}")


def shifted_up(e: Emitter, kind: str, ref: str, by: int, group: int, fill: str) -> str:
    """Lanes move up; those at the bottom of their group get the fill."""
    w = e.width
    picks = ", ".join(f"i32 {lane - by if lane % group >= by else w}" for lane in range(w))
    other = e.splat(kind, fill) if fill != "0" else "zeroinitializer"
    return e.put(f"shufflevector {e.vt(kind)} {ref}, {e.vt(kind)} {other}, <{w} x i32> <{picks}>")


def scan(e: Emitter, what: str, kind: str, letter: str, ref: str, group: int, exclusive: bool) -> str:
    ref = filled(e, what, kind, letter, ref)
    narrow, neutral = kind, identity(what, kind, letter)
    if kind == "half":
        ref, kind = e.put(f"fpext {e.vt('half')} {ref} to {e.vt('float')}"), "float"
        neutral = identity(what, "float", letter)
    step = 1
    while step < group:
        ref = combine(e, what, kind, letter, ref, shifted_up(e, kind, ref, step, group, neutral))
        step *= 2
    if exclusive:
        ref = shifted_up(e, kind, ref, 1, group, "0.0" if neutral == "-0.0" else neutral)
    return ref if narrow == kind else e.put(f"fptrunc {e.vt(kind)} {ref} to {e.vt(narrow)}")


# ---- votes -----------------------------------------------------------------------------------------------------


def _set(e: Emitter, i: Instruction, kind: str, vector: str | None, scalar: str | None = None) -> None:
    e.set(i.name, Val(kind, scalar) if scalar is not None else Val(kind, vec=vector))


def _bits(e: Emitter, mask: str) -> str:
    return e.put(f"bitcast {e.vt('i1')} {mask} to i{e.width}")


def _votes(e: Emitter, mask: str, group: int) -> str:
    """In each lane, the set lanes of its group as bits of an i64."""
    one = [1 << lane % group for lane in range(e.width)]
    own = e.put(
        f"select {e.vt('i1')} {mask}, {e.vt('i64')} {e.constants('i64', one)}, {e.vt('i64')} zeroinitializer"
    )
    step = 1
    while step < group:
        own = e.put(f"or {e.vt('i64')} {own}, {permute(e, 'i64', own, lambda n, s=step: n ^ s)}")  # type: ignore[misc]
        step *= 2
    return own


def _all(e: Emitter, i: Instruction, group: int) -> None:
    against = e.put(f"xor {e.vt('i1')} {e.vector(i.operands[0])}, splat (i1 true)")
    bad = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, against)}")
    if group == e.width:
        _set(e, i, "i1", None, e.put(f"icmp eq i{e.width} {_bits(e, bad)}, 0"))
    else:
        _set(e, i, "i1", e.put(f"icmp eq {e.vt('i64')} {_votes(e, bad, group)}, zeroinitializer"))


def _any(e: Emitter, i: Instruction, group: int) -> None:
    good = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, e.vector(i.operands[0]))}")
    if group == e.width:
        _set(e, i, "i1", None, e.put(f"icmp ne i{e.width} {_bits(e, good)}, 0"))
    else:
        _set(e, i, "i1", e.put(f"icmp ne {e.vt('i64')} {_votes(e, good, group)}, zeroinitializer"))


def _ballot(e: Emitter, i: Instruction, group: int) -> None:
    votes = e.vector(i.operands[0]) if i.operands else "splat (i1 true)"
    good = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, votes)}")
    if group == e.width:
        _set(e, i, "i64", None, e.put(f"zext i{e.width} {_bits(e, good)} to i64"))
    else:
        _set(e, i, "i64", _votes(e, good, group))


def _is_first(e: Emitter, i: Instruction, group: int) -> None:
    everybody = e.put(f"freeze {e.vt('i1')} {e.mask_ref()}")
    votes = _votes(e, everybody, group)
    below = e.constants("i64", [(1 << lane % group) - 1 for lane in range(e.width)])
    lower = e.put(f"and {e.vt('i64')} {votes}, {below}")
    _set(e, i, "i1", e.put(f"icmp eq {e.vt('i64')} {lower}, zeroinitializer"))


VOTES: dict[str, Callable[[Emitter, Instruction, int], None]] = {
    "all": _all,
    "any": _any,
    "ballot": _ballot,
    "active_threads_mask": _ballot,
    "is_first": _is_first,
}


# ---- shuffles ----------------------------------------------------------------------------------------------------


def _broadcast_first(e: Emitter, i: Instruction, group: int, kind: str) -> None:
    ref = e.vector(i.operands[0])
    if group == e.width:
        e.set(i.name, Val(kind, e.put(f"extractelement {e.vt(kind)} {ref}, i32 {e.first(e.mask)}")))
        return
    total = ref
    for n in reversed(range(group)):
        here = permute(e, kind, ref, lambda lane, n=n: lane - lane % group + n)  # type: ignore[misc]
        if e.mask is None:
            total = here
            continue
        on = permute(e, "i1", e.mask, lambda lane, n=n: lane - lane % group + n)  # type: ignore[misc]
        total = e.put(f"select {e.vt('i1')} {on}, {e.vt(kind)} {here}, {e.vt(kind)} {total}")
    e.set(i.name, Val(kind, vec=total))


SOURCE: dict[str, Callable[[int, int, int], int]] = {  # lane in its group, operand, size of the group
    "broadcast": lambda lane, n, size: n,
    "shuffle": lambda lane, n, size: n,
    "shuffle_xor": lambda lane, n, size: lane ^ n,
    "shuffle_up": lambda lane, n, size: lane - n,
    "shuffle_down": lambda lane, n, size: lane + n,
    "shuffle_rotate_up": lambda lane, n, size: (lane - n) % size,
    "shuffle_rotate_down": lambda lane, n, size: (lane + n) % size,
}


def _shuffle(e: Emitter, i: Instruction, group: int, what: str, kind: str) -> None:
    own = e.vector(i.operands[0])
    if "fill" in what:
        _shuffle_and_fill(e, i, group, kind, own, "up" in what)
        return
    amount = i.operands[1]
    if isinstance(amount, Int):
        sources = [SOURCE[what](lane % group, amount.value, group) for lane in range(e.width)]
        e.set(i.name, Val(kind, vec=_static(e, kind, own, own, sources, group)))
        return
    e.set(i.name, Val(kind, vec=_dynamic(e, kind, own, own, sources_of(e, what, amount, group), group)))


def _static(e: Emitter, kind: str, values: str, otherwise: str, sources: list[int], group: int) -> str:
    """From known lanes; outside the group or from an idle lane, `otherwise`."""
    good = [0 <= s < group for s in sources]
    index = [
        lane - lane % group + s if ok else lane
        for lane, (s, ok) in enumerate(zip(sources, good, strict=True))
    ]
    moved = permute(e, kind, values, lambda lane: index[lane])
    if e.mask is None and all(good):
        return moved
    on = permute(e, "i1", e.mask, lambda lane: index[lane]) if e.mask else "splat (i1 true)"
    flags = "<" + ", ".join(f"i1 {'true' if g else 'false'}" for g in good) + ">"
    take = e.put(f"and {e.vt('i1')} {on}, {flags}")
    return e.put(f"select {e.vt('i1')} {take}, {e.vt(kind)} {moved}, {e.vt(kind)} {otherwise}")


def _lane_numbers(e: Emitter, group: int) -> str:
    return e.constants("i32", [lane % group for lane in range(e.width)])


def sources_of(e: Emitter, what: str, amount: Value, group: int) -> str:
    """The lane each lane reads, in its group; any number where that is outside."""
    kind = lowered(amount.type)
    n = e.vector(amount)
    vi = e.vt("i32")
    wide = e.put(f"zext {e.vt(kind)} {n} to {vi}") if kind != "i32" else n
    lane = _lane_numbers(e, group)
    match what:
        case "broadcast" | "shuffle":
            return wide
        case "shuffle_xor":
            return e.put(f"xor {vi} {lane}, {wide}")
        case "shuffle_up" | "shuffle_rotate_up":
            moved = e.put(f"sub {vi} {lane}, {wide}")
        case "shuffle_down" | "shuffle_rotate_down":
            moved = e.put(f"add {vi} {lane}, {wide}")
        case _:
            raise NotVectorised(f"[engine] {what} from a lane that only a run knows has no vector code")
    return e.put(f"and {vi} {moved}, splat (i32 {group - 1})") if "rotate" in what else moved


def _dynamic(e: Emitter, kind: str, values: str, otherwise: str, sources: str, group: int) -> str:
    """From lanes that are only known at run time: through memory."""
    vi, vb = e.vt("i32"), e.vt("i1")
    inside = e.put(f"icmp ult {vi} {sources}, splat (i32 {group})")
    start = e.constants("i32", [lane - lane % group for lane in range(e.width)])
    safe = e.put(f"and {vi} {sources}, splat (i32 {group - 1})")
    index = e.put(f"freeze {vi} {e.put(f'add {vi} {safe}, {start}')}")
    moved = lookup(e, kind, values, index)
    take = inside
    if e.mask is not None:
        flags = e.put(f"zext {vb} {e.mask} to {vi}")
        on = e.put(f"icmp ne {vi} {lookup(e, 'i32', flags, index)}, zeroinitializer")
        take = e.put(f"and {vb} {inside}, {on}")
    return e.put(f"select {vb} {take}, {e.vt(kind)} {moved}, {e.vt(kind)} {otherwise}")


def lookup(e: Emitter, kind: str, values: str, index: str) -> str:
    """values[index[lane]] in each lane."""
    if kind in ("i16", "half"):
        wide = e.put(f"zext {e.vt('i16')} {values} to {e.vt('i32')}")
        return e.put(f"trunc {e.vt('i32')} {lookup(e, 'i32', wide, index)} to {e.vt('i16')}")
    table = e.alloca(e.vt(kind), "table")
    e.do(f"store {e.vt(kind)} {values}, ptr {table}")
    at = e.put(f"getelementptr {kind}, ptr {table}, {e.vt('i32')} {index}")
    return masked.gather(e, at, None, kind, 4)


def _shuffle_and_fill(e: Emitter, i: Instruction, group: int, kind: str, own: str, up: bool) -> None:
    """Within blocks of `modulo` lanes; what comes from outside the block is taken from `fill`, wrapped round."""
    vi, vb = e.vt("i32"), e.vt("i1")
    fill = e.vector(i.operands[1])
    delta, modulo = (e.put(f"zext {e.vt('i16')} {e.vector(o)} to {vi}") for o in i.operands[2:4])
    lane = _lane_numbers(e, group)
    none = e.put(f"icmp eq {vi} {modulo}, zeroinitializer")
    block = e.put(f"freeze {vi} {e.put(f'select {vb} {none}, {vi} splat (i32 1), {vi} {modulo}')}")
    within = e.put(f"urem {vi} {lane}, {block}")
    start = e.put(f"sub {vi} {lane}, {within}")
    moved = e.put(f"{'sub' if up else 'add'} {vi} {within}, {delta}")
    inside = e.put(f"icmp ult {vi} {moved}, {block}")
    rest = e.put(f"srem {vi} {moved}, {block}")
    negative = e.put(f"icmp slt {vi} {rest}, zeroinitializer")
    lifted = e.put(f"add {vi} {rest}, {block}")
    wrapped = e.put(f"select {vb} {negative}, {vi} {lifted}, {vi} {rest}")
    here = e.put(f"add {vi} {start}, {e.put(f'select {vb} {inside}, {vi} {moved}, {vi} {wrapped}')}")
    here = e.put(f"select {vb} {none}, {vi} {lane}, {vi} {here}")
    inside = e.put(f"select {vb} {none}, {vb} zeroinitializer, {vb} {inside}")
    from_own = _dynamic(e, kind, own, fill, here, group)
    from_fill = _dynamic(e, kind, fill, fill, here, group)
    e.set(
        i.name,
        Val(kind, vec=e.put(f"select {vb} {inside}, {e.vt(kind)} {from_own}, {e.vt(kind)} {from_fill}")),
    )

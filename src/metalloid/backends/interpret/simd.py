"""Operations among the lanes of a SIMD-group or a quad.

Each takes what the lanes that arrived brought along, {lane: operands}, and says
what each of them gets. Lanes that did not arrive do not count: a reduction leaves
them out, a shuffle from one of them gives the reader its own value, or the one to fill with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from metalloid.backends.interpret import maths
from metalloid.backends.interpret.numbers import exact_product, exact_sum, signed, wrap
from metalloid.errors import DeviceError
from metalloid.ir.floats import to_bits, to_float
from metalloid.ir.intrinsics import collective
from metalloid.ir.types import FLOAT, HALF, FloatType, IntType

Operands = tuple[int, ...]
Arrived = dict[int, Operands]
Results = dict[int, int]


def operation(name: str) -> Callable[[Arrived], Results]:
    """The meaning of a collective, for one SIMD-group."""
    found = collective(name)
    if found is None:
        raise DeviceError(f"[interpret] there is no SIMD-group operation '{name}'")
    width, what, kind, bits = found.lanes, found.what, found.letter or "i", found.bits or 32
    if what in VOTES:
        rule: Callable[[Arrived], Results] = VOTES[what]
    elif what in SHUFFLES:
        rule = partial(_shuffle, width, SHUFFLES[what])
    else:
        number: FloatType | IntType = IntType(bits)
        if kind == "f":
            number = HALF if bits == 16 else FLOAT
        rule = partial(_reduce, REDUCTIONS[what], number, kind)
    return partial(_by_group, width, rule)


def _by_group(width: int, rule: Callable[[Arrived], Results], arrived: Arrived) -> Results:
    """Apply a rule to each group of `width` lanes on its own, lanes counted from 0 in each."""
    results: Results = {}
    for start in sorted({lane - lane % width for lane in arrived}):
        group = {lane - start: v for lane, v in arrived.items() if start <= lane < start + width}
        results.update({lane + start: v for lane, v in rule(dict(sorted(group.items()))).items()})
    return results


# Shuffles: from which lane does `lane` read? A lane outside the group means its own value.
Source = Callable[[int, int, int], int]  # lane, operand, width

SHUFFLES: dict[str, Source] = {
    "broadcast": lambda lane, which, width: which,
    "shuffle": lambda lane, which, width: which,
    "shuffle_xor": lambda lane, mask, width: lane ^ mask,
    "shuffle_up": lambda lane, delta, width: lane - delta,
    "shuffle_down": lambda lane, delta, width: lane + delta,
    "shuffle_rotate_up": lambda lane, delta, width: (lane - delta) % width,
    "shuffle_rotate_down": lambda lane, delta, width: (lane + delta) % width,
    "broadcast_first": lambda lane, _, width: 0,
    "shuffle_and_fill_up": lambda lane, delta, width: lane - delta,
    "shuffle_and_fill_down": lambda lane, delta, width: lane + delta,
}


def inactive(name: str, arrived: Arrived) -> dict[int, int]:
    """The lanes that read a lane which does not take part, and which one; for shuffles and broadcasts."""
    found = collective(name)
    if found is None or found.what not in SHUFFLES or len(next(iter(arrived.values()))) != 2:
        return {}
    width, source = found.lanes, SHUFFLES[found.what]
    stays = found.what in ("shuffle_up", "shuffle_down")  # past the end it leaves lanes as they are
    absent = {}
    for lane, (_, which) in arrived.items():
        start = lane - lane % width
        read = source(lane - start, which, width)
        if start + read not in arrived and not (stays and not 0 <= read < width):
            absent[lane] = start + read
    return absent


def _shuffle(width: int, source: Source, arrived: Arrived) -> Results:
    if source is SHUFFLES["broadcast_first"]:
        first = min(arrived)
        return dict.fromkeys(arrived, arrived[first][0])
    if source in (SHUFFLES["shuffle_and_fill_up"], SHUFFLES["shuffle_and_fill_down"]):
        return _shuffle_and_fill(source is SHUFFLES["shuffle_and_fill_up"], arrived)
    results = {}
    for lane, (own, which) in arrived.items():
        read = source(lane, which, width)
        results[lane] = arrived[read][0] if read in arrived else own
    return results


def _shuffle_and_fill(up: bool, arrived: Arrived) -> Results:
    """Lanes move within blocks of `modulo`; what moves in comes from the other end of `fill`'s block.

    Up: a lane whose source lies below its block reads `fill` of the lane `modulo` further up
    than that source. Down: the mirror image. A lane that did not arrive gives the reader's `fill`,
    as GPUs do: PyTorch sums 64-bit numbers in threadgroups of 28 threads so.
    """
    results = {}
    for lane, (_, fill, delta, modulo) in arrived.items():
        start = lane - lane % modulo if modulo else 0
        read = lane - delta if up else lane + delta
        if start <= read < start + modulo:
            results[lane] = arrived[read][0] if read in arrived else fill
        else:
            wrapped = start + (read - start) % modulo if modulo else lane
            results[lane] = arrived[wrapped][1] if wrapped in arrived else fill
    return results


# Votes.
VOTES: dict[str, Callable[[Arrived], Results]] = {
    "all": lambda arrived: dict.fromkeys(arrived, int(all(v for (v,) in arrived.values()))),
    "any": lambda arrived: dict.fromkeys(arrived, int(any(v for (v,) in arrived.values()))),
    "ballot": lambda arrived: dict.fromkeys(arrived, sum(1 << lane for lane, (v,) in arrived.items() if v)),
    "active_threads_mask": lambda arrived: dict.fromkeys(arrived, sum(1 << lane for lane in arrived)),
    "is_first": lambda arrived: {lane: int(lane == min(arrived)) for lane in arrived},
}


# Reductions: how several numbers become one. A scan is a reduction of the lanes below.
Fold = Callable[[FloatType | IntType, str, list[int]], int]


def _sum(type: FloatType | IntType, kind: str, values: list[int]) -> int:
    return exact_sum(type, values) if isinstance(type, FloatType) else wrap(sum(values), type.bits)


def _product(type: FloatType | IntType, kind: str, values: list[int]) -> int:
    if isinstance(type, FloatType):
        return exact_product(type, values)
    total = 1
    for value in values:
        total *= value
    return wrap(total, type.bits)


def _extreme(sign: int, type: FloatType | IntType, kind: str, values: list[int]) -> int:
    if isinstance(type, FloatType):
        pick = maths.BINARY["maxnum" if sign > 0 else "minnum"]
        best = to_float(type, values[0])
        for value in values[1:]:
            best = pick(best, to_float(type, value))
        return to_bits(type, best)
    key = partial(signed, bits=type.bits) if kind == "i" else None
    return max(values, key=key) if sign > 0 else min(values, key=key)


def _bitwise(name: str, type: FloatType | IntType, kind: str, values: list[int]) -> int:
    total = values[0]
    for value in values[1:]:
        total = {"and": total & value, "or": total | value, "xor": total ^ value}[name]
    return total


REDUCTIONS: dict[str, tuple[Fold, str]] = {
    "sum": (_sum, "all"),
    "product": (_product, "all"),
    "min": (partial(_extreme, -1), "all"),
    "max": (partial(_extreme, 1), "all"),
    "and": (partial(_bitwise, "and"), "all"),
    "or": (partial(_bitwise, "or"), "all"),
    "xor": (partial(_bitwise, "xor"), "all"),
    "prefix_inclusive_sum": (_sum, "inclusive"),
    "prefix_exclusive_sum": (_sum, "exclusive"),
    "prefix_inclusive_product": (_product, "inclusive"),
    "prefix_exclusive_product": (_product, "exclusive"),
}


def _reduce(rule: tuple[Fold, str], type: FloatType | IntType, kind: str, arrived: Arrived) -> Results:
    fold, extent = rule
    if extent == "all":
        return dict.fromkeys(arrived, fold(type, kind, [v for (v,) in arrived.values()]))
    results = {}
    for lane in arrived:
        below = [v for other, (v,) in arrived.items() if other < lane + (extent == "inclusive")]
        results[lane] = fold(type, kind, below)
    return results

"""M406: does the result depend on the order in which threads run?

Without a race only atomics can make it so: an exchange or a store that the last one wins, a counter that
hands out places, sums of floats in the order of arrival. Kernels that have one run again from the same buffers:
forward and backward, and with threadgroups in seeded orders; launches that the oracle manages in its time also
there, in seeded orders of threadgroups, SIMD-groups and lanes, since the engine may run many SIMD-groups as one.
Sums that differ by rounding are the same; so are outputs in another order, which is what whoever hands out places
with a counter asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.behind import size_behind
from metalloid.backends.interpret import Schedule
from metalloid.backends.observe import Access, Memory, Record
from metalloid.checker.pointed import members
from metalloid.errors import KernelFault, NotVectorised, NotWatched
from metalloid.ir import read
from metalloid.ir.debug import Location
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import FloatType
from metalloid.runtime.arguments import element

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

SECONDS = 5.0  # for one run of the engine, or all of the oracle's
ORACLE_THREADS = 16384  # of a launch that the oracle might manage in its time
MOST_WRITTEN = 1 << 26  # bytes of outputs: each order has a copy
TOO_LARGE = "M406: threads ran in one order; more orders would take copies of {} MB"
LATE = "M406: not all orders of threads were tried; the check's time was up"
CLOSE = 1e-3  # of the largest value: sums in another order
UNTRIED = (
    "M406: lanes and SIMD-groups ran in one order and its reverse, threadgroups in five; more orders would take the"
    " interpreter too long for {} threads"
)


@dataclass(frozen=True)
class Tried:
    """What came of other orders: a record where one of them made a difference, and what was left untried."""

    records: tuple[Record, ...] = ()
    left: str = ""


def order_matters(
    kernel: KernelCode,
    again: Callable[[], Launch],
    written: Sequence[int],
    place: Location | None,
    until: float = float("inf"),
) -> Tried:
    """A record for the first output that is not the same in all orders; `again` gives a fresh launch.

    No order is begun, and none goes on, after `until` on the monotonic clock.
    """
    launch = again()
    size = sum(memoryview(launch.buffers[i]).nbytes for i in written) + size_behind(launch)
    threads = prod(launch.grid)
    if size > MOST_WRITTEN:
        return Tried(left=TOO_LARGE.format(size >> 20))
    for orders in (_ENGINE, _SEEDED, _ORACLE):  # each with its own roundings, so compared with itself
        if orders is _ORACLE and threads > ORACLE_THREADS:
            return Tried(left=UNTRIED.format(threads))
        first: list[Output] = []
        deadline = min(time.monotonic() + SECONDS, until)
        for words, run in orders:
            if (now := time.monotonic()) > until:
                return Tried(left=LATE)
            if orders is not _ORACLE:
                deadline = min(now + SECONDS, until)
            launch = again()
            try:
                run(kernel, launch, deadline)
            except (NotVectorised, NotWatched):
                break
            except KernelFault:  # its time was up, or other rules have more to say
                return Tried(left=UNTRIED.format(threads) if orders is _ORACLE else "")
            if not first:
                first = _outputs(kernel, launch, written)
            elif found := _difference(kernel, first, _outputs(kernel, launch, written), words, place):
                return Tried((found,))
    return Tried()


def _seconds(deadline: float) -> float:
    """For one run: as many as any has, and no more than are left, of which it needs some to begin at all."""
    return max(0.1, min(SECONDS, deadline - time.monotonic()))


def _on_engine(kernel: KernelCode, launch: Launch, deadline: float, backwards: bool) -> None:
    kernel.program.run(launch, threads=1, backwards=backwards, timeout=_seconds(deadline))


def _seeded(kernel: KernelCode, launch: Launch, deadline: float, seed: int | None) -> None:
    """Threadgroups in a shuffled order, which the code of checked runs knows how to do."""
    if kernel.checked_program.run(launch, _seconds(deadline), seed=seed).stopped:
        raise KernelFault("stopped")


def _on_oracle(kernel: KernelCode, launch: Launch, deadline: float, schedule: Schedule) -> None:
    interpret.run(kernel.ir, launch, schedule, deadline=deadline)


Order = tuple[str, Callable[["KernelCode", Launch, float], None]]
_ENGINE: tuple[Order, ...] = (
    ("forward", partial(_on_engine, backwards=False)),
    ("backward", partial(_on_engine, backwards=True)),
)
_SEEDED: tuple[Order, ...] = (
    ("forward", partial(_seeded, seed=None)),
    *(("in another order of threadgroups", partial(_seeded, seed=seed)) for seed in (1, 2, 3)),
)
_ORACLE: tuple[Order, ...] = (
    ("forward", partial(_on_oracle, schedule=Schedule())),
    ("backward", partial(_on_oracle, schedule=Schedule("reverse"))),
    *(("in another order", partial(_on_oracle, schedule=Schedule("shuffle", seed))) for seed in (1, 2)),
)


Output = tuple[Memory, "np.ndarray[Any, Any]"]


def _outputs(kernel: KernelCode, launch: Launch, written: Sequence[int]) -> list[Output]:
    """What a launch has written, in buffers and behind pointers; the memory of these is used again."""
    found: list[Output] = []
    for parameter in kernel.signature.buffers:
        if parameter.index in written:
            values = _values(launch.buffers[parameter.index], element(parameter.type))
            found.append((Memory("buffer", parameter.index, bytes=int(values.nbytes)), values))
    told: set[int] = set()
    resources = dict(launch.resources)
    for member in members(kernel.signature, launch) if resources else ():
        type = member.pointer.element
        if not member.pointer.const and member.resource not in told:
            told.add(member.resource)
            values = _values(resources[member.resource], element(type) if type is not None else None)
            name = launch.resource_name(member.resource)
            found.append((Memory("resource", name=name, bytes=int(values.nbytes)), values.copy()))
    return found


def _difference(
    kernel: KernelCode, first: Sequence[Output], second: Sequence[Output], words: str, place: Location | None
) -> Record | None:
    """The first element of an output that two orders do not agree on."""
    for (memory, one), (_, two) in zip(first, second, strict=True):
        at, kind = _differs(one, two), one.dtype
        floats = at is not None and kind.kind in "iu" and kind.itemsize == 4
        if floats and exchanges_floats(kernel.checked_ir):  # sums, kept in the bits of whole numbers
            at = _differs(one.view(np.float32), two.view(np.float32))
        if at is not None:
            detail = {"forward": one[at].item(), "other": two[at].item(), "order": words, "index": at}
            access = Access(place, (0, 0, 0), (0, 0, 0), "atomic")
            return Record("depends on the schedule", access, None, memory, at * kind.itemsize, 1, detail)
    return None


def arrives(function: Function, i: Instruction) -> bool:
    """An atomic whose effect depends on who comes first."""
    if i.opcode == "cmpxchg" or (i.opcode == "store" and i.ordering):
        return True
    if i.opcode != "atomicrmw":
        return False
    return i.predicate == "xchg" or any(i.name in other.uses for other in function.instructions())


@lru_cache(maxsize=64)
def exchanges_floats(ir: str) -> bool:
    """Whether a compare-exchange puts the bits of a float there."""
    function = read(ir).function[ENTRY]
    made = {i.name: i for i in function.instructions() if i.name}
    for i in function.instructions():
        desired = i.operands[2] if i.opcode == "cmpxchg" else None
        source = made.get(getattr(desired, "name", ""))
        if (
            source is not None
            and source.opcode == "bitcast"
            and isinstance(source.operands[0].type, FloatType)
        ):
            return True
    return False


def _values(memory: Any, kind: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    kind = kind or np.dtype(np.uint8)
    data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    return data[: data.size // kind.itemsize * kind.itemsize].view(kind)


def _differs(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> int | None:
    """The first element that is another number, where it is not just that the order is another."""
    if one.tobytes() == two.tobytes():
        return None
    if one.dtype.kind in "iub":
        other = one != two
        same = np.array_equal(np.sort(one), np.sort(two))
    else:
        a, b = one.astype(np.float64), two.astype(np.float64)
        close = CLOSE * float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
        with np.errstate(all="ignore"):
            other = ~((np.abs(a - b) <= close) | (a == b) | (np.isnan(a) & np.isnan(b)))
            same = bool((np.abs(np.sort(a) - np.sort(b)) <= close).all())
    return int(np.flatnonzero(other)[0]) if other.any() and not same else None

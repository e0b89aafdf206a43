"""M406: does the result depend on the order in which threads run?

Without a race only atomics can make it so: an exchange or a store that the last one wins, a counter that
hands out places, sums of floats in the order of arrival. Kernels that have one run twice more from the same
buffers, forward and backward. Sums that differ by rounding are the same; so are outputs in another order,
which is what whoever hands out places with a counter asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.observe import Access, Memory, Record
from metalloid.errors import KernelFault
from metalloid.ir.debug import Location
from metalloid.ir.module import Function, Instruction
from metalloid.runtime.arguments import element

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel

SECONDS = 5.0
CLOSE = 1e-3  # of the largest value: sums in another order


def order_matters(
    kernel: Kernel, again: Callable[[], Launch], written: Sequence[int], place: Location | None
) -> list[Record]:
    """A record for the first output that is not the same forward and backward; `again` gives a fresh launch."""
    runs = []
    for backwards in (False, True):
        launch = again()
        try:
            kernel.program.run(launch, threads=1, backwards=backwards, timeout=SECONDS)
        except KernelFault:
            return []  # other rules have more to say
        runs.append(launch.buffers)
    for parameter in kernel.signature.buffers:
        if parameter.index in written:
            kind = element(parameter.type) or np.dtype(np.uint8)
            one, two = (_values(run[parameter.index], kind) for run in runs)
            at = _differs(one, two)
            if at is not None:
                detail = {"forward": one[at].item(), "backward": two[at].item(), "index": at}
                access = Access(place, (0, 0, 0), (0, 0, 0), "atomic")
                memory = Memory("buffer", parameter.index, bytes=int(one.nbytes))
                return [
                    Record("depends on the schedule", access, None, memory, at * kind.itemsize, 1, detail)
                ]
    return []


def arrives(function: Function, i: Instruction) -> bool:
    """An atomic whose effect depends on who comes first."""
    if i.opcode == "cmpxchg" or (i.opcode == "store" and i.ordering):
        return True
    if i.opcode != "atomicrmw":
        return False
    return i.predicate == "xchg" or any(i.name in other.uses for other in function.instructions())


def _values(memory: Any, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
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

"""Run a stranger's kernel on the oracle and on the engine, and hold the bytes of its buffers together.

Nobody knows what the kernel is for, so there is no reference but the oracle. Accesses outside go on as a GPU's do. A
difference counts where the launch has no race: the numbers are nobody's, and many threads may write to one place.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass

import numpy as np

from conformance.results.ways import in_simdgroups
from conformance.strangers.numbers import FLOATS, Bytes, Unknown, memory, scalars
from metalloid.backends import interpret
from metalloid.backends.base import Guard, Launch, Triple
from metalloid.backends.cpu.build import cpu_program
from metalloid.errors import KernelFault
from metalloid.frontend import Kernel
from metalloid.types import Parameter

ORACLE_SECONDS, STEPS = 60.0, 50_000  # by the clock; instructions of a thread
LOCAL = 4096  # bytes of a threadgroup argument
ORDERED = (
    "M201",
    "M202",
    "M203",
    "M204",
    "M205",
    "M206",
    "M207",
)  # what a result may change by with the order


@dataclass(frozen=True)
class Shape:
    threadgroup: Triple
    grid: Triple

    def within(self, most: int) -> Shape:
        """Not larger than a kernel says its threadgroups are."""
        x, y, z = self.threadgroup
        return self if x * y * z <= most else Shape((most, 1, 1), (2 * most, 1, 1))


ONE, LINE, BLOCK = Shape((1, 1, 1), (1, 1, 1)), Shape((32, 1, 1), (40, 1, 1)), Shape((4, 2, 2), (4, 4, 2))
SHAPES = (LINE, BLOCK)
# Lanes (0: as chosen) and what is done at the edges of memory; the last two where the oracle saw nothing outside.
WAYS: tuple[tuple[int, Guard], ...] = ((0, "robust"), (8, "robust"), (0, False), (1, True))


@dataclass(frozen=True)
class Opinion:
    """What came of one kernel: how many runs agreed, and sentences for those not made and for those that did not."""

    agreed: int = 0
    skipped: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def opinion(kernel: Kernel, shapes: tuple[Shape, ...] = SHAPES) -> Opinion:
    """A launch with a race is made again with one thread."""
    all_ = [_shape(kernel, s.within(kernel.signature.max_total_threads)) for s in shapes]
    if any(o.skipped for o in all_):
        all_.append(_shape(kernel, ONE))
    return Opinion(
        sum(o.agreed for o in all_),
        tuple(s for o in all_ for s in o.skipped),
        tuple(w for o in all_ for w in o.wrong),
    )


def _launch(kernel: Kernel, shape: Shape) -> Launch:
    signature = kernel.signature
    rng = np.random.default_rng(zlib.crc32(signature.name.encode()))
    local = {p.index: LOCAL for p in signature.parameters if p.kind == "threadgroup" and p.present}
    return Launch(shape.grid, shape.threadgroup, memory(signature, rng), local, kernel=signature.name)


def _shape(kernel: Kernel, shape: Shape) -> Opinion:
    fixed = in_simdgroups(kernel)  # then the lanes are those of a SIMD-group
    try:
        oracle = _launch(kernel, shape)

        deadline = time.monotonic() + ORACLE_SECONDS
        faults = interpret.run_robust(kernel.ir, oracle, step_limit=STEPS, deadline=deadline)
    except Unknown as error:
        return Opinion(skipped=(error.why,))
    except KernelFault as error:
        return Opinion(skipped=(str(error).splitlines()[0],))
    ways = tuple(way for way in WAYS if not (faults and way[1] != "robust") and not (fixed and way[0]))
    said = [(way, _engine(kernel, shape, oracle, *way)) for way in ways]
    wrong = [f"{shape.threadgroup}, {lanes} lanes, guard {guard}: {s}" for (lanes, guard), s in said if s]
    if wrong and (why := _race(kernel, shape)):
        return Opinion(skipped=(why,))
    return Opinion(len(ways) - len(wrong), wrong=tuple(wrong))


def _engine(kernel: Kernel, shape: Shape, oracle: Launch, lanes: int, guard: Guard) -> str:
    """What is wrong; empty where nothing is."""
    given = _launch(kernel, shape)
    try:
        program = cpu_program(kernel.ir, kernel.signature, lanes, level=1 if lanes == 0 else 0)
        program.run(given, guard=guard, timeout=60.0, backwards=lanes == 8)
    except Exception as error:  # a fault or a crash is a finding of this run, not its end
        return f"{type(error).__name__}: {error}"[:500]
    sentences = (differ(p, oracle.buffers[p.index], given.buffers[p.index]) for p in kernel.signature.buffers)
    return next((s for s in sentences if s), "")


def _race(kernel: Kernel, shape: Shape) -> str:
    """The first rule of order that the launch breaks."""
    seen = interpret.observe(kernel.ir, _launch(kernel, shape), step_limit=STEPS)
    rules = {record.rule for record in seen.records}
    return next((f"{rule} with {shape.threadgroup}" for rule in ORDERED if rule in rules), "")


def differ(parameter: Parameter, oracle: Bytes, engine: Bytes) -> str:
    """The first number that the engine has and the oracle has not; empty where there is none, NaNs aside."""
    size = parameter.type.size
    same = (oracle == engine).reshape(-1, size)
    if same.all():
        return ""
    for offset, dtype in scalars(parameter.type):
        at = slice(offset, offset + dtype.size)
        wrong = ~same[:, at].all(1)
        if not wrong.any():
            continue
        kind = FLOATS.get(dtype, np.dtype(dtype.numpy_name))
        a, b = (np.ascontiguousarray(x.reshape(-1, size)[:, at]).view(kind)[:, 0] for x in (oracle, engine))
        if dtype in FLOATS:
            wrong &= ~(np.isnan(a) & np.isnan(b))
        if wrong.any():
            n = int(wrong.argmax())
            return (
                f"'{parameter.name}'[{n}], byte {offset}: the engine has {b[n]}, the oracle {a[n]} "
                f"({int(wrong.sum())} differ)"
            )
    return ""

"""How long a kernel takes from its source, and from its binary, to machine code; in seconds of a processor.

Nothing is taken from the cache but what every kernel shares: the precompiled header, and the library of intrinsics.
"""

from __future__ import annotations

import resource
import time
from functools import cache

from conformance.binaries import mlx
from conformance.binaries.lines import Found
from conformance.results.case import Case, Step
from conformance.results.judge import made
from metalloid.air.build import compile_entry
from metalloid.air.stored import choose, container_of
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.frontend.kernel import Kernel
from metalloid.frontend.translate import compile_source

WAYS = ("source", "binary")


def judge(case: Case) -> Found:
    """Never raises: whatever goes wrong is what was found."""
    step = made(case, mlx.SIZE).steps[0]
    try:
        _load()
        numbers = [_seconds(step, way) for way in WAYS]
    except Exception as error:  # what goes wrong is a finding of this run, not its end
        return Found(case.label, (step.kernel,), f"{type(error).__name__}: {error}"[:300])
    return Found(
        case.label, (step.kernel,), detail=" ".join(f"{n:.4f}" for n in numbers), seconds=sum(numbers)
    )


@cache
def _load() -> None:
    """What all kernels need: modules, the precompiled header, the library of intrinsics."""
    step = made(next(case for case in mlx.cases() if case.family == "unary"), mlx.SIZE).steps[0]
    for way in WAYS:
        _seconds(step, way)


def _seconds(step: Step, way: str) -> float:
    begin = _spent()
    kernel = _from_source(step) if way == "source" else _from_binary(step)
    codegen._made(vector_stage(kernel.ir, step.threadgroup), codegen.host(), 1, False, False)
    return _spent() - begin


def _from_source(step: Step) -> Kernel:
    return compile_source(step.source, step.kernel, step.constants)


def _from_binary(step: Step) -> Kernel:
    found = mlx.from_library(step)
    assert found is not None
    container = container_of(mlx.library())
    return compile_entry(container, choose(container, found.kernel), found.constants)


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def medians(found: list[Found]) -> tuple[float, float]:
    """From source, and from binary."""
    rows = [[float(word) for word in one.detail.split()] for one in found if one.passed]
    source, binary = (sorted(row[n] for row in rows) for n in range(2))
    return source[len(source) // 2], binary[len(binary) // 2]

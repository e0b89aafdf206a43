"""Who observes: the vector engine where it can, else the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from metalloid import config
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.code import Code
from metalloid.checker.rules.progress import spins
from metalloid.errors import NotVectorised, NotWatched

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

SECONDS = 60.0  # of the launch itself; what takes longer is stopped, and says so
PATIENCE = 10.0  # with a loop that only looks at memory: who waits for another threadgroup waits for ever


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Launches inside are given this many seconds each; None leaves them what they have."""
    global SECONDS
    before = SECONDS
    SECONDS = before if seconds is None else seconds
    try:
        yield
    finally:
        SECONDS = before


def observe(kernel: KernelCode, launch: Launch) -> Observation:
    """Run a launch and see what it does; its buffers are changed as by any run.

    Bounds are those of the binding: what lies below a buffer's offset is of its allocation, but was not bound.
    """
    launch = replace(launch, below={})
    seconds = min(SECONDS, PATIENCE) if _spins(kernel.checked_ir) else SECONDS
    if config.check_engine() == "oracle":
        return _oracle(kernel, launch, "it was asked for", seconds)
    try:
        return kernel.checked_program.run(launch, seconds, on_log=kernel.on_log)
    except (NotVectorised, NotWatched) as why:
        return _oracle(kernel, launch, str(why), seconds)


@lru_cache(maxsize=256)
def _spins(ir: str) -> bool:
    return ("atomic" in ir or "volatile" in ir) and spins(Code(ir))


def _oracle(kernel: KernelCode, launch: Launch, why: str, seconds: float) -> Observation:
    seen = interpret.observe(kernel.checked_ir, launch, on_log=kernel.on_log, seconds=seconds)
    return replace(seen, note=f"watched by the interpreter: {why}")

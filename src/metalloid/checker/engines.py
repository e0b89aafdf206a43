"""Who observes: the vector engine where it can, else the oracle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from metalloid import config, deadline
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.code import Code
from metalloid.checker.rules.progress import spins
from metalloid.errors import NotVectorised, NotWatched, OutOfTime

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

SECONDS = 60.0  # of the launch itself; what takes longer is stopped, and says so
COMPILING = 300.0  # for its code; a limit that somebody gives counts for both
AFTER = 4.0  # for what is looked at once a launch has used up its time
PATIENCE = 10.0  # with a loop that only looks at memory: who waits for another threadgroup waits for ever

SLOW = "compiling took longer than {:g} s, so the interpreter watched the launch; give it more (timeout=)"


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Launches inside are given this many seconds each, and their code as many; None leaves them what they have."""
    global SECONDS, COMPILING
    before = SECONDS, COMPILING
    if seconds is not None:
        SECONDS = COMPILING = seconds
    try:
        yield
    finally:
        SECONDS, COMPILING = before


def until(start: float) -> float:
    """When a check that began at `start` on the monotonic clock is to be done, asked behind its launch."""
    return max(start + SECONDS, time.monotonic() + AFTER)


def observe(kernel: KernelCode, launch: Launch) -> Observation:
    """Run a launch and see what it does; its buffers are changed as by any run.

    Bounds are those of the binding: what lies below a buffer's offset is of its allocation, but was not bound.
    """
    launch = replace(launch, below={})
    seconds = min(SECONDS, PATIENCE) if _spins(kernel.checked_ir) else SECONDS
    if config.check_engine() == "oracle":
        return _oracle(kernel, launch, "it was asked for", seconds)
    try:
        with deadline.within(COMPILING):
            program = kernel.checked_program
        return program.run(launch, seconds, on_log=kernel.on_log, compiling=COMPILING)
    except (NotVectorised, NotWatched) as why:
        seen = _oracle(kernel, launch, str(why), seconds)
        if isinstance(why, OutOfTime):  # who gave the time can give more
            seen = replace(seen, left=(*seen.left, SLOW.format(max(COMPILING, deadline.LEAST))))
        return seen


@lru_cache(maxsize=256)
def _spins(ir: str) -> bool:
    return ("atomic" in ir or "volatile" in ir) and spins(Code(ir))


def _oracle(kernel: KernelCode, launch: Launch, why: str, seconds: float) -> Observation:
    seen = interpret.observe(kernel.checked_ir, launch, on_log=kernel.on_log, seconds=seconds)
    return replace(seen, note=f"watched by the interpreter: {why}")

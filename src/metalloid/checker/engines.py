"""Who observes: the vector engine where it can, else the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from metalloid import config
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.errors import NotVectorised, NotWatched

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

SECONDS = 60.0  # of the launch itself; what takes longer is stopped, and says so


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
    if config.check_engine() == "oracle":
        return _oracle(kernel, launch, "it was asked for")
    try:
        return kernel.checked_program.run(launch, SECONDS, on_log=kernel.on_log)
    except (NotVectorised, NotWatched) as why:
        return _oracle(kernel, launch, str(why))


def _oracle(kernel: KernelCode, launch: Launch, why: str) -> Observation:
    seen = interpret.observe(kernel.checked_ir, launch, on_log=kernel.on_log, seconds=SECONDS)
    return replace(seen, note=f"watched by the interpreter: {why}")

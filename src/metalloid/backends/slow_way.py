"""The slow way, for kernels that have no vector code."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Fault, Launch, LogMessage
from metalloid.records import replace


def run_interpreted(
    ir: str,
    launch: Launch,
    timeout: float | None = None,
    on_log: Callable[[LogMessage], None] | None = None,
    on_outside: Callable[[Fault, Launch], None] | None = None,
) -> None:
    """Always guarded, one thread after the other. With `on_outside` an access outside does not stop it: that is told
    what happened."""
    bytes_of = {
        index: memory.reshape(-1).view(np.uint8) if isinstance(memory, np.ndarray) and memory.size else memory
        for index, memory in launch.buffers.items()
    }
    deadline = time.monotonic() + timeout if timeout else None
    bound = replace(launch, buffers=bytes_of)
    if on_outside is None:
        interpret.run(ir, bound, on_log=on_log, step_limit=2**62, deadline=deadline)
        return
    for fault in interpret.run_robust(ir, bound, on_log=on_log, step_limit=2**62, deadline=deadline):
        on_outside(fault, launch)

"""Compile a kernel of a text and run it on the oracle."""

from functools import lru_cache
from typing import Any

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch, Triple
from metalloid.frontend import compile_kernel
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
SCHEDULES = [interpret.Schedule("forward"), interpret.Schedule("reverse"), interpret.Schedule("shuffle", 7)]


@lru_cache
def compiled(body: str, kernel: str, math: str = "safe") -> str:
    return compile_kernel(Source(HEAD + body, math=math), kernel).ir  # type: ignore[arg-type]


def triple(size: int | tuple[int, ...]) -> Triple:
    given = (size,) if isinstance(size, int) else size
    x, y, z = (*given, 1, 1, 1)[:3]
    return x, y, z


def run(
    body: str,
    *buffers: np.ndarray,
    grid: int | tuple[int, ...],
    threadgroup: int | tuple[int, ...],
    kernel: str = "k",
    schedule: interpret.Schedule = interpret.FORWARD,
    math: str = "safe",
    on_log: Any = None,
    step_limit: int = interpret.STEP_LIMIT,
    **launch: Any,
) -> None:
    """Run kernel `k` of `body` (line 3 of the file is its first) over these buffers, in place."""
    made = Launch(triple(grid), triple(threadgroup), dict(enumerate(buffers)), kernel=kernel, **launch)
    interpret.run(compiled(body, kernel, math), made, schedule, on_log, step_limit)

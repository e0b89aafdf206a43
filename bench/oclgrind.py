"""A launch under Oclgrind: the same kernel in OpenCL, checked for races and uninitialised memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from metalloid.backends.base import Launch

PROGRAM = Path(__file__).with_name("engine.cl")
CHECKS = ("--data-races", "--uninitialized", "--num-threads", "1")
PATIENCE = 120.0  # seconds


def _arguments(buffers: Mapping[int, object]) -> str:
    """One line per argument; arrays hold 0.5, a scalar its value."""
    lines = []
    for _, memory in sorted(buffers.items()):
        array = np.asarray(memory)
        if array.size == 1:
            lines.append(f"<size=4 uint> {int(array.reshape(-1)[0])}")
        else:
            lines.append(f"<size={array.nbytes} float fill=0.5>")
    return "\n".join(lines)


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _once(kernel: str, launch: Launch) -> float:
    """Seconds of processor time of a whole process."""
    sizes = "\n".join(" ".join(map(str, s)) for s in (launch.grid, launch.threadgroup))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "launch.sim"
        file.write_text(f"{PROGRAM}\n{kernel}\n{sizes}\n\n{_arguments(launch.buffers)}\n")
        start = _children()
        done = subprocess.run(
            ["oclgrind-kernel", *CHECKS, str(file)], capture_output=True, text=True, timeout=PATIENCE
        )
        took = _children() - start
    words = (done.stdout + done.stderr).strip()
    if done.returncode or "error" in words.lower():
        raise RuntimeError(f"oclgrind on {kernel}: {words[:2000]}")
    return took


def seconds_under_oclgrind(kernel: str, launch: Launch) -> float:
    """Seconds that the execution itself takes: less those of a process that runs one threadgroup."""
    one = replace(launch, grid=launch.threadgroup)
    start = min(_once(kernel, one) for _ in range(3))
    return max(_once(kernel, launch) - start, 1e-3)

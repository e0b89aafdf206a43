"""Programs that were written for a GPU go on where a kernel leaves its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = '''
import numpy as np
import metalloid as mt

k = mt.device().library("""
kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) {
    b[i] = a[i] + 1;
}
""")["k"]
b = np.full(12, -1, np.float32)
for _ in range(3):
    k(np.ones(10, np.float32), b, grid=12)
print(*b[8:])
'''


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("METALLOID_GUARD")} | more
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_under_run_a_read_outside_gives_zero_and_is_told_once(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "metalloid", "run", "script.py")
    assert done.returncode == 0 and done.stdout == "2.0 2.0 1.0 1.0\n", done.stderr
    assert done.stderr.count("M101 out-of-bounds read") == 1 and "b[i] = a[i] + 1;" in done.stderr


def test_a_plain_launch_stops_and_the_environment_decides(tmp_path: Path) -> None:
    assert "KernelFault" in run(tmp_path, "script.py").stderr
    done = run(tmp_path, "-m", "metalloid", "run", "script.py", METALLOID_GUARD="stop")
    assert done.returncode == 1 and "M101" in done.stderr and not done.stdout

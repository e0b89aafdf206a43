"""The kernels of the engine's bench in OpenCL, on whatever CPU runtimes are installed: `python -m bench opencl`.

PoCL (apt `pocl-opencl-icd`) and Intel's (pip `intel-opencl-rt`) are looked for; pip `pyopencl` is needed. Intel's
package leaves the path in its .icd file open: write that of its libintelocl.so into a file NAME.icd, and give the
folder of that file as OCL_ICD_VENDORS.
Every side uses all cores and the same arrays, without copies; outputs are compared before anything is timed.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench import engine

RUNTIMES = {"PoCL": "Portable Computing Language", "Intel": "Intel(R) OpenCL"}
SOURCE = Path(__file__).with_name("engine.cl")


def runtimes() -> tuple[dict[str, Any], dict[str, str]]:
    """CPU devices by name; and why the others are missing."""
    if find_spec("pyopencl") is None:
        return {}, dict.fromkeys(RUNTIMES, "pyopencl is not installed (pip install pyopencl)")
    import pyopencl as cl

    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        return {}, dict.fromkeys(RUNTIMES, f"no OpenCL platform: {error}")
    found: dict[str, Any] = {}
    for name, wanted in RUNTIMES.items():
        for platform in platforms:
            devices = platform.get_devices(cl.device_type.CPU) if wanted in platform.name else []
            if devices:
                found[name] = devices[0]
    return found, {name: "not installed" for name in RUNTIMES if name not in found}


class Side:
    """One runtime with its own build of the kernels."""

    def __init__(self, device: Any) -> None:
        import pyopencl as cl

        self.cl = cl
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.program = cl.Program(self.context, SOURCE.read_text()).build(["-cl-fast-relaxed-math"])

    def runner(self, case: engine.Case) -> Any:
        cl, flags = self.cl, self.cl.mem_flags
        kernel = cl.Kernel(self.program, case.kernel)
        arguments = [
            cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=a)
            if isinstance(a, np.ndarray)
            else np.uint32(a)
            for a in case.arrays
        ]
        kernel.set_args(*arguments)
        out = output(case)

        def run() -> None:
            cl.enqueue_nd_range_kernel(self.queue, kernel, case.grid, case.group)
            self.queue.finish()

        def look() -> np.ndarray:
            """What it computed; maps the buffer, as the standard asks before the host may look."""
            buffer = next(b for b, a in zip(arguments, case.arrays, strict=True) if a is out)
            view, _ = cl.enqueue_map_buffer(
                self.queue, buffer, cl.map_flags.READ, 0, out.shape, out.dtype, is_blocking=True
            )
            return np.array(view)

        return run, look


def output(case: engine.Case) -> np.ndarray:
    """The array that a kernel of the bench writes: its last."""
    return [a for a in case.arrays if isinstance(a, np.ndarray)][-1]


def main() -> None:
    found, missing = runtimes()
    for name, reason in missing.items():
        print(f"skipped {name}: {reason}")
    if not found:
        return
    sides = {name: Side(device) for name, device in found.items()}
    with engine.on_threads(os.cpu_count() or 1):
        compared(sides)


def compared(sides: dict[str, Side]) -> None:
    print(f"{'time of each over that of metalloid':40}" + "".join(f"{name:>10}" for name in sides))
    ratios: dict[str, list[float]] = {name: [] for name in sides}
    for case in engine.cases():
        ours = engine.runner(case.kernel, case.arrays, case.grid, case.group)
        others = [side.runner(case) for side in sides.values()]
        check(case, ours, others)
        own, *times = engine.best(ours, *(run for run, _ in others))
        for name, seconds in zip(sides, times, strict=True):
            ratios[name].append(seconds / own)
        print(f"{case.name:40}" + "".join(f"{t / own:10.2f}" for t in times), flush=True)
    means = "".join(f"{np.exp(np.mean(np.log(r))):10.2f}" for r in ratios.values())
    print(f"{'geometric mean (4 over PoCL is the aim)':40}{means}")


def check(case: engine.Case, ours: Any, others: list[Any]) -> None:
    """All sides compute the same."""
    out = output(case)
    out[...] = -1
    ours()
    expected = out.copy()
    for run, look in others:
        out[...] = -1
        run()
        np.testing.assert_allclose(look(), expected, rtol=1e-3, atol=1e-3, err_msg=case.name)

"""How long it takes from MSL to IR, cold and from the cache, and to import: `python -m bench frontend`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import resources

from metalloid.frontend import compile_kernel, find_kernels
from metalloid.source import Source

RUNS = 15


def milliseconds(action: Callable[[], object], runs: int = RUNS) -> list[float]:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def imports() -> list[float]:
    """A new interpreter each time, less the time an empty one takes."""
    empty = statistics.median(milliseconds(lambda: _python("pass")))
    return [max(0.0, t - empty) for t in milliseconds(lambda: _python("import metalloid"))]


def first_hit() -> list[float]:
    """From the cache in a new process: the first kernel after the imports."""
    code = (
        "import time; from importlib import resources; from metalloid.frontend import compile_kernel\n"
        "from metalloid.source import Source\n"
        "text = (resources.files('metalloid.demo') / 'kernels.metal').read_text()\n"
        "s = Source(text, name='kernels.metal')\n"
        "t = time.perf_counter(); compile_kernel(s, 'vector_add')\n"
        "print((time.perf_counter() - t) * 1e3)"
    )
    return [float(_python(code)) for _ in range(RUNS)]


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def main() -> None:
    text = (resources.files("metalloid.demo") / "kernels.metal").read_text(encoding="utf-8")
    source = Source(text, name="kernels.metal")
    names = [entry.name for entry in find_kernels(source)]
    with tempfile.TemporaryDirectory() as directory:
        os.environ["METALLOID_CACHE_DIR"] = directory
        start = time.perf_counter()
        compile_kernel(source, names[0])  # builds the precompiled header
        header = (time.perf_counter() - start) * 1e3
        cold = [
            t for name in names for t in milliseconds(lambda n=name: compile_kernel(source, n, fresh=True), 5)
        ]
        compile_kernel(source, "vector_add")
        hit = milliseconds(lambda: compile_kernel(source, "vector_add"))
        first = first_hit()
        del os.environ["METALLOID_CACHE_DIR"]
    print(f"{'':44}{'median':>9}{'worst':>9}   limit")
    for label, times, limit in (
        ("import metalloid, ms", imports(), 150),
        ("small kernel, cold, ms", cold, 250),
        ("small kernel, from the cache, new process, ms", first, 5),
        ("small kernel, from the cache, again, ms", hit, 5),
    ):
        print(f"{label:44}{statistics.median(times):9.2f}{max(times):9.2f}   {limit}")
    print(f"{'first kernel ever (precompiles the header), ms':44}{header:9.0f}")


if __name__ == "__main__":
    main()

"""How fast the math functions are when LLVM vectorises a loop over them: `python -m bench.math`.

numpy's float32 functions are the yardstick; several of them are hand-vectorised too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from tests.math.scalar_jit import Kernel, build

from metalloid.source import MathMode

COUNT = 1 << 20
FUNCTIONS: dict[str, Callable[..., object]] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x, out: np.divide(1, np.sqrt(x, out=out), out=out),
}


def best(function: Callable[..., object], *arguments: object, **keywords: object) -> float:
    """Nanoseconds per element of the fastest of 15 calls."""
    times = []
    for _ in range(15):
        start = time.perf_counter()
        function(*arguments, **keywords)
        times.append(time.perf_counter() - start)
    return min(times) / COUNT * 1e9


def main() -> None:
    modes: tuple[MathMode, ...] = ("safe", "fast")
    kernels = [Kernel(name, ("float", "float"), f"{name}(a)") for name in FUNCTIONS]
    modules = {mode: build(kernels, mode) for mode in modes}
    x = np.random.default_rng(1).uniform(0.1, 8, COUNT).astype(np.float32)
    out = np.empty_like(x)
    print(f"{COUNT} floats in [0.1, 8], one thread, ns per element")
    print(f"{'':8}{'safe':>8}{'fast':>8}{'numpy':>8}{'numpy/fast':>12}")
    for name, function in FUNCTIONS.items():
        safe, fast = (best(modules[mode].into, name, out, x) for mode in modes)
        numpy = best(function, x, out=out)
        print(f"{name:8}{safe:8.2f}{fast:8.2f}{numpy:8.2f}{numpy / fast:11.1f}x")


if __name__ == "__main__":
    main()

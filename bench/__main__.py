"""`python -m bench [NAME...]`: run the benchmarks, all or by name."""

from __future__ import annotations

import importlib
import sys

SUITES = (
    "frontend",
    "compile",
    "math",
    "engine",
    "opencl",
    "launch",
    "checker",
    "matrices",
    "kernels",
    "shapes",
    "llama",
    "decode",
    "cold",
)
ELSEWHERE = ("cuda",)  # needs a machine of its own


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in (*SUITES, *ELSEWHERE)]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; there are {', '.join((*SUITES, *ELSEWHERE))}")
    for name in names or SUITES:
        print(f"\n== {name}")
        importlib.import_module(f"bench.{name}").main()


main(sys.argv[1:])

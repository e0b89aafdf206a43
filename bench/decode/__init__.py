"""Whole programs token by token: `python -m bench decode`.

The shipped Llama and a random one of a billion weights, both in q4_0 on the CPU: metalloid beside llama.cpp's CPU back
end, mlx-lm and numpy, with one and two threads, each in a process of its own, in turns. Of all tokens the quickest
counts, by the clock and by the processor's time, so that what else the machine does is left out. Programs that are not
installed are left out and named. llama.cpp is what `pip install llama-cpp-python` builds.

BENCH_ONLY=small leaves out the large model, BENCH_PROGRAMS=metalloid,llama.cpp other programs; BENCH_ROUNDS says how
often each is run, BENCH_STEPS for how many tokens;
BENCH_PAGE=docs/decode.md writes that page, with the sentence BENCH_NOTE.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.decode.models import write_large, write_small

NEEDS = {"metalloid": "metalloid", "llama.cpp": "llama_cpp", "mlx-lm": "mlx_lm", "numpy": "numpy"}
MODELS = {
    "small": ("the shipped model, 4 million weights", 32),
    "large": ("1.1 billion random weights, the shape of TinyLlama", 6),
}


@dataclass
class Result:
    """A program with so many threads on a model: its quickest token, and the least of the processor's time for one."""

    model: str
    program: str
    threads: int
    clock: float = float("inf")
    busy: float = float("inf")
    tokens: tuple[int, ...] = ()

    def run(self, file: Path, steps: int) -> None:
        count = str(self.threads)
        threads = {"METALLOID_THREADS": count, "OPENBLAS_NUM_THREADS": count, "BENCH_THREADS": count}
        command = [sys.executable, "-m", "bench.decode.programs", self.program, str(file), str(steps)]
        done = subprocess.run(
            command, env={**os.environ, **threads}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.program} failed on {file.name}:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        self.clock = min(self.clock, *found["seconds"])
        self.busy = min(self.busy, found["busy"] / steps)
        self.tokens = tuple(found["tokens"])


def measured(folder: Path, models: list[str], rounds: int) -> list[Result]:
    results = []
    for model in models:
        file = folder / f"{model}.gguf"
        (write_small if model == "small" else write_large)(file)
        wanted = os.environ.get("BENCH_PROGRAMS", ",".join(NEEDS)).split(",")
        there = [program for program, module in NEEDS.items() if program in wanted and find_spec(module)]
        each = [Result(model, program, threads) for program in there for threads in (1, 2)]
        for _ in range(rounds):
            for result in each:
                if (result.program, result.threads) != ("mlx-lm", 2):  # it has no such setting
                    result.run(file, int(os.environ.get("BENCH_STEPS", MODELS[model][1])))
        results += [result for result in each if result.tokens]
    return results


def rows(results: list[Result]) -> list[str]:
    """A table for each model; a ratio above 1: metalloid is the quicker one."""
    lines = []
    ours = {(r.model, r.threads): r for r in results if r.program == "metalloid"}
    for model, (words, _) in MODELS.items():
        mine = [r for r in results if r.model == model]
        if not mine:
            continue
        lines += [
            f"| {words} | threads | ms a token | tokens/s | metalloid's rate to it | by processor time | alike |",
            "|---|---|---|---|---|---|---|",
        ]
        for r in mine:
            own = ours[model, r.threads]
            alike = sum(a == b for a, b in zip(r.tokens, own.tokens, strict=True))
            threads = "its own" if r.program == "mlx-lm" else r.threads
            lines.append(
                f"| {r.program} | {threads} | {r.clock * 1e3:.2f} | {1 / r.clock:.1f} | {r.clock / own.clock:.2f}"
                f" | {r.busy / own.busy:.2f} | {alike} of {len(r.tokens)} |"
            )
        lines.append("")
    return lines


def page(path: Path, results: list[Result]) -> None:
    note = os.environ.get("BENCH_NOTE", "")
    missing = [program for program, module in NEEDS.items() if not find_spec(module)]
    head = [
        "# Whole programs",
        "",
        "Written by `python -m bench decode` (with `BENCH_PAGE=docs/decode.md`). Greedy decoding on the CPU,",
        "weights in q4_0; numpy has them as float32. llama.cpp is what `pip install llama-cpp-python` builds. It and",
        "metalloid round what goes into a product to 8 bits, where the processor multiplies bytes; the others do not.",
        "Of all tokens the quickest counts; `alike`: tokens that metalloid chose too.",
        *([note] if note else []),
        *([f"Not installed, so not measured: {', '.join(missing)}."] if missing else []),
        "",
    ]
    path.write_text("\n".join([*head, *rows(results)]).rstrip() + "\n")


def main() -> None:
    if not find_spec("gguf"):
        raise SystemExit("the models are written by the package gguf: pip install gguf")
    models = [os.environ["BENCH_ONLY"]] if os.environ.get("BENCH_ONLY") else list(MODELS)
    with tempfile.TemporaryDirectory(prefix="metalloid-") as place:
        results = measured(Path(place), models, int(os.environ.get("BENCH_ROUNDS", "3")))
    print("\n".join(rows(results)))
    if wanted := os.environ.get("BENCH_PAGE"):
        page(Path(wanted), results)

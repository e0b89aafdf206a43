"""`python -m conformance nvidia pack|run|page`: results of kernels on an NVIDIA GPU.

`run` needs a GPU and runs everything: generated programs against the oracle, third-party kernels, suites, the bench.
`pack` makes the generated programs and asks the oracle on a machine without one. `page` writes docs/nvidia.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from conformance.packages import ROOT, STORE

FOLDER = STORE / "nvidia"
RESULTS = FOLDER / "results.json"
SUITES = ("tests/cuda", "tests/language", "tests/kernels", "tests/math")


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--programs", default=2000, help="How many programs are generated.")
@click.option("--first", default=0, help="The first seed.")
def pack(programs: int, first: int) -> None:
    """Generated programs and what the oracle leaves of each."""
    from conformance.nvidia import fuzz, replay

    FOLDER.mkdir(parents=True, exist_ok=True)
    for start in range(first, first + programs, 200):
        path = FOLDER / f"fuzz-{start:05}.pack"
        many = replay.save(path, fuzz.replays(range(start, min(start + 200, first + programs))))
        print(f"{path.name}: {many} programs, {path.stat().st_size} bytes", flush=True)


@main.command()
@click.option("--jobs", default=max(1, (os.cpu_count() or 2) - 2), help="Processes.")
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(["fuzz", "results", "tests", "math", "bench"])
)
@click.option("--programs", default=2000, help="How many are generated, where none are packed.")
@click.option("--only", default="", help="Of third-party cases, those whose name contains this.")
@click.option("--cases", default=":", help="Of third-party cases, those by number from FIRST:END.")
@click.option("--out", default=str(RESULTS), help="Where to keep what was found.")
def run(jobs: int, parts: tuple[str, ...], programs: int, only: str, cases: str, out: str) -> None:
    """Everything that is there to run, on the GPU of this machine; `page` puts runs of parts together."""
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found["machine"] = _machine()
    steps = {
        "fuzz": lambda: _fuzz(jobs, programs),
        "results": lambda: _third_party(jobs, only, cases),
        "tests": lambda: _tests(jobs),
        "math": lambda: _math(jobs),
        "bench": _bench,
    }
    for name in parts or steps:
        begin = time.time()
        found[name] = steps[name]()
        print(f"{name}: {time.time() - begin:.0f} s", flush=True)
        path.write_text(json.dumps(found, indent=1))


def _machine() -> dict[str, str]:
    import llvmlite

    # In a process of its own: those that are forked later must find CUDA untouched.
    ask = "from metalloid.backends.cuda.program import memory; g = memory().gpu; "
    ask += "print(g.name, g.processor, g.version, sep='|')"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    name, processor, version = said.strip().split("|")
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    cuda = f"{int(version) // 1000}.{int(version) % 1000 // 10}"
    return {
        "gpu": name,
        "processor": processor,
        "cuda": cuda,
        "driver": driver,
        "llvmlite": llvmlite.__version__,
    }


def _fuzz(jobs: int, programs: int) -> list[dict[str, Any]]:
    from conformance.nvidia.run import generated, packed

    found = []
    paths = sorted(FOLDER.glob("fuzz-*.pack"))
    for verdict in packed(paths, jobs) if paths else generated(programs, 0, jobs):
        found.append(asdict(verdict))
        if not verdict.good:
            print(f"{verdict.how}: {verdict.name}: {verdict.words}", flush=True)
    print(Counter(v["how"] for v in found), flush=True)
    return found


def _third_party(jobs: int, only: str, numbers: str) -> list[dict[str, Any]]:
    from rich.console import Console

    from conformance.results import command
    from conformance.results.suites import all_cases

    first, _, end = numbers.partition(":")
    found = all_cases()[int(first or 0) : int(end) if end else None]
    cases = [case for case in found if only in case.label]
    verdicts = command.run(cases, ("cuda", None, "quick", False), jobs, Console(quiet=True))
    for verdict in verdicts:
        if not verdict.passed:
            print(f"{verdict.suite} {verdict.family} {verdict.name}: {verdict.reason[:300]}", flush=True)
    print(Counter((v.suite, v.passed) for v in verdicts), flush=True)
    return [{**asdict(v), "passed": v.passed} for v in verdicts]


def _math(jobs: int) -> list[dict[str, Any]]:
    from conformance.nvidia.math import measured

    found = []
    for one in measured(jobs):
        found.append(one)
        if one.get("share", 2) > 1 + 1e-6:
            print(one, flush=True)
    return found


def _tests(jobs: int) -> list[dict[str, str]]:
    """The suites whose kernels run on the default device, with the GPU as that."""
    environment = {**os.environ, "METALLOID_DEVICE": "cuda"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "--tb=line",
        "-n",
        str(jobs),
    ]
    command += ["-p", "no:cacheprovider", "-p", "no:benchmark", *SUITES]
    said = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    ).stdout
    found = []
    for line in said.splitlines():
        how, _, rest = line.partition(" ")
        if how in ("PASSED", "FAILED", "ERROR"):
            found.append({"how": how.lower(), "name": rest[:300]})
    print(said[-3000:], Counter(f["how"] for f in found), flush=True)
    return found


def _bench() -> Any:
    FOLDER.mkdir(parents=True, exist_ok=True)
    out = FOLDER / "bench.json"
    subprocess.run(
        [sys.executable, "-m", "bench", "cuda"],
        cwd=ROOT,
        env={**os.environ, "BENCH_OUT": str(out)},
        check=False,
    )
    return json.loads(out.read_text()) if out.exists() else []


@main.command()
@click.argument("kept", nargs=-1, type=click.Path(exists=True))
def page(kept: tuple[str, ...]) -> None:
    """docs/nvidia.md from what was kept: one run of everything, or several of parts on one kind of machine."""
    from conformance.nvidia.page import written

    found: dict[str, Any] = {}
    for path in kept or (str(RESULTS),):
        for name, part in json.loads(Path(path).read_text()).items():
            if name == "machine" and found.get(name, part) != part:
                raise click.ClickException(f"{path} is of another machine: {part}, not {found[name]}.")
            found[name] = found[name] + part if name in found and isinstance(part, list) else part
    (ROOT / "docs" / "nvidia.md").write_text(written(found))

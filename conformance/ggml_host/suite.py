"""Runs llama.cpp's own test-backend-ops over the framework, a batch of named cases in a process, and times each case.

A case that takes too long, or ends the program, is told; the rest of its batch is run by another process.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from threading import Timer

from conformance.ggml_host.build import LISTER, PLACE, PROGRAM, root
from conformance.ggml_host.state import Outcome

BACKEND = "MTL0"
LOG = PLACE / "suite.log"
SLICE = "FLASH_ATTN_EXT"  # whose run ends with a slice of its own
LAST = ("MUL_MAT", "MUL_MAT_ID", "CONV_2D", SLICE)  # most cases, most kernels

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CASE = re.compile(r"^\s*([A-Z0-9_]+\(.*\)):? ?(.*?)(OK|FAIL|not supported.*)$")
_SAYS = re.compile(r"error|NMSE|M1|sentinel", re.IGNORECASE)


def environment() -> dict[str, str]:
    # The slice forces settings of one kernel for 288 cases, and tells no case by name; `flash_slice` runs it.
    return {
        **os.environ,
        "GGML_METAL_PATH_RESOURCES": str(root() / "ggml/src/ggml-metal"),
        "LLAMA_TEST_FA_VEC_DISABLE": "1",
    }


def known() -> list[str]:
    """The cases that ggml-metal and ggml's CPU back end can run, in their order; one that stands twice counts once."""
    done = subprocess.run(
        [str(LISTER), BACKEND], env=environment(), capture_output=True, text=True, check=True
    )
    lines = (line.split("\t") for line in done.stdout.splitlines() if line.startswith("case\t"))
    return list(dict.fromkeys(f"{name}({values})" for _, name, values, both in lines if both == "1"))


def grouped(cases: Iterable[str]) -> dict[str, list[str]]:
    """By operation."""
    found: dict[str, list[str]] = {}
    for case in cases:
        found.setdefault(case.partition("(")[0], []).append(case)
    return found


def ordered(cases: list[str], first: int = 4, size: int = 40) -> list[str]:
    """Some cases of every operation, spread over its list; then the rest, the largest operations last, a batch of each
    by turns: neighbours share kernels."""
    operations = grouped(cases)
    names = sorted(operations, key=lambda name: (name in LAST, len(operations[name]), name))
    heads = {name: operations[name][:: max(1, len(operations[name]) // first)] for name in names}
    begun = set(chain(*heads.values()))
    rest = {name: [case for case in operations[name] if case not in begun] for name in names}
    small = [case for name in names if name not in LAST for case in rest[name]]
    parts = (
        [rest[name][at : at + size] for at in range(0, len(rest[name]), size)]
        for name in LAST
        if name in rest
    )
    turns = chain(*zip_longest(*parts, fillvalue=[]))
    return [*chain(*heads.values()), *small, *chain(*turns)]


def batches(cases: list[str], listed: list[str], size: int) -> Iterator[list[str]]:
    """For a process each, which needs seconds to start; in the order of the suite, in which they run."""
    places = {case: n for n, case in enumerate(listed)}
    for start in range(0, len(cases), size):
        yield sorted(cases[start : start + size], key=places.__getitem__)


def run(cases: list[str], limit: float, told: Callable[[str, Outcome], None], log: Path = LOG) -> None:
    """Run a batch; `told` hears of each case when it ends. One that takes longer than `limit` seconds fails."""
    left = dict.fromkeys(cases)

    def ended(case: str, outcome: Outcome) -> None:
        told(case, outcome)
        left.pop(case, None)

    while left:
        words = _process(list(left), limit, ended, log)
        if not words:
            return
        # Cases run in the order of the list; what ends the program behind the last one is that one's failure.
        ended(next(iter(left), cases[-1]), Outcome(False, words))


def _process(cases: list[str], limit: float, told: Callable[[str, Outcome], object], kept: Path) -> str:
    """One process for these cases; why it ended before it was through."""
    process = subprocess.Popen(
        [str(PROGRAM), "test", "-b", BACKEND, "-o", ",".join(cases)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    slow, said, last, compiled = False, "", "", 0

    def stop() -> None:
        nonlocal slow
        slow = True
        process.kill()

    timer = Timer(limit, stop)
    timer.start()
    start = time.monotonic()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with process.stdout, kept.open("a", buffering=1) as log:
        for raw in process.stdout:
            log.write(raw)
            line = _COLOUR.sub("", raw.rstrip("\n"))
            match = _CASE.match(line)
            if match is None:
                compiled += "compiling pipeline" in line
                said = line.strip()[:300] if _SAYS.search(line) else said
                last = line.strip() or last
                continue
            timer.cancel()
            now = time.monotonic()
            passed = match[3] == "OK"
            words = "" if passed else match[2].strip() or said or match[3]
            told(match[1], Outcome(passed, words, now - start, compiled))
            start, said, compiled = now, "", 0
            timer = Timer(limit, stop)
            timer.start()
    timer.cancel()
    code = process.wait()
    if code in (-signal.SIGTERM, -signal.SIGINT):
        raise SystemExit("[ggml-host] stopped; the next run goes on with what is left")
    if slow:
        return f"took more than {limit:.0f} s"
    if code in (0, 1):
        return ""
    name = signal.Signals(-code).name if code < 0 else str(code)
    return f"the program ended with {name}: {last[:200]}"


def flash_slice(limit: float) -> tuple[int, int, float]:
    """The slice behind FLASH_ATTN_EXT: cases, failed, seconds."""
    settings = environment()
    del settings["LLAMA_TEST_FA_VEC_DISABLE"]
    start = time.monotonic()
    done = subprocess.run(
        [str(PROGRAM), "test", "-b", BACKEND, "-o", f"{SLICE}(slice)"],
        env=settings,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit,
        check=False,
    )
    found = re.search(r"slice: (\d+) cases run, (\d+) failed", done.stdout)
    if found is None:
        raise SystemExit(f"[ggml-host] the slice ended with {done.returncode}: {done.stdout[-500:]}")
    return int(found[1]), int(found[2]), time.monotonic() - start

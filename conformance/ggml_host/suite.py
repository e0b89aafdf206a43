"""Runs llama.cpp's own test-backend-ops over the framework, operation by operation, and keeps what it said.

Results are kept for each operation in .conformance/ggml-host/results.json: a run that was stopped goes on with the
operations that are missing. An operation that was stopped half-way starts anew; its kernels are in the cache by then.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from conformance.ggml_host.build import PLACE, PROGRAM, root

BACKEND = "MTL0"
STATE = PLACE / "results.json"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CASE = re.compile(r"^\s*([A-Z0-9_]+)\((.*)\):? ?(.*?)(OK|FAIL|not supported.*)$")
LAST = ("MUL_MAT", "MUL_MAT_ID", "FLASH_ATTN_EXT", "MUL_MAT_HADAMARD")  # most cases, most kernels


@dataclass
class Operation:
    """What became of one operation's cases."""

    name: str
    known: int  # cases that the back end says it supports
    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # case, reason
    cold: float = 0.0  # seconds, kernels compiled
    warm: float = 0.0  # seconds, kernels from the cache
    ended: bool = False  # whether all cases ran

    @property
    def ran(self) -> int:
        return self.passed + len(self.failed)


def environment() -> dict[str, str]:
    return {**os.environ, "GGML_METAL_PATH_RESOURCES": str(root() / "ggml/src/ggml-metal")}


def supported() -> dict[str, int]:
    """Cases of each operation that ggml-metal says it can run."""
    done = subprocess.run(
        [str(PROGRAM), "support", "-b", BACKEND, "--output", "csv"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = csv.DictReader(done.stdout[done.stdout.index('"backend_name"') :].splitlines())
    return dict(Counter(row["op_name"] for row in rows if row["supported"] == "1"))


def load() -> dict[str, Operation]:
    if not STATE.exists():
        return {}
    return {name: Operation(**entry) for name, entry in json.loads(STATE.read_text()).items()}


def store(operations: dict[str, Operation]) -> None:
    partial = STATE.with_suffix(".partial")
    partial.write_text(json.dumps({name: asdict(o) for name, o in operations.items()}, indent=1))
    partial.rename(STATE)


def run(name: str, known: int, limit: float, log: Path) -> Operation:
    """All cases of an operation, for at most so many seconds."""
    made = Operation(name, known)
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(PROGRAM), "test", "-b", BACKEND, "-o", name],
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            code = -9
            process.wait()
    made.cold = time.monotonic() - start
    lines = _COLOUR.sub("", log.read_text(errors="replace")).splitlines()
    seen = read(lines, made)
    made.ended = code in (0, 1) and any("tests passed" in line for line in lines)
    if code not in (0, 1, -9, -15):  # stopped, by the limit or by somebody
        made.failed[seen or "(before the first case)"] = (
            f"the program ended with {code}: {lines[-1][:200] if lines else ''}"
        )
    return made


def read(lines: list[str], into: Operation) -> str:
    """Count cases; the last that began."""
    last, said = "", ""
    for line in lines:
        match = _CASE.match(line)
        if match is None:
            if re.match(rf"^\s*{into.name}\(", line):
                last = line.strip()[:200]
            elif "error" in line.lower() or "NMSE" in line or "M1" in line:
                said = line.strip()[:300]
            continue
        case, words, verdict = f"{match[1]}({match[2]})", match[3].strip(), match[4]
        last = ""
        if verdict == "OK":
            into.passed += 1
        elif verdict == "FAIL":
            into.failed[case] = words or said
        said = ""
    return last

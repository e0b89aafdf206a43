"""What was found before, one line of JSON each: a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.packages import STORE
from conformance.results import kept

FOLDER = STORE / "binaries"


@dataclass(frozen=True)
class Found:
    """What became of one kernel, or one launch."""

    name: str
    kernels: tuple[str, ...] = ()
    reason: str = ""  # why it was refused, or is wrong; "" where all is well
    detail: str = ""
    seconds: float = 0.0
    same_bits: bool = False  # as the same launch from source leaves
    commit: str = ""  # of metalloid, and the processor, that it was found with
    processor: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason


def key_of(*parts: object) -> str:
    """A hash of these and of metalloid's code."""
    return hashlib.sha256(repr((kept.code(), parts)).encode()).hexdigest()[:24]


def known(table: str) -> dict[str, Found]:
    path = _path(table)
    found: dict[str, Found] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            key = entry.pop("key")
            found[key] = Found(**{**entry, "kernels": tuple(entry["kernels"])})
        except (ValueError, KeyError, TypeError):  # a line that a stopped run left half-written
            continue
    return found


def keep(table: str, key: str, found: Found) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _path(table).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, **asdict(found)}) + "\n")


def _path(table: str) -> Path:
    return FOLDER / f"{table}.jsonl"

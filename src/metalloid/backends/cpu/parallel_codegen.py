"""Very long code, compiled by two processes at once.

The regions of a long kernel are functions of their own. Half of them go to a second process, under names that nobody
else has; its object is loaded first, and the other one finds them by these names. LLVM could do it with threads, but
llvmlite holds one lock; it could load both objects into one engine, but takes the first one's table of offsets for all.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from metalloid import config
from metalloid.backends.cpu.abi import LANES
from metalloid.hashes import sha256
from metalloid.patterns import pattern
from metalloid.records import dataclass

LONG = 25_000  # lines; below, starting a process takes longer than it saves
_MAGIC = b"metalloid objects\0"
_DEFINED = pattern(r"^define (internal )?(?P<head>[^\n]*@(?P<name>[\w.]+)\([^\n]*)\{\n.*?^\}\n?", re.M | re.S)
_SEGMENT = pattern(r"\ndefine [^\n]*@segment")
_GLOBAL = pattern(rf"^@(?!{LANES}|mt_constants = constant \[1 x \{{ ptr, i64 \}}\])", re.M)
_TIMEOUT = 120.0


def can_start() -> bool:
    """Whether another process can be started: not inside another program."""
    return Path(sys.executable or "").name.lower().startswith("python")


@dataclass(frozen=True)
class Halves:
    first: str  # has the kernel's entry, and calls functions of the second
    second: str
    exported: tuple[str, ...]  # by the second


def halves(text: str) -> Halves | None:
    """Two modules that are the given one together; None where it is short, or its parts share data."""
    if text.count("\n") < LONG or config.threads() < 2 or _GLOBAL.search(text) or not can_start():
        return None
    if len(_SEGMENT.findall(f"\n{text}")) < 2:  # sooner known than where all functions end
        return None
    functions = list(_DEFINED.finditer(text))
    segments = [f for f in functions if f["name"].startswith("segment") and " noinline " in f["head"]]
    if len(segments) < 2:
        return None
    moved: set[str] = set()
    sizes = [0, 0]
    for f in sorted(segments, key=lambda f: len(f[0]), reverse=True):
        lesser = sizes.index(min(sizes))
        sizes[lesser] += len(f[0])
        moved |= {f["name"]} if lesser else set()
    unique = sha256(text.encode()).hexdigest()[:24]
    names = {name: f"mt_{name}_{unique}" for name in moved}
    here: list[str] = []
    there: list[str] = []
    rest, at = "", 0
    for f in functions:
        rest, at = rest + text[at : f.start()], f.end()
        if f["name"] in moved:
            here.append(_renamed(_declared(f), names))
            head, body = f[0].split("\n", 1)
            there.append(f"{_renamed(head.removeprefix('define internal '), names, 'define ')}\n{body}")
        elif f in segments:
            here.append(f[0])
        else:  # the driver calls regions; helpers are wanted on both sides
            here.append(_renamed(f[0], names))
            there += [f[0]] if f[1] else []
    rest += text[at:]
    alone = "\n".join(line for line in rest.splitlines() if line[:1] != "@" or line.startswith(f"@{LANES}"))
    first, second = rest + "\n" + "\n".join(here), alone + "\n" + "\n".join(there)
    return Halves(first, second, tuple(names[name] for name in sorted(moved)))


def _renamed(text: str, names: dict[str, str], start: str = "") -> str:
    return start + re.sub(r"@(segment\d+)(?![\w.])", lambda found: f"@{names.get(found[1], found[1])}", text)


def _declared(function: re.Match[str]) -> str:
    """`declare` for a definition: its parameters lose their names."""
    head = re.sub(r" %\w+", "", function["head"])
    return f"declare {head[: head.rindex(')') + 1]}\n"


@dataclass(frozen=True)
class Part:
    code: bytes
    exported: tuple[str, ...] = ()  # what parts that are loaded later look for


def joined(parts: Sequence[Part]) -> bytes:
    head = json.dumps([(len(p.code), p.exported) for p in parts]).encode()
    return b"".join([_MAGIC, head, b"\n", *(p.code for p in parts)])


def parted(code: bytes) -> list[Part]:
    """What was joined, in the order to be loaded; a single object as it is."""
    if not code.startswith(_MAGIC):
        return [Part(code)]
    head, _, rest = code[len(_MAGIC) :].partition(b"\n")
    found = []
    for length, exported in json.loads(head):
        found.append(Part(rest[:length], tuple(exported)))
        rest = rest[length:]
    return found


class OtherProcess:
    """An object that another process makes."""

    def __init__(self, text: str, *settings: object, seconds: float = _TIMEOUT) -> None:
        self._made, self._seconds = b"", seconds
        self._thread = threading.Thread(target=self._work, args=(text, settings))
        self._thread.start()

    def _work(self, text: str, settings: tuple[object, ...]) -> None:
        import subprocess

        here = str(Path(__file__).parents[3])
        script = (
            f"import sys; sys.path.insert(0, {here!r})\nfrom {__package__} import codegen; codegen.serve()"
        )
        task = json.dumps([text, *settings]).encode()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("METALLOID_")}
        try:
            done = subprocess.run(
                [sys.executable, "-c", script],
                input=task,
                env=environment,
                capture_output=True,
                timeout=self._seconds,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return
        made = done.stdout[len(_MAGIC) + 32 :]
        if done.stdout.startswith(_MAGIC + sha256(made).digest()):
            self._made = made

    def result(self) -> bytes:
        """The object; empty where that process failed."""
        self._thread.join()
        return self._made


def answer(code: bytes) -> None:
    """What `OtherProcess` waits for, from the process that it started."""
    sys.stdout.buffer.write(_MAGIC + sha256(code).digest() + code)

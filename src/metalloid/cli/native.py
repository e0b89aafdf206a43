"""Run a program of machine code that was built with `metalloid cc`, or a script of a shell that starts some.

It is a process of its own: `run` becomes it, `check` starts it and reads what it found.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import metalloid as mt
from metalloid.checker.elsewhere import Wish, page, report, wish
from metalloid.cli.exits import BadOption

LIBRARY = "libmetalloid.so"
_ELF, _SCRIPT, _SIGNALLED = b"\x7fELF", b"#!", 128  # what shells add to the number of a signal
_DLOPEN = b"\0dlopen\0"  # an entry of the table of names
_OTHERS = (b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"MZ")
_BUILD = "build it with metalloid cc or c++ (docs/forms/framework.md)."


@dataclass(frozen=True)
class NativeProgram:
    """A file that the system can start, and what it is given."""

    target: str
    arguments: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        return [str(Path(self.target).absolute()), *self.arguments]

    def run(self) -> int:
        """Become the program: it has this process, its terminal and its exit code."""
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.execve(self.words[0], [self.target, *self.arguments], _environment())
        except OSError as error:
            raise _not_started(self.target, error) from None

    def check(self, asked: Wish, quiet: bool = False) -> tuple[mt.Report, int, str]:
        """The report of all its launches, its exit code, and its page; with `quiet` what it prints goes to stderr."""
        with tempfile.TemporaryDirectory(prefix="metalloid-") as place:
            folder = Path(place)
            variables = {**_environment(), **wish(folder, asked)}
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
            try:
                started = subprocess.Popen(
                    [self.target, *self.arguments],
                    executable=self.words[0],
                    env=variables,
                    stdout=sys.stderr.fileno() if quiet else None,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, before),
                )
                code = started.wait()
            except OSError as error:
                raise _not_started(self.target, error) from None
            finally:
                signal.signal(signal.SIGINT, before)
            if code < 0:
                print(f"metalloid: {self.target} was ended by {signal.Signals(-code).name}", file=sys.stderr)
            return report(folder), code if code >= 0 else _SIGNALLED - code, page(folder)


def _environment() -> dict[str, str]:
    """Python programs that it starts have the forms too, where `metalloid activate` was said."""
    return {"METALLOID": "1", **os.environ}


def _not_started(target: str, error: OSError) -> BadOption:
    return BadOption(f"{target} cannot be started: {error.strerror}.")


def is_native(file: Path) -> bool:
    """Whether the system starts a file itself: machine code, or a script that names its interpreter."""
    first = _start(file)
    return first.startswith((_ELF, *_OTHERS)) or (first.startswith(_SCRIPT) and os.access(file, os.X_OK))


def why_not(file: Path) -> str:
    """Why a program cannot be served, as a sentence; empty where it can."""
    first = _start(file)
    if first.startswith(_OTHERS):
        return f"{file} is a program for another system; {_BUILD}"
    if not os.access(file, os.X_OK):
        return f"{file} is not executable."
    if first.startswith(_ELF) and not _has_metal(file):
        return f"{file} is not linked to metalloid's Metal, so none of its kernels would run here; {_BUILD}"
    return ""


def _start(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(64)
    except OSError:
        return b""


def _has_metal(file: Path) -> bool:
    """Whether a program is linked to metalloid's Metal, or may load it: it or a library of its own calls dlopen."""
    if LIBRARY.encode() in file.read_bytes():
        return True
    listed = _loaded(file)
    places = [Path(line.split(" => ")[1].split(" (")[0]) for line in listed.splitlines() if " => /" in line]
    own = [
        file,
        *(place for place in places if not place.is_relative_to("/lib") and not place.is_relative_to("/usr")),
    ]
    return LIBRARY in listed or (bool(listed) and any(_DLOPEN in place.read_bytes() for place in own))


def _loaded(file: Path) -> str:
    """The libraries that a program is linked to, and those that they are linked to, as its loader lists them."""
    if not _is_dynamic(file):  # such a program would be run by the question
        return ""
    asked = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        done = subprocess.run([str(file.absolute())], env=asked, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _is_dynamic(file: Path) -> bool:
    """Whether an ELF file of this machine's width names a loader (PT_INTERP)."""
    data = file.read_bytes()
    if len(data) < 64 or data[4] != 2:
        return False
    start, size, count = (int.from_bytes(data[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
    heads = (data[start + n * size : start + n * size + 4] for n in range(count))
    return any(int.from_bytes(head, "little") == 3 for head in heads)

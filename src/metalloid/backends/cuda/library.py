"""runtime/device.cpp and tensor.ll as LLVM IR, in pieces: a kernel is linked with those that it calls alone.

The whole takes LLVM longer than most kernels do.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metalloid import cache as disk
from metalloid.backends.toolchain import compiler
from metalloid.errors import DeviceError

TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
FEATURES = "+ptx80"
HEAD = f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
_SOURCE = Path(__file__).parent / "runtime" / "device.cpp"
_WRITTEN = _SOURCE.with_name("tensor.ll")  # what C++ has no words for
_NAME = re.compile(r"@([\w.$]+)")


@dataclass(frozen=True)
class Pieces:
    """Functions and globals by name, and what all of them share: types, attributes, metadata."""

    named: dict[str, str]
    shared: str

    def closure(self, wanted: Iterable[str]) -> str:
        """A module of what these names need."""
        found: dict[str, str] = {}
        work = [name for name in wanted if name in self.named]
        while work:
            name = work.pop()
            if name not in found:
                found[name] = self.named[name]
                work += [n for n in _NAME.findall(found[name]) if n in self.named and n not in found]
        return HEAD + "\n".join([self.shared, *found.values()])


@cache
def pieces(processor: str) -> Pieces:
    """The runtime, taken apart."""
    named: dict[str, str] = {}
    shared: list[str] = []
    body: list[str] = []
    for line in (_compiled(processor) + "\n" + _WRITTEN.read_text()).splitlines():
        if body:
            body.append(line)
            if line == "}":
                named[_named(body[0])] = "\n".join(body)
                body = []
        elif line.startswith("define "):
            body = [line]
        elif line.startswith(("declare ", "@")):
            named[_named(line)] = line
        elif line.startswith(("%", "attributes ", "!")):
            shared.append(line)
    return Pieces(named, "\n".join(shared))


def _named(line: str) -> str:
    found = _NAME.search(line)
    assert found is not None
    return found[1]


def _compiled(processor: str) -> str:
    source = _SOURCE.read_bytes()
    flags = (
        *("-triple", TRIPLE, "-target-cpu", processor, "-target-feature", FEATURES),
        *("-O2", "-x", "c++", "-std=c++20", "-emit-llvm", "-nostdsysteminc", "-nobuiltininc"),
    )
    key = hashlib.sha256(source + repr(flags).encode()).hexdigest()
    store = disk.default()
    found = store.get(key, "ll")
    if found is None:
        command = [compiler(), "clang", "-cc1", *flags, "-o", "-", str(_SOURCE)]
        result = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if result.returncode:
            raise DeviceError(
                f"[cuda] the runtime does not compile:\n{result.stderr.decode(errors='replace')}"
            )
        found = result.stdout
        store.put(key, "ll", found)
    return found.decode()

"""Stand-ins for `xcrun metal` and `xcrun metallib`: sources are examined and kept, in a file the framework loads.

Where a Mac's compiler writes machine code for a GPU, this one writes the text with its includes inside it: what it
becomes is decided by the machine that runs it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metalloid import config
from metalloid.errors import MetalloidError
from metalloid.framework.container import MAGIC, Text, packed, unpacked
from metalloid.runtime.device import device

SDK_VERSION = "15.0"
_INCLUDE = re.compile(r'^\s*#\s*(?:include|import)\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
_MATH = {"-ffast-math": "fast", "-fno-fast-math": "safe", "-fmetal-math-mode=safe": "safe"}
_MATH |= {"-fmetal-math-mode=fast": "fast", "-fmetal-math-mode=relaxed": "relaxed"}
_WITH_VALUE = (
    "-o",
    "-sdk",
    "--sdk",
    "-target",
    "-MF",
    "-MT",
    "-MQ",
    "-arch",
    "-isysroot",
    "-D",
    "-I",
    "-std",
    "-x",
)
_TOOLS = ("xcrun", "metal", "metallib")


def xcrun(arguments: Sequence[str]) -> int:
    """What `xcrun` does with these arguments; the exit code."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in ("-sdk", "--sdk", "-toolchain", "--toolchain"):
            rest = rest[1:]
        elif flag in ("--show-sdk-version", "-show-sdk-version"):
            print(SDK_VERSION)
            return 0
        elif flag in ("--show-sdk-path", "-show-sdk-path"):
            print("/")
            return 0
        elif flag in ("--find", "-f", "-find"):
            print(folder() / (rest[0] if rest else ""))
            return 0
    if not rest or rest[0] not in _RUN:
        raise MetalloidError(
            f"[xcrun] there is no {rest[0] if rest else 'tool'} here; metal and metallib there are."
        )
    return _RUN[rest[0]](rest[1:])


def metal(arguments: Sequence[str]) -> int:
    """Examine sources; write what `metallib` takes, or a library where `-c` is not given."""
    given, files = _parsed(arguments)
    folders = [Path(p) for p in given.get("-I", [])]
    pairs = [d.partition("=") for d in given.get("-D", [])]
    defines = {name: value if equals else "1" for name, equals, value in pairs}
    math: Any = next((_MATH[flag] for flag in reversed(arguments) if flag in _MATH), "fast")
    texts: list[Text] = []
    for path in files:
        if path.suffix in (".air", ".metallib"):
            texts += unpacked(path.read_bytes())
            continue
        text = Text(path.name, "".join(flattened(path, folders)), math, defines)
        device().library(text.text, math=math, defines=defines, name=path.name)  # its mistakes are told here
        texts.append(text)
    default = files[0].with_suffix(".air").name if "-c" in arguments and files else "default.metallib"
    Path(given.get("-o", [default])[-1]).write_bytes(packed(texts))
    return 0


def metallib(arguments: Sequence[str]) -> int:
    """Put what `metal -c` wrote into one library."""
    given, files = _parsed(arguments)
    texts = [text for path in files for text in unpacked(path.read_bytes())]
    Path(given.get("-o", ["default.metallib"])[-1]).write_bytes(packed(texts))
    return 0


_RUN = {"metal": metal, "metallib": metallib}


def flattened(path: Path, folders: Sequence[Path], seen: set[Path] | None = None) -> Iterator[str]:
    """The lines of a file with the files that it includes in their place; what is not found stays as it is."""
    seen = set() if seen is None else seen
    text = path.read_text(encoding="utf-8", errors="replace")
    if "#pragma once" in text:
        if path.resolve() in seen:
            return
        seen.add(path.resolve())
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        match = _INCLUDE.match(line)
        name = (match[1] or match[2]) if match else ""
        places = [path.parent, *folders] if match and match[1] else folders
        found = next((f / name for f in places if name and (f / name).is_file()), None)
        if found is not None:
            yield f'#line 1 "{found.name}"\n'
            yield from flattened(found, folders, seen)
            yield f'\n#line {number + 1} "{path.name}"\n'
        elif not line.strip().startswith("#pragma once"):
            yield line if line.endswith("\n") else line + "\n"


def _parsed(arguments: Sequence[str]) -> tuple[dict[str, list[str]], list[Path]]:
    """Flags with their values, and files."""
    given: dict[str, list[str]] = {}
    files: list[Path] = []
    rest = iter(arguments)
    for word in rest:
        joined = next((f for f in ("-I", "-D", "-o") if word.startswith(f) and word != f), None)
        if joined:
            given.setdefault(joined, []).append(word[len(joined) :])
        elif word in _WITH_VALUE:
            given.setdefault(word, []).append(next(rest, ""))
        elif not word.startswith("-"):
            files.append(Path(word))
    for path in files:
        if not path.is_file():
            raise MetalloidError(f"[xcrun] no such file: {path}")
    return given, files


def folder() -> Path:
    """A folder for PATH: `xcrun`, `metal` and `metallib` as programs."""
    made = config.cache_directory() / "framework" / "bin"
    made.mkdir(parents=True, exist_ok=True)
    for name in _TOOLS:
        word = "" if name == "xcrun" else f" {name}"
        script = f'#!/bin/sh\nexec "{sys.executable}" -m metalloid xcrun{word} "$@"\n'
        path = made / name
        if not path.is_file() or path.read_text() != script:
            path.write_text(script)
            path.chmod(0o755)
    return made


__all__ = ["MAGIC", "flattened", "folder", "metal", "metallib", "xcrun"]

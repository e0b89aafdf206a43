"""Builds ggml, its CPU back end, ggml-metal and llama.cpp's test-backend-ops with `metalloid cc` and `metalloid c++`.

Only the framework's headers and library are metalloid's; every source is the sdist's own, but for list.cpp, which
includes the test's and prints its cases. Objects are kept in .conformance/ggml-host, so that a build that was stopped
goes on.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.packages import LLAMA, STORE, Package, fetch

ALL = Package(
    LLAMA.name, LLAMA.version, LLAMA.options, ("llama.cpp/ggml/", "tests/test-backend-ops.cpp"), "host"
)
PLACE = STORE / "ggml-host"
PROGRAM = PLACE / "test-backend-ops"
LISTER = PLACE / "list-cases"

_BASE = """ggml.c ggml.cpp ggml-alloc.c ggml-backend.cpp ggml-backend-meta.cpp ggml-backend-reg.cpp
ggml-backend-dl.cpp ggml-opt.cpp ggml-threading.cpp ggml-quants.c gguf.cpp""".split()
_CPU = """ggml-cpu.c ggml-cpu.cpp repack.cpp hbm.cpp quants.c traits.cpp amx/amx.cpp amx/mmq.cpp tiled/tiled.cpp
tiled/tiled-kernel.cpp binary-ops.cpp unary-ops.cpp vec.cpp ops.cpp""".split()
_METAL = """ggml-metal.cpp ggml-metal-device.m ggml-metal-device.cpp ggml-metal-common.cpp ggml-metal-context.m
ggml-metal-fusion.cpp ggml-metal-ops.cpp ggml-metal-tuning.cpp""".split()
_ARCH = {"aarch64": "arm", "arm64": "arm", "x86_64": "x86"}[platform.machine()]
_DEFINES = ["-DGGML_USE_CPU", "-DGGML_USE_METAL", "-D_GNU_SOURCE", "-DNDEBUG", "-DGGML_SCHED_MAX_COPIES=4"]


def root() -> Path:
    return next(fetch(ALL).glob("*/vendor/llama.cpp"))


def sources() -> list[Path]:
    """ggml, its CPU and Metal back ends."""
    source = root() / "ggml/src"
    found = [source / name for name in _BASE]
    found += [source / "ggml-cpu" / name for name in _CPU]
    found += [source / "ggml-cpu/arch" / _ARCH / name for name in ("quants.c", "repack.cpp")]
    return found + [source / "ggml-metal" / name for name in _METAL]


def build(jobs: int = 2) -> None:
    """The test program and the one that lists its cases; compiled where they are not there yet."""
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "ggml-version.h").write_text(
        '#pragma once\n#define GGML_VERSION "0"\n#define GGML_COMMIT "unknown"\n'
    )
    programs = {PROGRAM: root() / "tests/test-backend-ops.cpp", LISTER: Path(__file__).with_name("list.cpp")}
    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(_compiled, [*programs.values(), *sources()]))
    frameworks = ["-framework", "Metal", "-framework", "Foundation"]
    for program, main in zip(programs, objects, strict=False):
        _run("c++", [*map(str, [main, *objects[len(programs) :]]), *frameworks, "-o", str(program)])


def _compiled(source: Path) -> Path:
    base = root()
    own = not source.is_relative_to(base)
    made = PLACE / ((source.name if own else str(source.relative_to(base)).replace("/", "-")) + ".o")
    if made.exists() and made.stat().st_mtime >= source.stat().st_mtime:
        return made
    ggml = base / "ggml"
    folders = [ggml / "include", ggml / "src", ggml / "src/ggml-cpu", PLACE, base / "tests"]
    flags = ["-O0" if own else "-O2", "-g0", "-w", *_DEFINES, *(f"-I{f}" for f in folders)]
    if _ARCH == "x86":
        flags += ["-mavx2", "-mfma", "-mf16c"]
    plain = source.suffix in (".c", ".m")
    partial = made.with_suffix(".partial")
    language = ["-std=gnu11"] if plain else ["-std=c++17"]
    _run("cc" if plain else "c++", [*flags, *language, "-c", str(source), "-o", str(partial)])
    partial.rename(made)
    return made


def _run(command: str, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metalloid", command, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"[ggml-host] metalloid {command} {' '.join(arguments)} failed:\n{done.stderr[-4000:]}"
        )

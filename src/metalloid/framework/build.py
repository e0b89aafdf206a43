"""Builds the shared library with the clang that metalloid carries, once for each Python it is used from.

It lies in a folder of its own in the cache, under a name made of everything it was made from: programs refer to it by
its path, so a newer metalloid leaves it where it is.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from metalloid import config
from metalloid.backends.toolchain import compiler
from metalloid.errors import DeviceError

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
NATIVE = HERE / "native"
NAME = "metalloid"  # -lmetalloid

OBJECTIVE_C = ("-fobjc-runtime=gnustep-1.9", "-Xclang", "-fobjc-dispatch-method=non-legacy", "-fblocks")
_FLAGS = ("-O2", "-g0", "-fPIC", "-std=gnu17", "-D_GNU_SOURCE", "-fno-sanitize=undefined", "-fno-exceptions")
_QUIET = ("-Wno-objc-root-class", "-Wno-deprecated-objc-isa-usage", "-Wno-incomplete-implementation", "-w")


def sources() -> list[Path]:
    return sorted(p for p in NATIVE.rglob("*") if p.suffix in (".c", ".m", ".S"))


def library() -> Path:
    """The folder with the library in it."""
    return _library(config.cache_directory())


@cache
def _library(store: Path) -> Path:
    folder = store / "framework" / key()
    made = folder / f"lib{NAME}.so"
    if not made.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as workshop:
            built = build(Path(workshop))
            built.replace(made)
    return folder


def key() -> str:
    """A hash of everything the library is made from."""
    state = hashlib.sha256(repr((_FLAGS, OBJECTIVE_C, settings())).encode())
    for path in sorted(p for folder in (NATIVE, INCLUDE) for p in folder.rglob("*") if p.is_file()):
        state.update(str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:32]


def settings() -> dict[str, str]:
    """Which Python the library loads, as macros."""
    folders = (sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL"))
    names = (sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY"))
    paths = [Path(f) / n for f in folders for n in names if f and n and ".so" in n]
    found = next(
        (str(p) for p in paths if p.is_file()), next((n for n in names if n and ".so" in n), "libpython3.so")
    )
    return {
        "MT_PYTHON_LIBRARY": found,
        "MT_PYTHON_EXECUTABLE": sys.executable,
        "MT_PYTHON_PATH": repr([str(HERE.parent.parent), *_packages()]),
    }


def _packages() -> list[str]:
    """Where packages lie that metalloid needs."""
    return list(dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib")))


def build(workshop: Path, target: str = "") -> Path:
    """Compile and link in `workshop`; `target` is another machine's name for clang."""
    quoted = {k: '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"' for k, v in settings().items()}
    lines = [f"#define {name} {value}" for name, value in quoted.items()]
    (workshop / "config.h").write_text("\n".join(lines) + "\n")
    machine = ["-target", target] if target else []

    def compiled(source: Path) -> Path:
        made = workshop / (source.relative_to(NATIVE).as_posix().replace("/", "-") + ".o")
        run([*machine, *flags(source), "-I", str(workshop), "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        objects = [str(path) for path in pool.map(compiled, sources())]
    made = workshop / f"lib{NAME}.so"
    run([*machine, "-shared", "-o", str(made), f"-Wl,-soname,lib{NAME}.so", *objects, "-lpthread", "-ldl"])
    return made


def flags(source: Path) -> list[str]:
    common = [*_FLAGS, *_QUIET, "-I", str(INCLUDE)]
    # Symbols of classes are the compiler's own: hidden ones could not be linked to.
    return (
        ["-x", "objective-c", "-fno-objc-exceptions", *OBJECTIVE_C, *common]
        if source.suffix == ".m"
        else ["-fvisibility=hidden", *common]
    )


def run(arguments: Sequence[str], kind: str = "cc") -> None:
    result = subprocess.run([compiler(), kind, *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise DeviceError(
            f"[framework] the compiler failed (zig {kind} {' '.join(arguments)}):\n{result.stderr.strip()}"
        )

"""The framework for x86-64 and aarch64, whichever this machine is: linked here, and run under an emulator.

The emulated programs have everything but Python, since there is no interpreter for that processor: pretended.c stands
in for it, with one kernel. All of the runtime, Foundation, GCD and Metal's host side are the framework's own.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metalloid.framework import build
from tests.framework.test_programs import BAD

HERE = Path(__file__).parent / "programs"
OTHER = "aarch64" if platform.machine() == "x86_64" else "x86_64"
EMULATOR = shutil.which(f"qemu-{OTHER}-static") or shutil.which(f"qemu-{OTHER}") or ""
TARGET = ("-target", f"{OTHER}-linux-musl")


def test_the_other_processor_has_its_message_sends(tmp_path: Path) -> None:
    """Sources of the runtime compile and assemble for x86-64 and for aarch64, whichever this machine is."""
    for machine in ("x86_64", "aarch64"):
        source = build.NATIVE / f"objc/send_{machine}.S"
        made = tmp_path / f"{machine}.o"
        build.run(
            ["-target", f"{machine}-linux-gnu", *build.flags(source), "-c", str(source), "-o", str(made)]
        )
        assert b"objc_msgSend_stret" in made.read_bytes()


@pytest.mark.fuzz
def test_the_whole_library_links_for_the_other_processor(tmp_path: Path) -> None:
    made = build.build(tmp_path, f"{OTHER}-linux-gnu").read_bytes()
    assert made[18] == {"x86_64": 62, "aarch64": 183}[OTHER]  # e_machine


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The framework without its Python, and what stands in for that."""
    folder = tmp_path_factory.mktemp("objects")
    mine = {f"send_{OTHER}.S"}
    wanted = [s for s in build.sources() if s.name != "python.c" and (s.suffix != ".S" or s.name in mine)]

    def compiled(source: Path) -> str:
        made = folder / f"{source.parent.name}-{source.name}.o"
        build.run([*TARGET, *build.flags(source), "-c", str(source), "-o", str(made)])
        return str(made)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(compiled, [*wanted, HERE / "pretended.c"]))


def emulated(
    name: str, objects: list[str], folder: Path, *arguments: str, flags: tuple[str, ...] = ()
) -> str:
    program = folder / name
    source = ["-x", "objective-c", str(HERE / f"{name}.m"), "-x", "none"]
    options = [*build.OBJECTIVE_C, *flags, "-O1", "-w", "-D_GNU_SOURCE", "-I", str(build.INCLUDE)]
    build.run([*TARGET, "-static", *options, *source, *objects, "-lpthread", "-lunwind", "-o", str(program)])
    done = subprocess.run([EMULATOR, str(program), *arguments], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.fuzz
@pytest.mark.skipif(not EMULATOR, reason=f"there is no qemu-{OTHER} here")
def test_the_host_side_keeps_its_promises_on_the_other_processor(objects: list[str], tmp_path: Path) -> None:
    assert emulated("foundation", objects, tmp_path) == "49 checks, 0 failed\n"
    assert emulated("arc", objects, tmp_path, flags=("-fobjc-arc",)) == "0 alive, weak gone\n"
    words = emulated("soak", objects, tmp_path, "8000")
    assert "8000 dispatches, 1000 command buffers, 1000 handlers, 0 wrong" in words
    told = dict(line.split(": ", 1) for line in emulated("bad_input", objects, tmp_path).splitlines())
    assert told.keys() == BAD.keys()
    assert all(words in told[name] for name, words in BAD.items()), told

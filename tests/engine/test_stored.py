"""Vector code is kept on disk: a process that finds it compiles nothing, and runs the same."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu import pipeline as vector_module
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.source import Source
from tests.engine.both import LESSER, launch

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void rows(device const float* a, device float* b, constant uint& n, threadgroup float* t [[threadgroup(0)]],
                 uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
    t[l] = i < n ? a[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = simd_sum(t[31 - l % 32]);
    if (i < n) b[i] = t[l] + sum;
}
"""
N = 96


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The variants that were vectorised."""
    variants: list[object] = []
    vectorize = vector_module.vectorize

    def noted(*arguments: object, **named: object) -> object:
        variants.append(arguments)
        return vectorize(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_module, "vectorize", noted)
    return variants


def fresh() -> mt.Kernel:
    """The kernel as a new process has it: nothing of it in memory."""
    return mt.Device("cpu").library(SOURCE)["rows"]


def run(kernel: mt.Kernel, n: int = N, grid: int = N) -> np.ndarray:
    a, b = np.arange(N, dtype=np.float32), np.full(N, np.nan, np.float32)
    kernel(a, b, n, grid=grid, threadgroup=32, threadgroup_memory={0: 128})
    return b


def wanted(n: int = N) -> np.ndarray:
    a = np.where(np.arange(N) < n, np.arange(N), 0).astype(np.float32)
    sums = a.reshape(-1, 32).sum(axis=1).repeat(32)
    return np.where(np.arange(N) < n, a + sums, np.nan).astype(np.float32)


def test_code_that_is_there_is_not_made_again(folder: Path, made: list[object]) -> None:
    np.testing.assert_array_equal(run(fresh()), wanted())
    first = len(made)
    assert first >= 1
    np.testing.assert_array_equal(run(fresh()), wanted())
    assert len(made) == first


PARTS = ("analysis", "transforms", "ir", "backends.cpu.lower", "backends.interpret", "frontend.tr")


def test_another_process_imports_neither_passes_nor_front_end(folder: Path) -> None:
    script = f"""
import sys
LOADED = tuple("metalloid." + part for part in {PARTS!r})
import numpy as np, metalloid as mt
SOURCE, N = {SOURCE!r}, {N}
a, b = np.arange(N, dtype=np.float32), np.full(N, np.nan, np.float32)
mt.device("cpu").library(SOURCE)["rows"](a, b, N, grid=N, threadgroup=32, threadgroup_memory={{0: 128}})
print(b.sum(), [m for m in sys.modules if m.startswith(LOADED)])
"""
    run(fresh())
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{wanted().sum()} []", done.stderr


# What few programs need: half a start was this.
RARE = ("runtime.queue", "runtime.heap", "findings.finding", "backends.observe", "frontend.tokens")
RARER = (
    *("backends.cpu.lower.shadow.", "backends.cpu.lower.matrix.tiles", "backends.cpu.lower.ops.collective"),
    *(
        "backends.cpu.lower.coroutine_driver",
        "frontend.patch",
        "frontend.call_stack",
        "frontend.spaces.lower",
    ),
    *("transforms.instrument", "transforms.barriers.split", "runtime.queue", "findings.finding"),
)
# What others have written, and a start can do without: LLVM is called without llvmlite's Python, and names and
# checksums need no OpenSSL.
OUTSIDE = ("llvmlite.binding", "llvmlite.ir", "ml_dtypes", "_hashlib", "pkgutil", "random")
OUTSIDE_AGAIN = (*OUTSIDE, "shutil", "tempfile", "subprocess", "zipfile")
PLAIN = """
import sys
import numpy as np, metalloid as mt
text = "kernel void k(device float* o, uint i [[thread_position_in_grid]]) { o[i] = i; }"
o = np.zeros(64, np.float32)
mt.device("cpu").library(text)["k"](o, grid=64)
print(o.sum(), [m for m in sys.modules if m.startswith(tuple(sys.argv[1:]))])
"""


def test_a_plain_kernel_imports_nothing_that_is_rare(folder: Path) -> None:
    for rare, outside in ((RARER, OUTSIDE), (RARE, OUTSIDE_AGAIN)):  # compiled, and found on disk
        run(fresh())  # the header, and other kernels' code
        names = [*(f"metalloid.{part}" for part in rare), *outside]
        done = subprocess.run(
            [sys.executable, "-c", PLAIN, *names], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "2016.0 []", done.stderr


def test_numbers_and_lengths_that_were_not_proved_are_looked_at(folder: Path) -> None:
    run(fresh())
    np.testing.assert_array_equal(run(fresh(), n=40), wanted(40))
    with pytest.raises(mt.KernelFault):
        run(fresh(), n=N + 32, grid=N + 32)


def test_a_fault_in_code_from_the_disk_says_the_same(folder: Path) -> None:
    told = []
    for _ in range(2):
        with pytest.raises(mt.KernelFault) as caught:
            run(fresh(), n=N + 32, grid=N + 32)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert (
        re.match(r"tests/engine/test_stored.py:\d+:20: M101", told[0]) and "past 'a' (384 bytes)" in told[0]
    )


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_truncate, _change, Path.unlink], ids=["truncated", "changed", "gone"])
@pytest.mark.parametrize("kind", ["vec", "o", "proof", "json", "kernel"])
def test_damaged_entries_are_made_again(folder: Path, kind: str, damage: Callable[[Path], None]) -> None:
    run(fresh())
    entries = list(folder.glob(f"??/*.{kind}"))
    assert entries
    for entry in entries:
        damage(entry)
    np.testing.assert_array_equal(run(fresh()), wanted())
    for entry in entries:
        assert entry.exists()
    np.testing.assert_array_equal(run(fresh()), wanted())


def test_nothing_is_kept_where_the_cache_is_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CACHE_BYTES", "0")
    np.testing.assert_array_equal(run(fresh()), wanted())
    assert not list(folder.glob("??/*.vec"))


def test_processors_widths_and_levels_do_not_share_code(folder: Path, made: list[object]) -> None:
    ir, signature = scalar(Source(SOURCE), "rows")
    ways: list[dict[str, object]] = [
        {},
        {"width": 32},
        *({"target": codegen.limited(level)} for level in LESSER),
        {"level": 0},
    ]
    for count, way in enumerate(ways, 1):
        for _ in range(2):
            a, b = np.arange(N, dtype=np.float32), np.full(N, np.nan, np.float32)
            case = launch([a, b, np.array([N], np.uint32)], N, 32, {0: 128})
            cpu_program(ir, signature, **way).run(case)  # type: ignore[arg-type]
            np.testing.assert_array_equal(b, wanted())
        assert len(made) == count


def test_a_changing_number_does_not_fill_the_disk(folder: Path) -> None:
    from metalloid.backends.cpu.proofs import MOST_KEPT

    kernel = fresh()
    for n in range(1, MOST_KEPT + 8):
        for _ in range(2):
            run(kernel, n=1000 + n, grid=N)
    assert 2 <= len(list(folder.glob("??/*.proof"))) <= MOST_KEPT


def test_checked_code_is_kept_too(folder: Path, made: list[object]) -> None:
    told = []
    counts = []
    for _ in range(2):
        a, b = np.arange(N, dtype=np.float32), np.full(N, np.nan, np.float32)
        report = mt.check(fresh(), a, b, N + 1, grid=N + 1, threadgroup=32, threadgroup_memory={0: 128})
        told.append(report.text())
        counts.append(len(made))
    assert told[0] == told[1] and "M102" in told[0]
    assert counts[0] == counts[1] > 0

"""The container: what it holds, and that no file, however broken, does more than fail in one sentence."""

from __future__ import annotations

import contextlib
import random
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.air.container import find_containers, open_data, read_container
from metalloid.errors import CompileError
from tests.air.metallib import THREAD, VERTEX, Function, assembled, buffer, container, kernel

COPY = kernel(
    """  %i = zext i32 %p2 to i64
  %a = getelementptr float, ptr addrspace(1) %p0, i64 %i
  %v = load float, ptr addrspace(1) %a, align 4
  %b = getelementptr float, ptr addrspace(1) %p1, i64 %i
  store float %v, ptr addrspace(1) %b, align 4
  ret void""",
    [buffer(0, "float", 4), buffer(1, "float", 4, write=True), THREAD],
    name="copy",
)


@pytest.fixture(scope="module")
def data() -> bytes:
    return container([Function("copy", assembled(COPY)), Function("shade", assembled(COPY), VERTEX)])


def message(data: bytes) -> str:
    with pytest.raises(CompileError) as caught:
        read_container(data, "x.metallib")
    return str(caught.value)


def test_a_library_has_its_functions_by_name_kind_and_version(data: bytes) -> None:
    found = read_container(data, "x.metallib")
    assert [(e.name, e.is_kernel, e.air, e.metal) for e in found.entries] == [
        ("copy", True, (2, 6), (3, 1)),
        ("shade", False, (2, 6), (3, 1)),
    ]
    assert found.system == "macOS 14.0" and found.size == len(data)


def test_a_kernel_of_bytes_and_of_a_file_runs(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.metallib"
    path.write_bytes(data)
    for given in (data, path):
        library = mt.device().library(given)
        assert library.kernels == ("copy",)
        a, out = np.arange(64, dtype=np.float32), np.full(64, np.nan, np.float32)
        library["copy"](a, out, grid=64, threadgroup=32)
        assert np.array_equal(a, out)


def test_libraries_are_found_inside_other_files(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"\0before MTLB by chance" + data + b"between" + data + b"MTLB")
    found = list(find_containers(open_data(path), str(path)))
    assert [c.start for c in found] == [22, 22 + len(data) + 7]
    assert mt.device().library(path).kernels == ("copy",)
    assert found[1].bitcode(found[1].entries[0]) == assembled(COPY)


def test_a_function_that_is_no_kernel_is_named(data: bytes) -> None:
    with pytest.raises(
        CompileError, match="'shade' is a vertex function, which is not supported; only kernels are"
    ):
        mt.device().library(data)["shade"]


def test_a_name_that_is_not_there_brings_near_ones(data: bytes) -> None:
    with pytest.raises(CompileError, match="there is no kernel 'copi' in this library; did you mean copy"):
        mt.device().library(data)["copi"]


def test_something_else_is_no_library() -> None:
    assert "does not begin with 'MTLB'" in message(b"GIF89a")
    assert "does not begin with 'MTLB'" in message(b"")


def test_code_that_is_no_bitcode_is_called_encrypted() -> None:
    library = mt.device().library(container([Function("k", bytes(range(64)))]))
    with pytest.raises(CompileError, match="the code of 'k' is encrypted, or no bitcode at all"):
        library["k"]


def test_code_that_does_not_fit_its_checksum_is_damaged() -> None:
    library = mt.device().library(container([Function("copy", assembled(COPY), hash=bytes(32))]))
    with pytest.raises(CompileError, match="is not what its checksum says: it is damaged"):
        library["copy"]


def test_bitcode_that_is_cut_off_is_refused_and_harms_nobody() -> None:
    whole = assembled(COPY)
    for size in (24, 100, len(whole) // 2, len(whole) - 40):
        library = mt.device().library(container([Function("copy", whole[:size])]))
        with pytest.raises(CompileError, match="the code of 'copy' cannot be read"):
            library["copy"]


def test_every_truncation_is_one_sentence(data: bytes) -> None:
    for size in range(len(data)):
        said = message(data[:size])
        assert said.count("\n") == 0 and "Metal library" in said


def test_random_bytes_in_the_header_and_the_list_cost_neither_time_nor_memory(data: bytes) -> None:
    chance = random.Random(15)
    listed = struct.unpack_from("<2Q", data, 24)
    end = sum(listed)
    tracemalloc.start()
    begin = time.perf_counter()
    for _ in range(3000):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(4, end)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        try:
            found = read_container(bytes(broken), "x.metallib")
        except CompileError as error:
            assert len(error.diagnostics) == 1
        else:
            for entry in found.entries:
                assert entry.offset + entry.size <= len(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20  # other threads of the tests take some too
    assert time.perf_counter() - begin < 60  # bounded, not fast: a loop without end would hang


def test_counts_and_sizes_of_four_billion_allocate_nothing(data: bytes) -> None:
    for at, size in ((16, 8), (24, 8), (32, 8), (72, 8), (80, 8), (88, 4), (92, 4)):
        broken = data[:at] + b"\xff" * size + data[at + size :]
        tracemalloc.start()
        with contextlib.suppress(CompileError):
            read_container(broken, "x.metallib")
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
        tracemalloc.stop()


def test_random_bytes_in_the_bitcode_neither_crash_nor_hang() -> None:
    """With a checksum that fits: only the compiler stands between such a file and this process."""
    chance, whole = random.Random(4), assembled(COPY)
    for _ in range(30):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(20, len(broken))] ^= 1 << chance.randrange(8)
        library = mt.device().library(container([Function("copy", bytes(broken))]))
        with contextlib.suppress(CompileError):  # some bits mean nothing
            library["copy"]


@pytest.mark.fuzz
def test_ten_thousand_mutations_of_a_library(data: bytes) -> None:
    """Bytes changed, taken out, put in and doubled, anywhere; numbers at their limits. Each file is a library or one
    sentence, and takes no memory beyond its own size."""
    rng = random.Random(15)
    said: set[str] = set()
    tracemalloc.start()
    for _ in range(10_000):
        broken = _mutated(rng, data)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            found = read_container(broken, "x.metallib")
            for entry in found.entries:
                found.bitcode(entry)
        except CompileError as error:
            said.add(str(error).split(":", 1)[1].strip()[:60])
        assert tracemalloc.get_traced_memory()[1] - before < 1 << 18
    tracemalloc.stop()
    assert len(said) >= 5, said


def _mutated(rng: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(88) if rng.random() < 0.3 else rng.randrange(len(broken))
        kind = rng.randrange(5)
        if kind == 0:
            broken[at] = rng.randrange(256)
        elif kind == 1:
            del broken[at : at + rng.randrange(1, 64)]
        elif kind == 2:
            broken[at:at] = rng.randbytes(rng.randrange(1, 64))
        elif kind == 3:
            broken[at:at] = broken[at : at + rng.randrange(1, 512)]
        else:
            broken[at : at + 8] = struct.pack("<Q", rng.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)))
        if len(broken) < 90:
            break
    return bytes(broken)

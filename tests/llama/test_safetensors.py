"""Safetensors: what the package writes is read as it stands; what is damaged is refused in words."""

import json
import resource
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from metalloid.errors import ModelError
from metalloid.llama import safetensors
from metalloid.llama.weights import load

RNG = np.random.default_rng(0)
ONE = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
DEEP = b"[" * 100_000


def write(path: Path, header: object, body: bytes = bytes(24), length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + body)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_what_the_package_writes_is_read(tmp_path, dtype):
    package = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    arrays = {
        "a": RNG.random((3, 5)).astype(dtype),
        "b.c": RNG.random(7).astype(dtype),
        "e": np.zeros((0, 4), dtype),
    }
    package.save_file(arrays, tmp_path / "x.safetensors", metadata={"format": "pt"})
    found = safetensors.read(tmp_path / "x.safetensors")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].array().dtype == array.dtype
        assert found[name].array().tobytes() == array.tobytes()


def test_weights_are_mapped_not_copied(tmp_path):
    write(tmp_path / "x", {"w": {"dtype": "U8", "shape": [1 << 30], "data_offsets": [0, 1 << 30]}}, b"")
    with (tmp_path / "x").open("r+b") as file:
        file.truncate(file.seek(0, 2) + (1 << 30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert safetensors.read(tmp_path / "x") == {}  # bytes are no weights
    write(tmp_path / "y", {"w": {"dtype": "F16", "shape": [1 << 29], "data_offsets": [0, 1 << 30]}}, b"")
    with (tmp_path / "y").open("r+b") as file:
        file.truncate(file.seek(0, 2) + (1 << 30))
    assert safetensors.read(tmp_path / "y")["w"].data.nbytes == 1 << 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


HOSTILE = {
    "header beyond the file": (b"{}", b"", 1 << 62, "cut off"),
    "no JSON": (b"{'a': 1}", b"", None, "Expecting"),
    "not UTF-8": (b'{"\xff": 1}', b"", None, "not UTF-8"),
    "deep": (DEEP, b"", None, "nested too deeply"),
    "deep inside": (b'{"a": ' + b'{"a":' * 50_000, b"", None, "nested too deeply"),
    "a long number": (b'{"a": ' + b"9" * 100_000 + b"}", b"", None, "limit"),
    "a list": (b"[]", b"", None, "expected a JSON object"),
    "a name twice": (b'{"a": 1, "a": 2}', b"", None, "'a' is given twice"),
    "no object": ({"w": 3}, b"", None, "should be an object"),
    "unknown dtype": ({"w": {**ONE, "dtype": "F13"}}, bytes(24), None, "dtype 'F13'"),
    "negative shape": ({"w": {**ONE, "shape": [-2, -3]}}, bytes(24), None, "shape"),
    "huge shape": ({"w": {**ONE, "shape": [1 << 62, 1 << 62]}}, bytes(24), None, "needs 8507059"),
    "a shape that wraps to its size": (
        {"w": {**ONE, "shape": [1 << 32, 1 << 32, 6]}},
        bytes(24),
        None,
        "needs",
    ),
    "a truth as a size": ({"w": {**ONE, "shape": [True, 6]}}, bytes(24), None, "shape"),
    "many dimensions": ({"w": {**ONE, "shape": [1] * 100_000 + [6]}}, bytes(24), None, "shape"),
    "offsets past the end": (
        {"w": {**ONE, "data_offsets": [24, 48]}},
        bytes(24),
        None,
        "24 bytes of tensors",
    ),
    "offsets backwards": ({"w": {**ONE, "data_offsets": [24, 0]}}, bytes(24), None, "lies at"),
    "one offset": ({"w": {**ONE, "data_offsets": [0]}}, bytes(24), None, "lies at"),
    "overlap": ({"v": ONE, "w": {**ONE, "data_offsets": [4, 28]}}, bytes(28), None, "overlap"),
    "a hole": ({"w": {**ONE, "data_offsets": [8, 32]}}, bytes(32), None, "24 bytes; the file has 32"),
    "mislabelled": ({"w": {**ONE, "dtype": "F16"}}, bytes(24), None, "needs 12 bytes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_and_cost_nothing(tmp_path, case):
    header, body, length, said = HOSTILE[case]
    path = write(tmp_path / "x.safetensors", header, body, length)
    tracemalloc.start()
    with pytest.raises(ModelError, match=said) as caught:
        safetensors.read(path)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert "x.safetensors" in str(caught.value) and len(str(caught.value)) < 500


def test_every_way_to_cut_a_file_off_is_refused(tmp_path):
    whole = write(tmp_path / "x", {"w": ONE}).read_bytes()
    safetensors.read(tmp_path / "x")
    for length in range(len(whole)):
        (tmp_path / "x").write_bytes(whole[:length])
        with pytest.raises(ModelError):
            safetensors.read(tmp_path / "x")


def test_what_the_package_refuses_after_damage_is_refused_here(tmp_path):
    package = pytest.importorskip("safetensors", reason="safetensors is not installed")
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"a": RNG.random((4, 6)), "b": RNG.random(3, np.float32)}, tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(RNG.integers(1, 4)):
            damaged[RNG.integers(0, header)] = RNG.choice([*b'0123456789[]{},:"-', RNG.integers(0, 256)])
        (tmp_path / "x").write_bytes(damaged)
        try:
            package.deserialize(bytes(damaged))
        except Exception:
            refused += 1
            with pytest.raises(ModelError):
                safetensors.read(tmp_path / "x")
    assert refused > 500


def sharded(folder: Path, index: object) -> Path:
    write(folder / "a.safetensors", {"x": ONE})
    write(folder / "b.safetensors", {"y": ONE})
    (folder / safetensors.INDEX).write_text(json.dumps(index))
    return folder


def test_shards_are_found_by_the_index(tmp_path):
    folder = sharded(tmp_path, {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})
    assert safetensors.read_directory(folder).keys() == {"x", "y"}


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"weight_map": {"x": "b.safetensors"}}, "should be in b.safetensors and is not"),
        ({"weight_map": {"x": "../a.safetensors"}}, "not the name of a file beside it"),
        ({"weight_map": {"x": "/etc/passwd"}}, "not the name of a file beside it"),
        ({"weight_map": {"x": "c.safetensors"}}, "No such file"),
        ({"weight_map": {"x": 3}}, "should give a file for each tensor"),
        ({}, "should give a file for each tensor"),
    ],
)
def test_a_wrong_index_is_refused(tmp_path, index, said):
    with pytest.raises(ModelError, match=said):
        safetensors.read_directory(sharded(tmp_path, index))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"config\.json: No such file"):
        load(tmp_path)
    with pytest.raises(ModelError, match="there is no such file or folder"):
        load(tmp_path / "nothing")

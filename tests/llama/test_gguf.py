"""GGUF: what the package writes is read as it stands; what is damaged is refused in words."""

import struct
import tracemalloc

import numpy as np
import pytest

from metalloid.errors import ModelError
from metalloid.llama import gguf

RNG = np.random.default_rng(1)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def info(name: str = "w", shape: tuple[int, ...] = (32, 2), kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def made(pairs=(), infos=(), body=bytes(256), version=3, magic=b"GGUF", counts=None) -> bytes:
    numbers = counts or (len(infos), len(pairs))
    head = magic + struct.pack("<IQQ", version, *numbers) + b"".join(pairs) + b"".join(infos)
    return head + bytes(-len(head) % 32) + body


def read(tmp_path, data: bytes) -> gguf.File:
    (tmp_path / "x.gguf").write_bytes(data)
    return gguf.read(tmp_path / "x.gguf")


def test_what_the_package_writes_is_read(tmp_path):
    package = pytest.importorskip("gguf", reason="gguf is not installed")
    writer = package.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_block_count(7)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(["a", "ö", "\u2581c"])
    writer.add_token_scores([0.5, -1.0, 2.0])
    writer.add_add_bos_token(True)
    weights = RNG.standard_normal((3, 512)).astype(np.float32)
    kinds = ("F32", "F16", "BF16", "Q8_0", "Q4_0")
    data = {}
    for kind in kinds:
        type_ = package.GGMLQuantizationType[kind]
        data[kind] = package.quants.quantize(weights, type_)
        writer.add_tensor(kind, data[kind], raw_dtype=type_)
    for kind in ("Q4_K", "Q6_K"):
        type_ = package.GGMLQuantizationType[kind]
        size = package.GGML_QUANT_SIZES[type_][1]
        data[kind] = RNG.integers(0, 256, (3, 2 * size), np.uint8)
        writer.add_tensor(kind, data[kind], raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = gguf.read(tmp_path / "x.gguf")
    assert file.metadata["llama.block_count"] == 7
    assert file.metadata["llama.attention.layer_norm_rms_epsilon"] == np.float32(1e-5)
    assert file.metadata["tokenizer.ggml.tokens"] == ["a", "ö", "\u2581c"]
    assert list(file.metadata["tokenizer.ggml.scores"]) == [0.5, -1.0, 2.0]
    assert file.metadata["tokenizer.ggml.add_bos_token"] is True
    for kind in data:
        tensor = file.tensors[kind]
        assert tensor.shape == (3, 512) and tensor.format.name.lower() == kind.lower()
        assert tensor.data.tobytes() == data[kind].tobytes()


ARRAY, STRING, U32 = 9, 8, 4
ENDLESS = struct.pack("<Q", 1 << 62)
NESTED = struct.pack("<IQ", ARRAY, 1) * 50 + struct.pack("<IQ", U32, 0)
HOSTILE = {
    "another file": (made(magic=b"GGML"), "not a GGUF file"),
    "version 1": (made(version=1), "version 1"),
    "big-endian": (made(version=3 << 24), "big-endian"),
    "many tensors": (made(counts=(1 << 61, 0)), "tensors cannot be in"),
    "many pairs": (made(counts=(0, 1 << 63)), "pairs of metadata cannot be in"),
    "a long key": (made([ENDLESS + b"abc"]), "the file ends after"),
    "a long text": (made([pair("k", STRING, ENDLESS)]), "the file ends after"),
    "a long array": (made([pair("k", ARRAY, struct.pack("<I", U32) + ENDLESS)]), "cannot be in"),
    "a long array of texts": (made([pair("k", ARRAY, struct.pack("<I", STRING) + ENDLESS)]), "cannot be in"),
    "arrays in arrays": (made([pair("k", ARRAY, NESTED)]), "not supported"),
    "unknown kind": (made([pair("k", 77, bytes(8))]), "type 77"),
    "a key twice": (made([pair("k", U32, bytes(4))] * 2), "given twice"),
    "alignment 0": (made([pair("general.alignment", U32, bytes(4))]), "power of two"),
    "alignment as text": (made([pair("general.alignment", STRING, text("32"))]), "power of two"),
    "five dimensions": (made(infos=[info(shape=(1, 1, 1, 1, 1))]), "5 dimensions"),
    "four thousand million dimensions": (
        made(infos=[text("w") + struct.pack("<I", 0xFFFFFFFF) + bytes(64)]),
        "4294967295 dimensions",
    ),
    "huge": (
        made(infos=[info(shape=(1 << 62, 1 << 62))]),
        "needs 85070591730234615865843651857942052864 bytes",
    ),
    "a size that wraps": (made(infos=[info(shape=(1 << 32, 1 << 32))]), "needs"),
    "past the end": (made(infos=[info(offset=32)]), "needs 256 bytes at 32"),
    "an offset that wraps": (made(infos=[info(offset=(1 << 64) - 32)]), "needs 256 bytes at"),
    "misaligned": (made(infos=[info(offset=8)], body=bytes(512)), "aligned to 32"),
    "overlap": (made(infos=[info("a"), info("b", offset=32)], body=bytes(512)), "overlap"),
    "a tensor twice": (made(infos=[info(), info(offset=256)], body=bytes(512)), "there twice"),
    "q5_K": (made(infos=[info(shape=(256, 1), kind=13)]), "q5_K; supported are f32"),
    "unknown type": (made(infos=[info(kind=99)]), "type 99; supported are f32"),
    "half a block": (made(infos=[info(shape=(16, 2), kind=8)]), "multiples of 32"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_and_cost_nothing(tmp_path, case):
    data, said = HOSTILE[case]
    tracemalloc.start()
    with pytest.raises(ModelError, match=said) as caught:
        read(tmp_path, data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert "x.gguf" in str(caught.value) and len(str(caught.value)) < 500


def test_every_way_to_cut_a_file_off_is_refused(tmp_path):
    strings = struct.pack("<IQ", STRING, 2) + text("a") + text("b")
    whole = made([pair("k", U32, bytes(4)), pair("t", ARRAY, strings)], [info()])
    assert read(tmp_path, whole).metadata["t"] == ["a", "b"]
    for length in range(len(whole)):
        with pytest.raises(ModelError):
            read(tmp_path, whole[:length])


def test_damaged_headers_are_read_or_refused_but_never_crash(tmp_path):
    strings = struct.pack("<IQ", STRING, 2) + text("a") + text("b")
    whole = made(
        [pair("k", U32, bytes(4)), pair("t", ARRAY, strings)], [info(), info("v", kind=1, offset=256)]
    )
    read(tmp_path, whole + bytes(128))
    refused = 0
    for _ in range(2000):
        damaged = bytearray(whole + bytes(128))
        for _ in range(RNG.integers(1, 4)):
            damaged[RNG.integers(0, len(whole) - 256)] = RNG.integers(0, 256)
        try:
            read(tmp_path, bytes(damaged))
        except ModelError:
            refused += 1
    assert refused > 500

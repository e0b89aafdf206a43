"""Products with quantised weights: against float64 numpy, the gguf package's unpacking and MLX."""

import numpy as np
import pytest

import metalloid.kernels as mk
from metalloid.errors import LaunchError
from metalloid.kernels.quantized import BLOCKS
from metalloid.kernels.unpacked import dequantize as unpacked

from .everything import blocks, regrouped_products
from .helpers import DTYPES, close, exact, normal

ROWS = (1, 7, 8, 9, 31, 33)
COLUMNS = (32, 64, 96, 256, 512, 1056)


def sizes(format: str) -> list[tuple[int, int]]:
    wide = [columns for columns in COLUMNS if columns % BLOCKS[format][0] == 0]
    return [(rows, wide[n % len(wide)]) for n, rows in enumerate(ROWS)]


@pytest.mark.parametrize("format", BLOCKS)
def test_dequantize_is_exact(format):
    for rows, columns in sizes(format):
        weight = blocks(format, rows, columns, rows)
        wanted = unpacked(weight, format)
        close(mk.dequantize(weight, format), wanted)


@pytest.mark.parametrize("format", BLOCKS)
def test_dequantize_agrees_with_the_gguf_package(format):
    package = pytest.importorskip("gguf", reason="gguf is not installed")
    weight = blocks(format, 9, 512)
    kind = package.GGMLQuantizationType[format.upper()]
    theirs = package.quants.dequantize(weight, kind)
    assert np.array_equal(mk.dequantize(weight, format), theirs)
    close(theirs, unpacked(weight, format))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("format", BLOCKS)
def test_products_over_odd_sizes(format, dtype):
    for n, (rows, columns) in enumerate(sizes(format)):
        weight = blocks(format, rows, columns, n)
        wanted = unpacked(weight, format)
        for inputs in ((), (1,), (5,), (2, 9)):
            x = normal((*inputs, columns), dtype, n)
            size = np.abs(exact(x)) @ np.abs(wanted).T  # what the sum could be at most
            close(mk.quantized_matmul(x, weight, format), exact(x) @ wanted.T, size)


def test_strides_are_served():
    weight = blocks("q4_0", 10, 64)
    x = normal((6, 64))
    wanted = exact(x)[::2] @ unpacked(weight, "q4_0")[::2].T
    close(mk.quantized_matmul(x[::2], weight[::2], "q4_0"), wanted)
    turned = np.asfortranarray(x)
    close(mk.quantized_matmul(turned, weight, "q4_0"), exact(x) @ unpacked(weight, "q4_0").T)


def test_nothing_gives_nothing():
    assert mk.quantized_matmul(np.zeros((0, 64), np.float32), blocks("q8_0", 3, 64), "q8_0").shape == (0, 3)
    assert (
        mk.quantized_matmul(np.zeros((2, 0), np.float32), np.zeros((3, 0), np.uint8), "q8_0").tolist()
        == [[0] * 3] * 2
    )
    assert mk.dequantize(np.zeros((0, 34), np.uint8), "q8_0").shape == (0, 32)
    assert mk.embedding(np.zeros((0, 2), int), normal((3, 5))).shape == (0, 2, 5)


def test_wrong_shapes_show_both():
    weight = blocks("q8_0", 3, 64)
    with pytest.raises(LaunchError, match=r"64 columns.*\(2, 32\)"):
        mk.quantized_matmul(np.zeros((2, 32), np.float32), weight, "q8_0")
    with pytest.raises(LaunchError, match=r"whole blocks \(q4_0: 18 bytes.*\(3, 68\)"):
        mk.dequantize(weight, "q4_0")
    with pytest.raises(LaunchError, match="q4_0, q8_0, q4_K, q6_K, got 'q5_1'"):
        mk.dequantize(weight, "q5_1")
    with pytest.raises(LaunchError, match="float32, float16 or bfloat16, got float64"):
        mk.quantized_matmul(np.zeros((2, 64)), weight, "q8_0")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_embedding_takes_rows(dtype):
    table = normal((19, 37), dtype)
    ids = np.array([[0, 18, 3], [7, 7, 1]])
    assert np.array_equal(mk.embedding(ids, table), table[ids])
    assert np.array_equal(mk.embedding(ids, table[:, ::2]), table[:, ::2][ids])


@pytest.mark.parametrize("format", BLOCKS)
def test_embedding_of_a_quantised_table(format):
    table = blocks(format, 11, 512)
    ids = np.array([10, 0, 3], np.uint8)
    close(mk.embedding(ids, table, format), unpacked(table, format)[ids])


def test_embedding_refuses_ids_outside_the_table():
    for wrong in (-1, 19):
        with pytest.raises(LaunchError, match="ids from 0 to 18"):
            mk.embedding(np.array([0, wrong]), normal((19, 5)))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_affine_groups(bits, group):
    source = np.random.default_rng(bits * group)
    for rows, columns, dtype in (
        (1, 128, DTYPES[0]),
        (9, 256, DTYPES[1]),
        (33, 384, DTYPES[2]),
        (8, 640, DTYPES[0]),
    ):
        weight = source.integers(0, 1 << 32, (rows, columns * bits // 32), np.uint32)
        scales = source.uniform(-0.1, 0.1, (rows, columns // group)).astype(dtype)
        biases = source.uniform(-1, 1, (rows, columns // group)).astype(dtype)
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        numbers = ((weight[..., None] >> shifts) & ((1 << bits) - 1)).reshape(rows, columns)
        wanted = np.repeat(exact(scales), group, 1) * numbers + np.repeat(exact(biases), group, 1)
        close(mk.affine_dequantize(weight, scales, biases, group, bits), wanted)
        for inputs in ((), (5,), (2, 8)):
            x = normal((*inputs, columns), dtype, rows)
            size = np.abs(exact(x)) @ np.abs(wanted).T
            close(mk.affine_matmul(x, weight, scales, biases, group, bits), exact(x) @ wanted.T, size)


@pytest.mark.parametrize("bits", [4, 8])
def test_affine_groups_are_those_of_mlx(bits):
    mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    matrix, x = mx.array(normal((17, 256))), mx.array(normal((3, 256), seed=1))
    parts = mx.quantize(matrix, group_size=64, bits=bits)
    got = mk.affine_matmul(x, *parts, group_size=64, bits=bits)
    wanted = np.array(x).astype(np.float64) @ np.array(mx.dequantize(*parts, group_size=64, bits=bits)).T
    assert isinstance(got, mx.array)
    close(np.array(got), wanted)


def test_affine_refuses_what_does_not_fit():
    weight, scales = np.zeros((3, 16), np.uint32), np.zeros((3, 2), np.float32)
    x = np.zeros((2, 128), np.float32)
    mk.affine_matmul(x, weight, scales, scales)
    with pytest.raises(LaunchError, match=r"scales of shape \(3, 1\), got \(3, 2\)"):
        mk.affine_matmul(x, weight, scales, scales, group_size=128)
    with pytest.raises(LaunchError, match="bits of"):
        mk.affine_matmul(x, weight, scales, scales, bits=5)
    with pytest.raises(LaunchError, match=r"128 columns.*\(64,\)"):
        mk.affine_matmul(x[0, :64], weight, scales, scales)


def test_regrouped_weights_are_the_same():
    for one, other in zip(regrouped_products("q4_0"), regrouped_products("q4_0x8"), strict=True):
        np.testing.assert_array_equal(one, other)

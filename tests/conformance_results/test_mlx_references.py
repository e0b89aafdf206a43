"""What MLX's matrix kernels are held against agrees with MLX itself on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.results.mlx import attention, conv
from conformance.results.mlx.quantize import _encode
from conformance.results.mlx.quantized_weights import float_codes, pack, random_weights
from conformance.results.mlx.templates import block_dims

mx = pytest.importorskip("mlx.core")


@pytest.mark.parametrize(("bits", "group"), [(2, 64), (3, 32), (4, 128), (5, 64), (6, 32), (8, 32)])
def test_affine_weights_stand_for_what_mlx_says(bits: int, group: int) -> None:
    weights = random_weights(np.random.default_rng(bits), "affine", "float", bits, group, 3, 2 * group)
    given = [mx.array(tensor) for tensor in weights.tensors]
    theirs = mx.dequantize(*given, group_size=group, bits=bits, stream=mx.cpu)
    np.testing.assert_allclose(np.array(theirs), weights.numbers, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("mode", "bits", "group"), [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)])
def test_floating_weights_stand_for_what_mlx_says(mode: str, bits: int, group: int) -> None:
    weights = random_weights(np.random.default_rng(bits), "fp", "float", bits, group, 3, 64)
    given = mx.array(weights.packed), mx.array(weights.scales)
    theirs = mx.dequantize(*given, group_size=group, bits=bits, mode=mode, dtype=mx.float32, stream=mx.cpu)
    np.testing.assert_array_equal(np.array(theirs), weights.numbers.astype(np.float32))


def test_packing_puts_the_first_number_lowest() -> None:
    assert pack(np.array([[1, 2, 3, 4, 5, 6, 7, 8]]), 4).tolist() == [[0x87654321]]
    assert pack(np.arange(32)[None] % 8, 3)[0, 0] & 0xFFFFFF == 0xFAC688


def test_four_bits_are_rounded_to_the_nearest_and_ties_to_even() -> None:
    # The largest is 6, so the scale is one, and the numbers are their own.
    row = np.array([[6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -5, -0.3, *[0] * 22]], np.float32)
    codes, marks, numbers = _encode(row, 32, 4, 0.0)
    assert marks.tolist() == [127]
    assert numbers[0, :10].tolist() == [6, 0, 1, 1, 2, 2, 4, 4, -4, -0.5]
    np.testing.assert_array_equal(float_codes(codes, 4), numbers)


SHAPES = [*conv.PLANAR.values(), *conv.SOLID.values(), *conv.ANY.values()]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_convolutions_are_those_of_mlx(shape: conv.Shape) -> None:
    rng = np.random.default_rng(1)
    x, w, _, out = conv._data(rng, "float", shape, 0)
    given = {name: shape.all(name) for name in ("stride", "padding", "input_dilation")}
    theirs = mx.conv_general(
        mx.array(x), mx.array(w), kernel_dilation=shape.all("dilation"), groups=shape.groups, flip=shape.flip,
        stream=mx.cpu, **given,
    )  # fmt: skip
    assert theirs.shape == out.shape
    np.testing.assert_allclose(np.array(theirs), conv._expected(x, w, shape), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_that_of_mlx(masked: bool) -> None:
    rng = np.random.default_rng(2)
    q, k, v = (
        rng.standard_normal((1, heads, rows, 64)).astype(np.float32)
        for heads, rows in ((4, 5), (2, 9), (2, 9))
    )
    mask, sinks = attention.causal(5, 9), rng.standard_normal(4).astype(np.float32)
    ours, _ = attention.softmaxed(q, k, v, 0.125, mask if masked else None, sinks)
    theirs = mx.fast.scaled_dot_product_attention(
        *map(mx.array, (q, k, v)),
        scale=0.125,
        mask="causal" if masked else None,
        sinks=mx.array(sinks),
        stream=mx.cpu,
    )
    np.testing.assert_allclose(np.array(theirs), ours, rtol=1e-5, atol=1e-5)


def test_threadgroups_grow_an_axis_at_a_time() -> None:
    assert block_dims(1000, 1, 1) == (512, 1, 1)
    assert block_dims(33, 7, 5) == (32, 4, 4)
    assert block_dims(4096, 4096, 4096) == (16, 8, 8)

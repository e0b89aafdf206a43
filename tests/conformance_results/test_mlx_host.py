"""What the MLX cases take from MLX's host code: sizes of threadgroups, views, plans of Fourier transforms."""

import numpy as np
import pytest
from conformance.results.case import Step
from conformance.results.mlx import fft, host, reduce, unary
from conformance.results.mlx.coverage import template_of
from conformance.results.mlx.hadamard import matrix

from metalloid.source import Source


@pytest.mark.parametrize(
    ("sizes", "group"),
    [((7, 1, 1), (4, 1, 1)), ((5000, 1, 1), (1024, 1, 1)), ((33, 33, 1), (32, 32, 1)), ((9, 9, 9), (8, 8, 8)),
     ((100, 100, 100), (16, 8, 8))],
)  # fmt: skip
def test_threadgroups_grow_axis_by_axis(sizes: tuple[int, int, int], group: tuple[int, int, int]) -> None:
    assert host.block(*sizes) == group


def test_a_plane_folds_what_is_in_front_of_two_axes() -> None:
    assert host.plane((2, 3, 5, 7), 2) == ((4, 5, 6), (4, 4, 4))
    assert host.plane((9,)) == ((9, 1, 1), (8, 1, 1))


def test_views_show_the_elements_in_their_order() -> None:
    memory = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(host.transposed(memory).array, memory.T)
    assert np.array_equal(host.spaced(memory).array, memory[..., ::2])
    assert np.array_equal(host.reversed_(memory).array, memory[::-1, ::-1, ::-1])
    assert host.reversed_(memory).strides == (-12, -4, -1)
    assert host.broadcast(memory[:, :1], (2, 3, 4)).strides == (12, 0, 1)


@pytest.mark.parametrize("n", [4, 15, 28, 60, 143, 256, 512, 4096])
def test_radices_multiply_to_the_length(n: int) -> None:
    chosen = fft.plan(n)
    assert not chosen.bluestein and chosen.rader == 1
    assert np.prod([float(r) ** c for r, c in zip(fft.RADICES, chosen.steps, strict=True)]) == n


def test_large_primes_go_by_rader_or_bluestein() -> None:
    assert fft.plan(34).rader == 17 and fft.plan(47).bluestein == 128
    turned, forth, back = fft.rader_tables(17)
    x = np.random.default_rng(1).standard_normal(17)
    spread = np.fft.ifft(np.fft.fft(x[forth]) * turned) + x[0]
    assert np.allclose(spread, np.fft.fft(x)[back], atol=1e-5)


def test_bluestein_tables_give_the_transform() -> None:
    n, padded = 47, 128
    turned, chirp = fft.bluestein_tables(n, padded)
    x = np.random.default_rng(2).standard_normal(n)
    folded = np.fft.ifft(np.fft.fft(x * chirp, padded) * turned)[n - 1 : 2 * n - 1]
    assert np.allclose(folded * chirp, np.fft.fft(x), atol=1e-4)


def test_sylvester_matrices_are_orthogonal() -> None:
    assert np.array_equal(matrix(16) @ matrix(16).T, 16 * np.eye(16))


def test_e4m3_goes_there_and_back() -> None:
    codes = np.array([c for c in range(256) if c & 127 != 127])
    assert np.array_equal(unary._to_fp8(unary._from_fp8(codes)), codes)


def test_sums_of_unsigned_numbers_are_those_of_signed_ones() -> None:
    assert reduce.types("sum", "uint8_t") == ("int8_t", "int8_t", "Sum<int8_t>")
    assert reduce.types("and", "float") == ("int32_t", "bool", "And<bool>")
    assert reduce.types("max", "uint8_t") == ("uint8_t", "uint8_t", "Max<uint8_t>")


def test_a_step_belongs_to_the_template_its_name_begins_with() -> None:
    names = {"copy.h: copy_g", "copy.h: copy_gg", "copy.h: copy_gg_nd1", "sort.h: block_sort"}
    for kernel, template in (("copy_gg_float_half", "copy_gg"), ("copy_gg_nd1_float", "copy_gg_nd1")):
        step = Step(Source("", name="copy.h"), kernel, (), (1, 1, 1))
        assert template_of(step, names) == f"copy.h: {template}"
    assert template_of(Step(Source("", name="copy.h"), "block_sort", (), (1, 1, 1)), names) == ""

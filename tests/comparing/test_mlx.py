"""Comparing a function in the form of MLX: results are copies, and their writers are found all the same."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt

pytest.importorskip("mlx.core", reason="MLX is not installed")

SOURCE = """
    uint i = thread_position_in_grid.x;
    if (i < 64) {
        out[i] = x[i] * x[i];
    }
"""


def test_the_writer_of_a_wrong_element_is_found_behind_mlx():
    import mlx.core as mx

    from metalloid import mlx

    kernel = mlx.metal_kernel(name="squares", input_names=["x"], output_names=["out"], source=SOURCE)

    def squares(x):
        given = mx.array(np.ascontiguousarray(x))
        (out,) = kernel(
            inputs=[given],
            output_shapes=[x.shape],
            output_dtypes=[mx.float32],
            grid=(max(1, x.size), 1, 1),
            threadgroup=(64, 1, 1),
            init_value=-1,
        )
        return np.array(out)

    cases = mt.cases({"x": "N"}, tiles=64, sizes={"N": (1, 63, 64, 65, 200)}, values="ordinary")
    result = mt.compare(squares, lambda x: x * x, cases)
    assert result.common.text == "N > 64"
    assert result.first_wrong.index == (64,)
    assert "no thread of kernel 'squares' wrote it" in result.text() or "of kernel" in result.text()

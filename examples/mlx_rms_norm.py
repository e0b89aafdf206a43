"""RMSNorm as an MLX custom kernel, as it is written for a Mac: nothing in this file knows metalloid.

metalloid run mlx_rms_norm.py          on any machine
metalloid check mlx_rms_norm.py        and what is wrong with it
"""

import mlx.core as mx

rms_norm_kernel = mx.fast.metal_kernel(
    name="rms_norm",
    input_names=["x", "weight", "eps"],
    output_names=["out"],
    source="""
        uint row = threadgroup_position_in_grid.x;
        uint lane = thread_position_in_threadgroup.x;
        uint width = x_shape[1];
        float sum = 0;
        for (uint i = lane; i < width; i += 32) sum += float(x[row * width + i]) * x[row * width + i];
        float scale = metal::rsqrt(metal::simd_sum(sum) / width + eps[0]);
        for (uint i = lane; i < width; i += 32) out[row * width + i] = T(x[row * width + i] * scale * weight[i]);
    """,
)


def rms_norm(x, weight, eps=1e-5):
    return rms_norm_kernel(
        inputs=[x, weight, mx.array([eps])],
        template=[("T", x.dtype)],
        grid=(32 * x.shape[0], 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )[0]


if __name__ == "__main__":
    x, weight = mx.random.normal((64, 1000)), mx.ones(1000)
    error = mx.abs(rms_norm(x, weight) - mx.fast.rms_norm(x, weight, 1e-5)).max()
    print(f"largest difference from mx.fast.rms_norm: {error.item():.1e}")
    assert error < 1e-5

// RMSNorm as separate kernels, for `python -m bench kernels`: what fusing them saves.
#include <metal_stdlib>
using namespace metal;

kernel void square(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = x[i] * x[i];
}

kernel void row_means(device const float* x, device float* out, constant uint& n,
                      uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = 0;
    for (uint i = lane; i < n; i += 32) sum += x[ulong(row) * n + i];
    sum = simd_sum(sum);
    if (lane == 0) out[row] = sum / n;
}

kernel void divide(device const float* x, device const float* means, device float* out, constant uint& n,
                   uint2 at [[thread_position_in_grid]]) {
    out[ulong(at.y) * n + at.x] = x[ulong(at.y) * n + at.x] * rsqrt(means[at.y] + 1e-5f);
}

kernel void weigh(device const float* x, device const float* weight, device float* out, constant uint& n,
                  uint2 at [[thread_position_in_grid]]) {
    out[ulong(at.y) * n + at.x] = x[ulong(at.y) * n + at.x] * weight[at.x];
}

#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_atomic>
using namespace metal;

constant bool use_bias [[function_constant(0)]];
constant int shift [[function_constant(1)]];
constant int amount = is_function_constant_defined(shift) ? shift : 3;

kernel void softmax(device const half* x, device half* y, device atomic_uint* counter, device const float* bias,
                    threadgroup float* scratch [[threadgroup(0)]], constant uint& width,
                    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                    uint warp [[simdgroup_index_in_threadgroup]], uint warps [[simdgroups_per_threadgroup]]) {
    float top = -INFINITY;
    for (uint i = lane + 32 * warp; i < width; i += 32 * warps) {
        float value = x[row * width + i];
        if (use_bias) {
            value += bias[i];
        }
        top = max(top, value);
    }
    top = simd_max(top);
    if (lane == 0) {
        scratch[warp] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    top = simd_max(lane < warps ? scratch[lane] : -INFINITY);
    float sum = 0;
    for (uint i = lane; i < width; i += 32) {
        sum += exp(float(x[row * width + i]) - top);
    }
    sum = simd_sum(sum) + simd_shuffle_xor(0.0f, 1);
    for (uint i = lane; i < width; i += 32) {
        y[row * width + i] = half(fast::exp(float(x[row * width + i]) - top) / sum);
    }
    if (simd_is_first()) {
        atomic_fetch_add_explicit(counter, uint(amount) + popcount(uint(width)), memory_order_relaxed);
    }
}

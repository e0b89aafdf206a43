// Normalise rows. One threadgroup takes one row: it is read once for the sums and once for the result, and the
// second time it is still in the cache.
#include <metal_stdlib>
using namespace metal;

// The sum over all threads of a threadgroup, for each of them. `part` has room for one number per SIMD-group.
inline float sum_of_threadgroup(float value, threadgroup float* part, uint lane, uint group, uint groups) {
    value = simd_sum(value);
    if (groups == 1) return value;
    if (lane == 0) part[group] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < groups ? part[lane] : 0.0f);
}

// out = x / sqrt(mean(x^2) + eps) * weight
template <typename T>
kernel void rms_norm(device const T* x, device const T* weight, device T* out, constant uint& n,
                     constant uint& stride, constant float& eps,
                     uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
    threadgroup float part[32];
    x += ulong(row) * stride;
    out += ulong(row) * n;
    float squares = 0;
    for (uint i = t; i < n; i += threads) squares += float(x[i]) * float(x[i]);
    float mean = sum_of_threadgroup(squares, part, lane, group, groups) / n;
    float scale = rsqrt(mean + eps);
    for (uint i = t; i < n; i += threads) out[i] = T(float(x[i]) * scale * float(weight[i]));
}

template [[host_name("rms_norm_float32")]] kernel decltype(rms_norm<float>) rms_norm<float>;
template [[host_name("rms_norm_float16")]] kernel decltype(rms_norm<half>) rms_norm<half>;
template [[host_name("rms_norm_bfloat16")]] kernel decltype(rms_norm<bfloat>) rms_norm<bfloat>;

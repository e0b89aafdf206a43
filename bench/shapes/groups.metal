#include <metal_stdlib>
using namespace metal;

// SIMD-groups and threadgroups that work together on rows, as engines for language models have them.

kernel void softmax_simd(device const T* a, device T* out, constant uint& width, uint row [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    device const T* from = a + row * width;
    float most = -1e30f;
    for (uint i = lane; i < width; i += 32) most = max(most, float(from[i]));
    most = simd_max(most);
    float sum = 0;
    for (uint i = lane; i < width; i += 32) sum += exp(float(from[i]) - most);
    sum = simd_sum(sum);
    for (uint i = lane; i < width; i += 32) out[row * width + i] = T(exp(float(from[i]) - most) / sum);
}

kernel void layernorm_simd(device const vec<T, 4>* a, device const float4* weight, device const float4* bias,
                           device vec<T, 4>* out, constant uint& width, uint row [[threadgroup_position_in_grid]],
                           uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
    threadgroup float2 parts[32];
    float sum = 0, squares = 0;
    for (uint i = t; i < width / 4; i += n) {
        float4 x = float4(a[row * (width / 4) + i]);
        sum += x.x + x.y + x.z + x.w;
        squares += dot(x, x);
    }
    sum = simd_sum(sum), squares = simd_sum(squares);
    if (lane == 0) parts[group] = float2(sum, squares);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float2 total = 0;
    for (uint g = 0; g < n / 32; g++) total += parts[g];
    float mean = total.x / width, scale = rsqrt(total.y / width - mean * mean + 1e-5f);
    for (uint i = t; i < width / 4; i += n) {
        float4 x = float4(a[row * (width / 4) + i]);
        out[row * (width / 4) + i] = vec<T, 4>((x - mean) * scale * weight[i] + bias[i]);
    }
}

kernel void quantise_rows(device const T* a, device char* out, device float* scales, constant uint& width,
                          uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float most = 0;
    for (uint i = lane; i < width; i += 32) most = max(most, fabs(float(a[row * width + i])));
    most = simd_max(most);
    float scale = most / 127.0f, inverse = most > 0 ? 127.0f / most : 0.0f;
    for (uint i = lane; i < width; i += 32) out[row * width + i] = char(rint(float(a[row * width + i]) * inverse));
    if (lane == 0) scales[row] = scale;
}

kernel void gemv_simd4(device const vec<T, 4>* a, device const float4* x, device float* y, constant uint& width,
                       uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = i / 32;
    float4 sum = 0;
    for (uint k = lane; k < width / 4; k += 32) sum += float4(a[row * (width / 4) + k]) * x[k];
    float total = simd_sum(sum.x + sum.y + sum.z + sum.w);
    if (lane == 0) y[row] = total;
}

kernel void logsumexp(device const T* a, device float* out, constant uint& width,
                      uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                      uint n [[threads_per_threadgroup]]) {
    threadgroup float most[1024], sum[1024];
    float high = -1e30f, total = 0;
    for (uint i = t; i < width; i += n) {
        float x = a[row * width + i], above = max(high, x);
        total = total * exp(high - above) + exp(x - above);
        high = above;
    }
    most[t] = high, sum[t] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = n / 2; d > 0; d /= 2) {
        if (t < d) {
            float above = max(most[t], most[t + d]);
            sum[t] = sum[t] * exp(most[t] - above) + sum[t + d] * exp(most[t + d] - above);
            most[t] = above;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[row] = most[0] + log(sum[0]);
}

kernel void dot_atomic(device const T* a, device const T* b, device atomic_float* out, constant uint& n,
                       uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float part = i < n ? float(a[i]) * float(b[i]) : 0.0f;
    part = simd_sum(part);
    if (lane == 0) atomic_fetch_add_explicit(out, part, memory_order_relaxed);
}

kernel void scan_simd(device const float* a, device float* out, constant uint& width,
                      uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float before = 0;
    for (uint i = lane; i < width; i += 32) {
        float x = a[row * width + i];
        float sum = simd_prefix_inclusive_sum(x);
        out[row * width + i] = before + sum;
        before += simd_shuffle(sum, 31);
    }
}

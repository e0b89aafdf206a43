#include <metal_stdlib>
using namespace metal;

kernel void tree_sum(device const T* a, device float* out, uint i [[thread_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                     uint n [[threads_per_threadgroup]]) {
    threadgroup float part[1024];
    part[t] = float(a[i]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = n / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[g] = part[0];
}

kernel void simd_total(device const T* a, device float* out, uint i [[thread_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    float sum = simd_sum(float(a[i]));
    if (lane == 0) out[i / 32] = sum;
}

kernel void argmax_rows(device const float* a, device int* out, constant uint& width,
                        uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint r = i / 32;
    float best = -INFINITY;
    int where = 0;
    for (uint c = lane; c < width; c += 32) {
        float v = a[r * width + c];
        if (v > best) {
            best = v;
            where = int(c);
        }
    }
    float most = simd_max(best);
    int found = simd_min(best == most ? where : 0x7fffffff);
    if (lane == 0) out[r] = found;
}

kernel void softmax_rows(device const T* a, device T* out, constant uint& width,
                         uint t [[thread_position_in_threadgroup]], uint r [[threadgroup_position_in_grid]],
                         uint n [[threads_per_threadgroup]]) {
    threadgroup float part[1024];
    float most = -INFINITY;
    for (uint c = t; c < width; c += n) most = max(most, float(a[r * width + c]));
    part[t] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = n / 2; s > 0; s /= 2) {
        if (t < s) part[t] = max(part[t], part[t + s]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    most = part[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint c = t; c < width; c += n) sum += exp(float(a[r * width + c]) - most);
    part[t] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = n / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float scale = 1.0f / part[0];
    for (uint c = t; c < width; c += n) out[r * width + c] = T(exp(float(a[r * width + c]) - most) * scale);
}

kernel void rms_norm(device const T* a, device const T* w, device T* out, constant uint& width,
                     uint t [[thread_position_in_threadgroup]], uint r [[threadgroup_position_in_grid]],
                     uint n [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint s [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[32];
    float sum = 0;
    for (uint c = t; c < width; c += n) sum += float(a[r * width + c]) * float(a[r * width + c]);
    sum = simd_sum(sum);
    if (lane == 0) parts[s] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = simd_sum(lane < (n + 31) / 32 ? parts[lane] : 0.0f);
    float scale = rsqrt(total / float(width) + 1e-5f);
    for (uint c = t; c < width; c += n) out[r * width + c] = T(float(a[r * width + c]) * scale * float(w[c]));
}

kernel void histogram_tg(device const T* a, device atomic_uint* bins, constant uint& each,
                         uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                         uint n [[threads_per_threadgroup]]) {
    threadgroup atomic_uint own[256];
    for (uint b = t; b < 256; b += n) atomic_store_explicit(&own[b], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < each; i++)
        atomic_fetch_add_explicit(&own[uint(a[(g * each + i) * n + t]) & 255], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = t; b < 256; b += n)
        atomic_fetch_add_explicit(&bins[b], atomic_load_explicit(&own[b], memory_order_relaxed), memory_order_relaxed);
}

kernel void histogram(device const T* a, device atomic_uint* bins, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&bins[uint(a[i]) & 255], 1u, memory_order_relaxed);
}

kernel void atomic_total(device const int* a, device atomic_int* out, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(out, a[i], memory_order_relaxed);
}

kernel void histogram_cut(device const float* a, device atomic_uint* bins, constant uint& n,
                          uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    int bin = clamp(int((a[i] + 1.0f) * 32.0f), 0, 63);
    atomic_fetch_add_explicit(&bins[bin], 1u, memory_order_relaxed);
}

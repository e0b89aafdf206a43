// The kernels of `metalloid demo`: the ones that returned zeros where this project comes from.
#include <metal_stdlib>
using namespace metal;

kernel void thread_ids(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = i;
}

kernel void vector_add(device const float* a [[buffer(0)]],
                       device const float* b [[buffer(1)]],
                       device float* out [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + b[i];
}

kernel void scalar_multiply(device const float* a [[buffer(0)]],
                            constant float& scalar [[buffer(1)]],
                            device float* out [[buffer(2)]],
                            uint i [[thread_position_in_grid]]) {
    out[i] = a[i] * scalar;
}

// A tree in threadgroup memory, then one atomic per threadgroup.
kernel void sum_reduction(device const float* in [[buffer(0)]],
                          device atomic_float* out [[buffer(1)]],
                          constant uint& n [[buffer(2)]],
                          threadgroup float* partial [[threadgroup(0)]],
                          uint i [[thread_position_in_grid]],
                          uint lid [[thread_position_in_threadgroup]],
                          uint size [[threads_per_threadgroup]]) {
    partial[lid] = i < n ? in[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint stride = size / 2; stride > 0; stride /= 2) {
        if (lid < stride) {
            partial[lid] += partial[lid + stride];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid == 0) {
        atomic_fetch_add_explicit(out, partial[0], memory_order_relaxed);
    }
}

kernel void matrix_multiply(device const float* a [[buffer(0)]],
                            device const float* b [[buffer(1)]],
                            device float* out [[buffer(2)]],
                            constant uint3& size [[buffer(3)]],  // rows, columns, inner
                            uint2 i [[thread_position_in_grid]]) {
    if (i.x >= size.y || i.y >= size.x) {
        return;
    }
    float sum = 0.0f;
    for (uint k = 0; k < size.z; k++) {
        sum += a[i.y * size.z + k] * b[k * size.y + i.x];
    }
    out[i.y * size.y + i.x] = sum;
}

kernel void double_in_place(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] *= 2.0f;
}

// One threadgroup per row, one pass to sum the squares and one to scale.
kernel void rms_norm(device const float* x [[buffer(0)]],
                     device const float* weight [[buffer(1)]],
                     device float* out [[buffer(2)]],
                     constant uint& width [[buffer(3)]],
                     constant float& eps [[buffer(4)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint lid [[thread_position_in_threadgroup]],
                     uint size [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]],
                     uint groups [[simdgroups_per_threadgroup]]) {
    threadgroup float partial[32];
    device const float* in = x + row * width;
    float sum = 0.0f;
    for (uint i = lid; i < width; i += size) {
        sum += in[i] * in[i];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        partial[group] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = 0.0f;
    for (uint g = 0; g < groups; g++) {
        total += partial[g];
    }
    float scale = rsqrt(total / float(width) + eps);
    for (uint i = lid; i < width; i += size) {
        out[row * width + i] = in[i] * scale * weight[i];
    }
}

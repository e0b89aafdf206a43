#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                device float* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + b[i];
}

// 2 * n operations for every second thread, none for the others.
kernel void every_second(device float* out [[buffer(0)]], constant uint& n [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    if (i % 2) return;
    float x = i;
    for (uint k = 0; k < n; ++k) x = fma(x, 0.5f, 1.0f);
    out[i] = x;
}

kernel void product(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                    device float* out [[buffer(2)]]) {
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(x, a, 8);
    simdgroup_load(y, b, 8);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, out, 8);
}

// One sum per threadgroup: its results depend on the threadgroup's size.
kernel void sums(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                 uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]]) {
    threadgroup float tile[256];
    tile[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        float sum = 0;
        for (uint k = 0; k < size; ++k) sum += tile[k];
        out[g] = sum;
    }
}

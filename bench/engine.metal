// The kernels of `python -m bench engine`, as a textbook has them.
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* a, device const float* b, device float* c, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}

kernel void scale(device const float* a, device float* c, uint i [[thread_position_in_grid]]) { c[i] = a[i] * 2.5f; }

kernel void silu(device const float* a, device float* c, uint i [[thread_position_in_grid]]) {
    float x = a[i];
    c[i] = x / (1.0f + exp(-x));
}

kernel void rms_norm(device const float* x, device const float* w, device float* o, constant uint& n,
                     uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
    threadgroup float part[32];
    device const float* r = x + row * n;
    float s = 0;
    for (uint i = t; i < n; i += threads) s += r[i] * r[i];
    s = simd_sum(s);
    if (lane == 0) part[group] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = simd_sum(lane < groups ? part[lane] : 0.0f);
    float k = rsqrt(total / n + 1e-5f);
    for (uint i = t; i < n; i += threads) o[row * n + i] = r[i] * k * w[i];
}

kernel void tree(device const float* a, device float* o, uint i [[thread_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup float s[256];
    s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) o[g] = s[0];
}

// A @ B^T
kernel void matmul_nt(device const float* A, device const float* B, device float* C, constant uint& N,
                      uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[16][16], b[16][16];
    uint row = g.y * 16 + t.y, col = g.x * 16 + t.x;
    float acc = 0;
    for (uint k = 0; k < N; k += 16) {
        a[t.y][t.x] = A[row * N + k + t.x];
        b[t.y][t.x] = B[(g.x * 16 + t.y) * N + k + t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 16; i++) acc += a[t.y][i] * b[t.x][i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < N && col < N) C[row * N + col] = acc;
}

kernel void matmul_32(device const float* A, device const float* B, device float* C, constant uint& N,
                      uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[32][32], b[32][32];
    uint row = g.y * 32 + t.y, col = g.x * 32 + t.x;
    float acc = 0;
    for (uint k = 0; k < N; k += 32) {
        a[t.y][t.x] = A[row * N + k + t.x];
        b[t.y][t.x] = B[(k + t.y) * N + col];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 32; i++) acc += a[t.y][i] * b[i][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * N + col] = acc;
}

kernel void matmul_naive(device const float* A, device const float* B, device float* C, constant uint& N,
                         uint2 g [[thread_position_in_grid]]) {
    float acc = 0;
    for (uint k = 0; k < N; k++) acc += A[g.y * N + k] * B[k * N + g.x];
    C[g.y * N + g.x] = acc;
}

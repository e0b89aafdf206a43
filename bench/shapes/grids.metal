#include <metal_stdlib>
using namespace metal;

kernel void stencil5(device const T* a, device T* b, constant uint& w, constant uint& h,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.x >= w - 1 || p.y >= h - 1) return;
    uint i = p.y * w + p.x;
    b[i] = T(0.2) * (a[i] + a[i - 1] + a[i + 1] + a[i - w] + a[i + w]);
}

kernel void stencil7(device const T* a, device T* b, constant uint& w, constant uint& h, constant uint& d,
                     uint3 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.z == 0 || p.x >= w - 1 || p.y >= h - 1 || p.z >= d - 1) return;
    uint i = (p.z * h + p.y) * w + p.x;
    b[i] = T(0.25) * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w] + a[i - w * h] + a[i + w * h]) - T(0.5) * a[i];
}

kernel void transpose(device const T* a, device T* b, constant uint& w, constant uint& h,
                      uint2 p [[thread_position_in_grid]]) {
    b[p.x * h + p.y] = a[p.y * w + p.x];
}

kernel void transpose_16(device const T* a, device T* b, constant uint& w, constant uint& h,
                         uint2 g [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup T tile[16][17];
    tile[t.y][t.x] = a[(g.y * 16 + t.y) * w + g.x * 16 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[(g.x * 16 + t.y) * h + g.y * 16 + t.x] = tile[t.x][t.y];
}

kernel void transpose_32(device const T* a, device T* b, constant uint& w, constant uint& h,
                         uint2 g [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup T tile[32][33];
    for (uint y = t.y; y < 32; y += 8) tile[y][t.x] = a[(g.y * 32 + y) * w + g.x * 32 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint y = t.y; y < 32; y += 8) b[(g.x * 32 + y) * h + g.y * 32 + t.x] = tile[t.x][y];
}

kernel void blur(device const uchar4* a, device uchar4* b, constant uint& w, constant uint& h,
                 uint2 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.x >= w - 1 || p.y >= h - 1) return;
    ushort4 sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += ushort4(a[(p.y + dy) * w + p.x + dx]);
    b[p.y * w + p.x] = uchar4(sum / ushort(9));
}

kernel void half4_neighbours(device const half4* a, device half4* b, constant uint& n,
                             uint i [[thread_position_in_grid]]) {
    if (i == 0 || i >= n - 1) return;
    b[i] = half(0.25) * (a[i - 1] + a[i + 1]) + half(0.5) * a[i];
}

kernel void convolve(device const T* a, device const T* taps, device T* b, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    T sum = 0;
    for (uint k = 0; k < 9; k++) sum += a[i + k] * taps[k];
    b[i] = sum;
}

kernel void fft_step(device const float2* x, device const float2* roots, device float2* y, constant uint& half_n,
                     constant uint& p, uint i [[thread_position_in_grid]]) {
    uint k = i & (p - 1);
    float2 u = x[i], v = x[i + half_n], r = roots[k * (half_n / p)];
    float2 t = float2(v.x * r.x - v.y * r.y, v.x * r.y + v.y * r.x);
    uint j = ((i - k) << 1) + k;
    y[j] = u + t;
    y[j + p] = u - t;
}

kernel void bitonic_step(device T* a, constant uint& j, constant uint& k, uint i [[thread_position_in_grid]]) {
    uint other = i ^ j;
    if (other > i) {
        T x = a[i], y = a[other];
        if ((x > y) == ((i & k) == 0)) {
            a[i] = y;
            a[other] = x;
        }
    }
}

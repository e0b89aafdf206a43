#include <metal_stdlib>
using namespace metal;

kernel void scatter_add(device const T* a, device const int* at, device atomic<T>* out, constant uint& n,
                        uint i [[thread_position_in_grid]]) {
    if (i < n) atomic_fetch_add_explicit(&out[at[i]], a[i], memory_order_relaxed);
}

kernel void embed(device const vec<T, 4>* table, device const int* rows, device vec<T, 4>* out, constant uint& width,
                  uint2 p [[thread_position_in_grid]]) {
    out[p.y * width + p.x] = table[uint(rows[p.y]) * width + p.x];
}

kernel void find_word(device const uchar* a, device uchar* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i + 4 > n) return;
    out[i] = a[i] == 'w' && a[i + 1] == 'o' && a[i + 2] == 'r' && a[i + 3] == 'd';
}

kernel void rotate_pairs(device const T* a, device const float* turns, device T* out, constant uint& width,
                         constant uint& heads, uint3 p [[thread_position_in_grid]]) {
    uint at = (p.z * heads + p.y) * width + 2 * p.x, turn = (p.z * (width / 2) + p.x) * 2;
    float c = turns[turn], s = turns[turn + 1], x = a[at], y = a[at + 1];
    out[at] = T(x * c - y * s);
    out[at + 1] = T(x * s + y * c);
}

kernel void running_sums(device const uchar* a, device uint* out, constant int& width, constant int& rows,
                         uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    uint sum = 0;
    for (int i = 0; i < width; i++) {
        sum += a[r * width + i];
        out[r * width + i] = sum;
    }
}

kernel void mean2x2(device const T* a, device T* out, constant uint& w, constant uint& h,
                    uint2 p [[thread_position_in_grid]]) {
    if (p.x >= w || p.y >= h) return;
    uint at = 4 * p.y * w + 2 * p.x;
    out[p.y * w + p.x] = (a[at] + a[at + 1] + a[at + 2 * w] + a[at + 2 * w + 1]) * T(0.25);
}

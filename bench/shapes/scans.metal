#include <metal_stdlib>
using namespace metal;

// Each threadgroup scans twice as many numbers as it has threads.
kernel void blelloch(device const float* a, device float* out, uint t [[thread_position_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
    threadgroup float part[2048];
    uint at = g * 2 * n;
    part[2 * t] = a[at + 2 * t];
    part[2 * t + 1] = a[at + 2 * t + 1];
    uint step = 1;
    for (uint d = n; d > 0; d >>= 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) part[step * (2 * t + 2) - 1] += part[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) part[2 * n - 1] = 0;
    for (uint d = 1; d <= n; d *= 2) {
        step >>= 1;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) {
            uint x = step * (2 * t + 1) - 1, y = step * (2 * t + 2) - 1;
            float v = part[x];
            part[x] = part[y];
            part[y] += v;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[at + 2 * t] = part[2 * t];
    out[at + 2 * t + 1] = part[2 * t + 1];
}

kernel void hillis_steele(device const float* a, device float* out, uint i [[thread_position_in_grid]],
                          uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup float part[2][1024];
    uint now = 0;
    part[0][t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < n; d *= 2) {
        part[1 - now][t] = t >= d ? part[now][t] + part[now][t - d] : part[now][t];
        now = 1 - now;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[i] = part[now][t];
}

kernel void compact(device const int* a, device int* out, device int* counts, uint i [[thread_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                    uint n [[threads_per_threadgroup]]) {
    threadgroup int place[1024];
    int v = a[i], keep = v > 0;
    place[t] = keep;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < n; d *= 2) {
        int before = t >= d ? place[t - d] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        place[t] += before;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (keep) out[g * n + place[t] - 1] = v;
    if (t == n - 1) counts[g] = place[t];
}

// Each threadgroup sorts twice as many numbers as it has threads.
kernel void bitonic(device const float* a, device float* out, uint t [[thread_position_in_threadgroup]],
                    uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
    threadgroup float v[2048];
    uint at = g * 2 * n;
    v[t] = a[at + t];
    v[t + n] = a[at + t + n];
    for (uint k = 2; k <= 2 * n; k *= 2)
        for (uint j = k / 2; j > 0; j /= 2) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint x = 2 * t - (t & (j - 1)), y = x + j;
            float p = v[x], q = v[y];
            if ((p > q) == ((x & k) == 0)) {
                v[x] = q;
                v[y] = p;
            }
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[at + t] = v[t];
    out[at + t + n] = v[t + n];
}

// Transforms of twice as many points as a threadgroup has threads, radix 2.
kernel void fft(device const float2* a, device const float2* roots, device float2* out,
                uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                uint n [[threads_per_threadgroup]]) {
    threadgroup float2 v[2][1024];
    uint at = g * 2 * n, now = 0;
    v[0][t] = a[at + t];
    v[0][t + n] = a[at + t + n];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = 1; p <= n; p *= 2) {
        uint k = t & (p - 1), j = ((t - k) << 1) + k;
        float2 x = v[now][t], y = v[now][t + n], r = roots[k * (n / p)];
        float2 z = float2(y.x * r.x - y.y * r.y, y.x * r.y + y.y * r.x);
        v[1 - now][j] = x + z;
        v[1 - now][j + p] = x - z;
        now = 1 - now;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[at + t] = v[now][t];
    out[at + t + n] = v[now][t + n];
}

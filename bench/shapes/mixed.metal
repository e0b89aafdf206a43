#include <metal_stdlib>
using namespace metal;

// What is in no other file: tables, points, axes that change places, counters of each thread, packed weights.

kernel void table_of_bytes(device const uchar* a, constant uchar* table, device uchar* out, constant uint& n,
                           uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = table[a[i]];
}

kernel void transform_points(device const float4* a, constant float4x4& matrix, device float4* out, constant uint& n,
                             uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = matrix * a[i];
}

kernel void nearest_point(device const packed_float3* a, device const packed_float3* centres, device int* out,
                          constant uint& count, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float3 p = a[i];
    float least = INFINITY;
    int best = 0;
    for (uint c = 0; c < count; c++) {
        float3 apart = p - float3(centres[c]);
        float d = dot(apart, apart);
        if (d < least) {
            least = d;
            best = int(c);
        }
    }
    out[i] = best;
}

kernel void permute_axes(device const T* a, device T* out, constant uint& x, constant uint& y, constant uint& z,
                         uint i [[thread_position_in_grid]]) {
    if (i >= x * y * z) return;
    uint k = i % z, j = (i / z) % x, r = i / (z * x);
    out[i] = a[(j * y + r) * z + k];
}

kernel void votes(device const uchar* a, device uchar* out, constant uint& each, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    ushort counts[16] = {0};
    for (uint k = 0; k < each; k++) counts[a[i * each + k] & 15]++;
    uint best = 0;
    for (uint k = 1; k < 16; k++)
        if (counts[k] > counts[best]) best = k;
    out[i] = best;
}

kernel void block_total(device const float* a, device atomic_float* out, constant uint& n,
                        uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                        uint size [[threads_per_threadgroup]]) {
    threadgroup float part[1024];
    part[t] = i < n ? a[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = size / 2; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) atomic_fetch_add_explicit(out, part[0], memory_order_relaxed);
}

struct block_q4 {
    half d;
    uchar qs[16];
};

kernel void dequantise(device const block_q4* a, device T* out, constant uint& blocks,
                       uint i [[thread_position_in_grid]]) {
    if (i >= blocks) return;
    float d = a[i].d;
    for (uint k = 0; k < 16; k++) {
        out[i * 32 + k] = T(d * (float(a[i].qs[k] & 15) - 8.0f));
        out[i * 32 + 16 + k] = T(d * (float(a[i].qs[k] >> 4) - 8.0f));
    }
}

kernel void pair_distances(device const float* a, device const float* b, device float* out, constant uint& width,
                           constant uint& n, constant uint& m, uint2 p [[thread_position_in_grid]]) {
    if (p.x >= m || p.y >= n) return;
    float sum = 0;
    for (uint k = 0; k < width; k++) {
        float apart = a[p.y * width + k] - b[p.x * width + k];
        sum += apart * apart;
    }
    out[p.y * m + p.x] = sqrt(sum);
}

kernel void bits_apart(device const uint* a, constant uint* key, device uint* out, constant uint& words,
                       constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint sum = 0;
    for (uint k = 0; k < words; k++) sum += popcount(a[i * words + k] ^ key[k]);
    out[i] = sum;
}

kernel void value_noise(device const float2* a, constant uchar* places, device float* out, constant uint& n,
                        uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float2 p = a[i], cell = floor(p), f = p - cell;
    int x = int(cell.x) & 255, y = int(cell.y) & 255;
    float2 s = f * f * (3.0f - 2.0f * f);
    float nw = places[(places[x] + y) & 255], ne = places[(places[(x + 1) & 255] + y) & 255];
    float sw = places[(places[x] + y + 1) & 255], se = places[(places[(x + 1) & 255] + y + 1) & 255];
    out[i] = mix(mix(nw, ne, s.x), mix(sw, se, s.x), s.y) / 255.0f;
}

kernel void collatz(device const uint* a, device uint* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint x = a[i], steps = 0;
    while (x > 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[i] = steps;
}

kernel void lower_bound(device const T* sorted, device const T* wanted, device uint* out, constant uint& count,
                        constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint low = 0, high = count;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

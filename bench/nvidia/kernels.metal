// What `python -m bench cuda` measures; kernels.cu has the same kernels in CUDA, under the same names.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void add(device const float* a, device const float* b, device float* c, constant uint& n,
                uint i [[thread_position_in_grid]]) {
    if (i < n) c[i] = a[i] + b[i];
}

// One threadgroup of 256 a row.
kernel void rms_norm(device const float* x, device const float* w, device float* y, constant uint& n,
                     uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]], uint warp [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[8];
    device const float4* from = (device const float4*)(x + ulong(row) * n);
    device float4* to = (device float4*)(y + ulong(row) * n);
    device const float4* scale = (device const float4*)w;
    float sum = 0;
    for (uint i = t; i < n / 4; i += 256) {
        float4 v = from[i];
        sum += dot(v, v);
    }
    sum = simd_sum(sum);
    if (lane == 0) part[warp] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float all = 0;
    for (uint k = 0; k < 8; k++) all += part[k];
    float factor = rsqrt(all / float(n) + 1e-5f);
    for (uint i = t; i < n / 4; i += 256) to[i] = from[i] * factor * scale[i];
}

kernel void softmax(device const float* x, device float* y, constant uint& n,
                    uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]], uint warp [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[8];
    device const float* from = x + ulong(row) * n;
    device float* to = y + ulong(row) * n;
    float most = -INFINITY;
    for (uint i = t; i < n; i += 256) most = max(most, from[i]);
    most = simd_max(most);
    if (lane == 0) part[warp] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 8; k++) most = max(most, part[k]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint i = t; i < n; i += 256) sum += exp(from[i] - most);
    sum = simd_sum(sum);
    if (lane == 0) part[warp] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float all = 0;
    for (uint k = 0; k < 8; k++) all += part[k];
    for (uint i = t; i < n; i += 256) to[i] = exp(from[i] - most) / all;
}

kernel void tree(device const float* x, device float* y, uint g [[threadgroup_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]]) {
    threadgroup float part[256];
    device const float* from = x + ulong(g) * 2048;
    float sum = 0;
    for (uint k = 0; k < 8; k++) sum += from[t + 256 * k];
    part[t] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_ = 128; half_ > 0; half_ /= 2) {
        if (t < half_) part[t] += part[t + half_];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) y[g] = part[0];
}

template <uint T>
kernel void product(device const float* a, device const float* b, device float* c, constant uint& n,
                    uint2 l [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float x[T][T], y[T][T];
    uint row = g.y * T + l.y, column = g.x * T + l.x;
    float sum = 0;
    for (uint k = 0; k < n; k += T) {
        x[l.y][l.x] = a[row * n + k + l.x];
        y[l.y][l.x] = b[(k + l.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < T; j++) sum += x[l.y][j] * y[j][l.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[row * n + column] = sum;
}
template [[host_name("product16")]] kernel void product<16>(device const float*, device const float*, device float*,
                                                            constant uint&, uint2, uint2);
template [[host_name("product32")]] kernel void product<32>(device const float*, device const float*, device float*,
                                                            constant uint&, uint2, uint2);

kernel void stencil(device const float* x, device float* y, constant uint& n, uint2 p [[thread_position_in_grid]]) {
    uint at = p.y * n + p.x;
    if (p.x == 0 || p.y == 0 || p.x + 1 >= n || p.y + 1 >= n) {
        y[at] = x[at];
        return;
    }
    y[at] = 0.5f * x[at] + 0.125f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
}

kernel void scan(device const float* x, device float* y, uint g [[threadgroup_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint warp [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[32];
    float sum = simd_prefix_inclusive_sum(x[ulong(g) * 1024 + t]);
    if (lane == 31) part[warp] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (warp == 0) part[lane] = simd_prefix_inclusive_sum(part[lane]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[ulong(g) * 1024 + t] = warp ? sum + part[warp - 1] : sum;
}

kernel void histogram(device const uchar* x, device atomic_uint* y, constant uint& n, uint g [[threadgroup_position_in_grid]],
                      uint t [[thread_index_in_threadgroup]], uint groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint bins[256];
    atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = g * 256 + t; i < n; i += groups * 256) atomic_fetch_add_explicit(&bins[x[i]], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&y[t], atomic_load_explicit(&bins[t], memory_order_relaxed), memory_order_relaxed);
}

kernel void transpose(device const float* x, device float* y, constant uint& n,
                      uint2 l [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float tile[32][33];
    for (uint k = 0; k < 32; k += 8) tile[l.y + k][l.x] = x[(g.y * 32 + l.y + k) * n + g.x * 32 + l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 32; k += 8) y[(g.x * 32 + l.y + k) * n + g.y * 32 + l.x] = tile[l.x][l.y + k];
}

kernel void nbody(device const float4* p, device float4* a, constant uint& n, uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 tile[256];
    float4 me = p[i];
    float3 sum = 0;
    for (uint k = 0; k < n; k += 256) {
        tile[t] = p[k + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 256; j++) {
            float3 d = tile[j].xyz - me.xyz;
            float r = rsqrt(dot(d, d) + 0.01f);
            sum += d * (tile[j].w * r * r * r);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    a[i] = float4(sum, 0);
}

static float normal(float d) {
    float k = 1 / (1 + 0.2316419f * fabs(d));
    float c = 0.39894228f * exp(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - c : c;
}

kernel void black_scholes(device const float* s, device const float* x, device const float* t, device float* call,
                          device float* put, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float root = sqrt(t[i]), d1 = (log(s[i] / x[i]) + (0.02f + 0.5f * 0.3f * 0.3f) * t[i]) / (0.3f * root);
    float d2 = d1 - 0.3f * root, n1 = normal(d1), n2 = normal(d2), e = exp(-0.02f * t[i]);
    call[i] = s[i] * n1 - x[i] * e * n2;
    put[i] = x[i] * e * (1 - n2) - s[i] * (1 - n1);
}

kernel void rope(device const float* x, device float* y, device const float* f, constant uint& pairs,
                 uint2 p [[thread_position_in_grid]]) {
    float angle = float(p.y) * f[p.x], c, s = sincos(angle, c);
    uint at = p.y * 2 * pairs + 2 * p.x;
    float a = x[at], b = x[at + 1];
    y[at] = a * c - b * s;
    y[at + 1] = a * s + b * c;
}

struct block_q4_0 {
    half d;
    uchar q[16];
};

// A SIMD-group a row, four rows a threadgroup; a lane takes half a block.
kernel void q4_0(device const block_q4_0* w, device const float* x, device float* y, constant uint& blocks,
                 uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint warp [[simdgroup_index_in_threadgroup]]) {
    uint row = g * 4 + warp;
    device const block_q4_0* mine = w + ulong(row) * blocks;
    float sum = 0;
    for (uint b = lane / 2; b < blocks; b += 16) {
        device const block_q4_0& one = mine[b];
        device const ushort* q = (device const ushort*)one.q + 4 * (lane & 1);
        device const float* v = x + 32 * b + 8 * (lane & 1);
        float part = 0, all = 0;
        for (uint k = 0; k < 4; k++) {
            uint bits = q[k];
            float a = v[2 * k], c = v[2 * k + 1], e = v[2 * k + 16], f = v[2 * k + 17];
            part += float(bits & 15) * a + float(bits >> 8 & 15) * c + float(bits >> 4 & 15) * e + float(bits >> 12) * f;
            all += a + c + e + f;
        }
        sum += float(one.d) * (part - 8 * all);
    }
    sum = simd_sum(sum);
    if (lane == 0) y[row] = sum;
}

// One query of 128 against `n` keys: a threadgroup of 256 a head, each SIMD-group every eighth key.
kernel void attention(device const float* q, device const half* k, device const half* v, device float* y, constant uint& n,
                      uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                      uint warp [[simdgroup_index_in_threadgroup]]) {
    threadgroup float4 sums[8][32];
    threadgroup float most[8], totals[8];
    float4 mine = ((device const float4*)q)[head * 32 + lane] * 0.088388f, out = 0;
    device const half4* keys = (device const half4*)k + ulong(head) * n * 32;
    device const half4* values = (device const half4*)v + ulong(head) * n * 32;
    float m = -1e30f, total = 0;
    for (uint i = warp; i < n; i += 8) {
        float s = simd_sum(dot(mine, float4(keys[i * 32 + lane])));
        float now = max(m, s), old = exp(m - now), e = exp(s - now);
        total = total * old + e;
        out = out * old + e * float4(values[i * 32 + lane]);
        m = now;
    }
    sums[warp][lane] = out;
    if (lane == 0) most[warp] = m, totals[warp] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (warp == 0) {
        float all = 0, sum = 0;
        float4 result = 0;
        for (uint w = 0; w < 8; w++) all = max(all, most[w]);
        for (uint w = 0; w < 8; w++) {
            float e = exp(most[w] - all);
            sum += totals[w] * e;
            result += sums[w][lane] * e;
        }
        ((device float4*)y)[head * 32 + lane] = result / sum;
    }
}

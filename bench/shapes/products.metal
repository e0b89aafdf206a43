#include <metal_stdlib>
using namespace metal;

kernel void matmul(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                   uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += float(a[p.y * k + i]) * float(b[i * n + p.x]);
    c[p.y * n + p.x] = T(sum);
}

kernel void tiled(device const float* a, device const float* b, device float* c, constant uint& n,
                  uint2 p [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[TILE][TILE], bs[TILE][TILE];
    float sum = 0;
    for (uint at = 0; at < n; at += TILE) {
        as[t.y][t.x] = a[p.y * n + at + t.x];
        bs[t.y][t.x] = b[(at + t.y) * n + p.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i++) sum += as[t.y][i] * bs[i][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * n + p.x] = sum;
}

kernel void tiled_nt(device const float* a, device const float* b, device float* c, constant uint& n,
                     uint2 p [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
                     uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float as[TILE][TILE], bs[TILE][TILE];
    float sum = 0;
    for (uint at = 0; at < n; at += TILE) {
        as[t.y][t.x] = a[p.y * n + at + t.x];
        bs[t.y][t.x] = b[(g.x * TILE + t.y) * n + at + t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i++) sum += as[t.y][i] * bs[t.x][i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * n + p.x] = sum;
}

// One tile is filled while the other is read.
kernel void turns(device const float* a, device const float* b, device float* c, constant uint& n,
                  uint2 p [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[2][TILE][TILE], bs[2][TILE][TILE];
    float sum = 0;
    uint now = 0;
    as[0][t.y][t.x] = a[p.y * n + t.x];
    bs[0][t.y][t.x] = b[t.y * n + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint at = 0; at < n; at += TILE) {
        uint next = at + TILE;
        if (next < n) {
            as[1 - now][t.y][t.x] = a[p.y * n + next + t.x];
            bs[1 - now][t.y][t.x] = b[(next + t.y) * n + p.x];
        }
        for (uint i = 0; i < TILE; i++) sum += as[now][t.y][i] * bs[now][i][t.x];
        now = 1 - now;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * n + p.x] = sum;
}

kernel void batched(device const float* a, device const float* b, device float* c,
                    uint3 p [[thread_position_in_grid]]) {
    uint at = p.z * 64;
    float sum = 0;
    for (uint i = 0; i < 8; i++) sum += a[at + p.y * 8 + i] * b[at + i * 8 + p.x];
    c[at + p.y * 8 + p.x] = sum;
}

kernel void matvec(device const T* a, device const T* x, device T* y, constant uint& k,
                   uint r [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += float(a[r * k + i]) * float(x[i]);
    y[r] = T(sum);
}

kernel void matvec_simd(device const T* a, device const T* x, device T* y, constant uint& k,
                        uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint r = i / 32;
    float sum = 0;
    for (uint j = lane; j < k; j += 32) sum += float(a[r * k + j]) * float(x[j]);
    sum = simd_sum(sum);
    if (lane == 0) y[r] = T(sum);
}

kernel void csr(device const int* starts, device const int* columns, device const float* values,
                device const float* x, device float* y, constant uint& rows, uint r [[thread_position_in_grid]]) {
    if (r >= rows) return;
    float sum = 0;
    for (int i = starts[r]; i < starts[r + 1]; i++) sum += values[i] * x[columns[i]];
    y[r] = sum;
}

struct block_q4_0 {
    half d;
    uchar qs[16];
};

kernel void q4_0(device const block_q4_0* a, device const float* x, device float* y, constant uint& blocks,
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint r = i / 32;
    float sum = 0;
    for (uint b = lane; b < blocks; b += 32) {
        device const block_q4_0& q = a[r * blocks + b];
        float part = 0;
        for (uint j = 0; j < 16; j++) {
            part += float(int(q.qs[j] & 15) - 8) * x[b * 32 + j];
            part += float(int(q.qs[j] >> 4) - 8) * x[b * 32 + 16 + j];
        }
        sum += float(q.d) * part;
    }
    sum = simd_sum(sum);
    if (lane == 0) y[r] = sum;
}

kernel void q4_0_rows(device const block_q4_0* a, device const float* x, device float* y, constant uint& blocks,
                      uint r [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint b = 0; b < blocks; b++) {
        device const block_q4_0& q = a[r * blocks + b];
        float part = 0;
        for (uint j = 0; j < 16; j++) {
            part += float(int(q.qs[j] & 15) - 8) * x[b * 32 + j];
            part += float(int(q.qs[j] >> 4) - 8) * x[b * 32 + 16 + j];
        }
        sum += float(q.d) * part;
    }
    y[r] = sum;
}

kernel void column_sums(device const T* a, device T* y, constant uint& w, constant uint& h,
                        uint x [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint r = 0; r < h; r++) sum += float(a[r * w + x]);
    y[x] = T(sum);
}

#include <metal_stdlib>
using namespace metal;

// What engines and simulations are full of: activations, copies by strides, pools, filters, waves, sorted pieces.

kernel void gelu(device const T* a, device T* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float x = a[i];
    out[i] = T(0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x))));
}

kernel void copy_by_strides(device const T* a, device T* out, constant int* shape, constant int* strides,
                            constant int& axes, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint left = i;
    int at = 0;
    for (int d = axes - 1; d >= 0; d--) {
        at += int(left % uint(shape[d])) * strides[d];
        left /= uint(shape[d]);
    }
    out[i] = a[at];
}

kernel void max_pool(device const T* a, device T* out, constant int& w, constant int& h, constant int& tow,
                     constant int& toh, uint3 p [[thread_position_in_grid]]) {
    if (int(p.x) >= tow || int(p.y) >= toh) return;
    T most = T(-10000);
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) {
            int x = 2 * int(p.x) + dx, y = 2 * int(p.y) + dy;
            if (x < w && y < h) most = max(most, a[(int(p.z) * h + y) * w + x]);
        }
    out[(int(p.z) * toh + int(p.y)) * tow + int(p.x)] = most;
}

kernel void ell(device const int* columns, device const float* values, device const float* x, device float* y,
                constant uint& each, constant uint& rows, uint r [[thread_position_in_grid]]) {
    if (r >= rows) return;
    float sum = 0;
    for (uint k = 0; k < each; k++) sum += values[k * rows + r] * x[columns[k * rows + r]];
    y[r] = sum;
}

kernel void gauss(device const float* a, constant float* weights, device float* out, constant int& radius,
                  constant int& w, constant int& h, uint2 p [[thread_position_in_grid]]) {
    if (int(p.x) >= w || int(p.y) >= h) return;
    float sum = 0;
    for (int d = -radius; d <= radius; d++) {
        sum += weights[d + radius] * a[int(p.y) * w + clamp(int(p.x) + d, 0, w - 1)];
    }
    out[int(p.y) * w + int(p.x)] = sum;
}

kernel void sort_eights(device float* a, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float v[8];
    for (uint k = 0; k < 8; k++) v[k] = a[i * 8 + k];
    for (uint round = 0; round < 8; round++)
        for (uint k = round & 1; k < 7; k += 2) {
            float low = min(v[k], v[k + 1]);
            v[k + 1] = max(v[k], v[k + 1]);
            v[k] = low;
        }
    for (uint k = 0; k < 8; k++) a[i * 8 + k] = v[k];
}

kernel void edit_distance(device const uchar* words, device const uchar* other, device int* out, constant uint& n,
                          uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    int row[17];
    for (int k = 0; k <= 16; k++) row[k] = k;
    for (int y = 1; y <= 16; y++) {
        int corner = row[0];
        row[0] = y;
        uchar c = words[i * 16 + y - 1];
        for (int x = 1; x <= 16; x++) {
            int above = row[x];
            row[x] = min(min(above, row[x - 1]) + 1, corner + (c != other[x - 1]));
            corner = above;
        }
    }
    out[i] = row[16];
}

kernel void unpack_bits(device const uint* a, device uchar* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = a[i / 32] >> (i % 32) & 1;
}

kernel void pack_bits(device const uchar* a, device uint* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint bits = 0;
    for (uint k = 0; k < 32; k++) bits |= uint(a[i * 32 + k] != 0) << k;
    out[i] = bits;
}

kernel void wave(device const float* now, device const float* before, device float* next, constant uint& w,
                 constant uint& h, uint2 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.x >= w - 1 || p.y >= h - 1) return;
    uint i = p.y * w + p.x;
    float around = now[i - 1] + now[i + 1] + now[i - w] + now[i + w] - 4 * now[i];
    next[i] = 2 * now[i] - before[i] + 0.25f * around;
}

kernel void mix_words(device const uint4* a, device uint* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uint4 v = a[i];
    for (uint round = 0; round < 16; round++) {
        v.x += v.y, v.w = rotate(v.w ^ v.x, 16u);
        v.z += v.w, v.y = rotate(v.y ^ v.z, 12u);
        v.x += v.y, v.w = rotate(v.w ^ v.x, 8u);
        v.z += v.w, v.y = rotate(v.y ^ v.z, 7u);
    }
    out[i] = v.x ^ v.y ^ v.z ^ v.w;
}

kernel void segment_sums(device const float* a, device const int* starts, device float* out, constant uint& n,
                         uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) sum += a[k];
    out[i] = sum;
}

struct Particle {
    packed_float3 place;
    float mass;
    packed_float3 speed;
    float age;
};

kernel void particles(device Particle* p, constant float& dt, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float3 place = p[i].place, speed = p[i].speed;
    speed -= place * (dt / (dot(place, place) + 0.1f));
    p[i].place = place + speed * dt;
    p[i].speed = speed;
    p[i].age += dt;
}

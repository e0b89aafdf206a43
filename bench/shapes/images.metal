#include <metal_stdlib>
using namespace metal;

// Images as libraries of image processing have them: clamped edges, bytes, channels, patches, other sizes.

kernel void im2col(device const T* a, device T* out, constant uint& w, constant uint& h, constant uint& channels,
                   uint3 p [[thread_position_in_grid]]) {
    if (p.x >= w - 2 || p.y >= h - 2) return;
    for (uint k = 0; k < 9; k++) {
        out[((p.z * 9 + k) * (h - 2) + p.y) * (w - 2) + p.x] = a[(p.z * h + p.y + k / 3) * w + p.x + k % 3];
    }
}

kernel void bilinear(device const T* a, device T* out, constant int& w, constant int& h, constant int& tow,
                     constant int& toh, uint2 p [[thread_position_in_grid]]) {
    if (int(p.x) >= tow || int(p.y) >= toh) return;
    float x = clamp((p.x + 0.5f) * w / tow - 0.5f, 0.0f, float(w - 1));
    float y = clamp((p.y + 0.5f) * h / toh - 0.5f, 0.0f, float(h - 1));
    int left = int(x), up = int(y), right = min(left + 1, w - 1), down = min(up + 1, h - 1);
    float fx = x - left, fy = y - up;
    float top = float(a[up * w + left]) * (1 - fx) + float(a[up * w + right]) * fx;
    float low = float(a[down * w + left]) * (1 - fx) + float(a[down * w + right]) * fx;
    out[p.y * tow + p.x] = T(top * (1 - fy) + low * fy);
}

kernel void dilate(device const T* a, device T* out, constant int& w, constant int& h,
                   uint2 p [[thread_position_in_grid]]) {
    if (int(p.x) >= w || int(p.y) >= h) return;
    T most = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int x = clamp(int(p.x) + dx, 0, w - 1), y = clamp(int(p.y) + dy, 0, h - 1);
            most = max(most, a[y * w + x]);
        }
    out[p.y * w + p.x] = most;
}

kernel void sobel(device const float* a, device float* out, constant uint& w, constant uint& h,
                  uint2 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.x >= w - 1 || p.y >= h - 1) return;
    uint i = p.y * w + p.x;
    float nw = a[i - w - 1], n = a[i - w], ne = a[i - w + 1], west = a[i - 1], e = a[i + 1];
    float sw = a[i + w - 1], s = a[i + w], se = a[i + w + 1];
    float gx = ne + 2 * e + se - nw - 2 * west - sw, gy = sw + 2 * s + se - nw - 2 * n - ne;
    out[i] = sqrt(gx * gx + gy * gy);
}

kernel void planes(device const uchar* a, device float* out, constant uint& w, constant uint& h,
                   uint2 p [[thread_position_in_grid]]) {
    if (p.x >= w || p.y >= h) return;
    uint i = p.y * w + p.x;
    for (uint c = 0; c < 3; c++) out[c * w * h + i] = float(a[3 * i + c]) / 255.0f;
}

kernel void upsample(device const T* a, device T* out, constant uint& w, constant uint& h,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.x >= 2 * w || p.y >= 2 * h) return;
    out[p.y * 2 * w + p.x] = a[(p.y / 2) * w + p.x / 2];
}

kernel void depthwise(device const float* a, device const float* weights, device float* out, constant uint& channels,
                      constant uint& w, constant uint& h, uint3 p [[thread_position_in_grid]]) {
    if (p.x >= channels || p.y >= w - 2 || p.z >= h - 2) return;
    float sum = 0;
    for (uint k = 0; k < 9; k++) {
        sum += a[((p.z + k / 3) * w + p.y + k % 3) * channels + p.x] * weights[k * channels + p.x];
    }
    out[(p.z * (w - 2) + p.y) * channels + p.x] = sum;
}

kernel void conv2d(device const float* a, device const float* weights, device float* out, constant int& channels,
                   constant int& w, constant int& h, uint3 p [[thread_position_in_grid]]) {
    if (int(p.x) >= w || int(p.y) >= h) return;
    float sum = 0;
    for (int c = 0; c < channels; c++)
        for (int dy = 0; dy < 3; dy++)
            for (int dx = 0; dx < 3; dx++) {
                int x = int(p.x) + dx - 1, y = int(p.y) + dy - 1;
                if (x >= 0 && x < w && y >= 0 && y < h) {
                    sum += a[(c * h + y) * w + x] * weights[((int(p.z) * channels + c) * 3 + dy) * 3 + dx];
                }
            }
    out[(int(p.z) * h + int(p.y)) * w + int(p.x)] = sum;
}

kernel void life(device const uchar* a, device uchar* out, constant uint& w, constant uint& h,
                 uint2 p [[thread_position_in_grid]]) {
    if (p.x >= w || p.y >= h) return;
    uint left = p.x == 0 ? w - 1 : p.x - 1, right = p.x == w - 1 ? 0 : p.x + 1;
    uint up = p.y == 0 ? h - 1 : p.y - 1, down = p.y == h - 1 ? 0 : p.y + 1;
    uint alive = a[up * w + left] + a[up * w + p.x] + a[up * w + right] + a[p.y * w + left] + a[p.y * w + right] +
                 a[down * w + left] + a[down * w + p.x] + a[down * w + right];
    out[p.y * w + p.x] = alive == 3 || (alive == 2 && a[p.y * w + p.x]);
}

kernel void column_scan(device const T* a, device T* out, constant uint& w, constant uint& h,
                        uint x [[thread_position_in_grid]]) {
    if (x >= w) return;
    T sum = 0;
    for (uint y = 0; y < h; y++) {
        sum += a[y * w + x];
        out[y * w + x] = sum;
    }
}

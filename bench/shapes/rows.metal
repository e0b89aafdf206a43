#include <metal_stdlib>
using namespace metal;

// One thread for each row, as a first version of such a kernel is written.

kernel void cosine_rows(device const T* a, device const T* b, device float* out, constant int& width,
                        constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float both = 0, left = 0, right = 0;
    for (int c = 0; c < width; c++) {
        float x = a[r * width + c], y = b[r * width + c];
        both += x * y;
        left += x * x;
        right += y * y;
    }
    out[r] = both * rsqrt(left * right);
}

kernel void limits_of_rows(device const T* a, device float* out, constant int& width, constant int& rows,
                           uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float least = a[r * width], most = least;
    for (int c = 1; c < width; c++) {
        least = min(least, float(a[r * width + c]));
        most = max(most, float(a[r * width + c]));
    }
    out[2 * r] = least;
    out[2 * r + 1] = most;
}

kernel void greatest_of_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                             uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    T most = a[r * width];
    for (int c = 1; c < width; c++) most = max(most, a[r * width + c]);
    out[r] = most;
}

kernel void unit_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                      uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float sum = 0;
    for (int c = 0; c < width; c++) sum += float(a[r * width + c]) * float(a[r * width + c]);
    float scale = rsqrt(sum / float(width) + 1e-5f);
    for (int c = 0; c < width; c++) out[r * width + c] = T(float(a[r * width + c]) * scale);
}

kernel void scale_rows(device const T* a, device const float* scales, device T* out, constant int& width,
                       constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) out[r * width + c] = T(float(a[r * width + c]) * scales[r]);
}

kernel void quantise_blocks(device const T* a, device char* out, device float* scales,
                            uint b [[thread_position_in_grid]]) {
    float most = 0;
    for (int i = 0; i < 32; i++) most = max(most, abs(float(a[b * 32 + i])));
    float scale = most / 127.0f, back = most > 0 ? 1.0f / scale : 0.0f;
    scales[b] = scale;
    for (int i = 0; i < 32; i++) out[b * 32 + i] = char(rint(float(a[b * 32 + i]) * back));
}

kernel void columns_of_image(device const T* a, device T* out, constant int& height, constant int& width,
                             constant int& channels, uint3 p [[thread_position_in_grid]]) {
    int x = int(p.x), y = int(p.y), c = int(p.z);
    for (int dy = 0; dy < 3; dy++) {
        for (int dx = 0; dx < 3; dx++) {
            int v = y + dy - 1, u = x + dx - 1;
            T found = 0;
            if (v >= 0 && v < height && u >= 0 && u < width) found = a[(c * height + v) * width + u];
            out[(((c * 3 + dy) * 3 + dx) * height + y) * width + x] = found;
        }
    }
}

#include <metal_stdlib>
using namespace metal;

// One thread for each row again: several loops along it, other types, other orders.

kernel void softmax_of_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                            uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    device const T* from = a + r * width;
    device T* to = out + r * width;
    float most = from[0];
    for (int c = 1; c < width; c++) most = max(most, float(from[c]));
    float sum = 0;
    for (int c = 0; c < width; c++) sum += exp(float(from[c]) - most);
    for (int c = 0; c < width; c++) to[c] = T(exp(float(from[c]) - most) / sum);
}

kernel void layernorm_of_rows(device const T* a, device const float* weight, device const float* bias, device T* out,
                              constant int& width, constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float sum = 0, squares = 0;
    for (int c = 0; c < width; c++) {
        float x = a[r * width + c];
        sum += x;
        squares += x * x;
    }
    float mean = sum / width, scale = rsqrt(squares / width - mean * mean + 1e-5f);
    for (int c = 0; c < width; c++) {
        out[r * width + c] = T((float(a[r * width + c]) - mean) * scale * weight[c] + bias[c]);
    }
}

kernel void place_of_greatest(device const T* a, device int* out, constant int& width, constant int& rows,
                              uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    T most = a[r * width];
    int place = 0;
    for (int c = 1; c < width; c++) {
        T x = a[r * width + c];
        if (x > most) {
            most = x;
            place = c;
        }
    }
    out[r] = place;
}

kernel void distances(device const T* a, device const T* point, device float* out, constant int& width,
                      constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float sum = 0;
    for (int c = 0; c < width; c++) {
        float apart = float(a[r * width + c]) - float(point[c]);
        sum += apart * apart;
    }
    out[r] = sqrt(sum);
}

kernel void absolute_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                          uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) out[r * width + c] = abs(a[r * width + c]);
}

kernel void dots_of_bytes(device const T* a, device const T* b, device int* out, constant int& width,
                          constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    int sum = 0;
    for (int c = 0; c < width; c++) sum += int(a[r * width + c]) * int(b[c]);
    out[r] = sum;
}

kernel void add_bias(device const T* a, device const T* bias, device T* out, constant int& width, constant int& rows,
                     uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) out[r * width + c] = a[r * width + c] + bias[c];
}

kernel void reversed_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                          uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) out[r * width + c] = a[r * width + width - 1 - c];
}

kernel void even_rows(device const T* a, device T* out, constant int& width, constant int& rows,
                      uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) out[r * width + c] = a[2 * (r * width + c)];
}

kernel void complex_rows(device const T* a, device const T* b, device T* out, constant int& width, constant int& rows,
                         uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    for (int c = 0; c < width; c++) {
        int at = 2 * (r * width + c);
        T x = a[at], y = a[at + 1], u = b[2 * c], v = b[2 * c + 1];
        out[at] = x * u - y * v;
        out[at + 1] = x * v + y * u;
    }
}

kernel void dots_from_the_end(device const T* a, device const T* b, device float* out, constant int& width,
                              constant int& rows, uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float sum = 0;
    for (int c = 0; c < width; c++) sum += float(a[r * width + c]) * float(b[width - 1 - c]);
    out[r] = sum;
}

kernel void even_sums(device const T* a, device float* out, constant int& width, constant int& rows,
                      uint r [[thread_position_in_grid]]) {
    if (int(r) >= rows) return;
    float sum = 0;
    for (int c = 0; c < width; c++) sum += float(a[2 * (r * width + c)]);
    out[r] = sum;
}

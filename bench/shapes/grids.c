#include <stdint.h>

void stencil5(const T *restrict a, T *restrict b, int w, int h) {
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int i = y * w + x;
            b[i] = (T)0.2 * (a[i] + a[i - 1] + a[i + 1] + a[i - w] + a[i + w]);
        }
}

void stencil7(const T *restrict a, T *restrict b, int w, int h, int d) {
    for (int z = 1; z < d - 1; z++)
        for (int y = 1; y < h - 1; y++)
            for (int x = 1; x < w - 1; x++) {
                int i = (z * h + y) * w + x;
                b[i] = (T)0.25 * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w] + a[i - w * h] + a[i + w * h]) -
                       (T)0.5 * a[i];
            }
}

void transpose(const T *restrict a, T *restrict b, int w, int h) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) b[x * h + y] = a[y * w + x];
}

void blur(const uint8_t *restrict a, uint8_t *restrict b, int w, int h) {
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++)
            for (int c = 0; c < 4; c++) {
                uint16_t sum = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) sum += a[((y + dy) * w + x + dx) * 4 + c];
                b[(y * w + x) * 4 + c] = sum / 9;
            }
}

void half4_neighbours(const _Float16 *restrict a, _Float16 *restrict b, int n) {
    for (int i = 1; i < n - 1; i++)
        for (int c = 0; c < 4; c++)
            b[4 * i + c] =
                (_Float16)0.25 * (a[4 * i - 4 + c] + a[4 * i + 4 + c]) + (_Float16)0.5 * a[4 * i + c];
}

void convolve(const T *restrict a, const T *restrict taps, T *restrict b, int n) {
    for (int i = 0; i < n; i++) {
        T sum = 0;
        for (int k = 0; k < 9; k++) sum += a[i + k] * taps[k];
        b[i] = sum;
    }
}

void fft_step(const float *restrict x, const float *restrict roots, float *restrict y, int half_n, int p) {
    for (int i = 0; i < half_n; i++) {
        int k = i & (p - 1), at = k * (half_n / p), j = ((i - k) << 1) + k;
        float ux = x[2 * i], uy = x[2 * i + 1], vx = x[2 * (i + half_n)], vy = x[2 * (i + half_n) + 1];
        float rx = roots[2 * at], ry = roots[2 * at + 1];
        float tx = vx * rx - vy * ry, ty = vx * ry + vy * rx;
        y[2 * j] = ux + tx;
        y[2 * j + 1] = uy + ty;
        y[2 * (j + p)] = ux - tx;
        y[2 * (j + p) + 1] = uy - ty;
    }
}

void bitonic_step(T *a, int j, int k, int n) {
    for (int i = 0; i < n; i++) {
        int other = i ^ j;
        if (other > i) {
            T x = a[i], y = a[other];
            if ((x > y) == ((i & k) == 0)) {
                a[i] = y;
                a[other] = x;
            }
        }
    }
}

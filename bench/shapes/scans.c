#include <stdint.h>
#include <string.h>

void exclusive(const float *restrict a, float *restrict out, int block, int n) {
    for (int g = 0; g < n / block; g++) {
        float sum = 0;
        for (int i = 0; i < block; i++) {
            out[g * block + i] = sum;
            sum += a[g * block + i];
        }
    }
}

void inclusive(const float *restrict a, float *restrict out, int block, int n) {
    for (int g = 0; g < n / block; g++) {
        float sum = 0;
        for (int i = 0; i < block; i++) {
            sum += a[g * block + i];
            out[g * block + i] = sum;
        }
    }
}

void compact(const int *restrict a, int *restrict out, int *restrict counts, int block, int n) {
    for (int g = 0; g < n / block; g++) {
        int count = 0;
        for (int i = 0; i < block; i++) {
            int v = a[g * block + i];
            if (v > 0) out[g * block + count++] = v;
        }
        counts[g] = count;
    }
}

void bitonic(const float *restrict a, float *restrict out, int block, int n) {
    memcpy(out, a, sizeof(float) * n);
    for (int g = 0; g < n / block; g++) {
        float *v = out + g * block;
        for (int k = 2; k <= block; k *= 2)
            for (int j = k / 2; j > 0; j /= 2)
                for (int t = 0; t < block / 2; t++) {
                    int x = 2 * t - (t & (j - 1)), y = x + j;
                    float p = v[x], q = v[y];
                    if ((p > q) == ((x & k) == 0)) {
                        v[x] = q;
                        v[y] = p;
                    }
                }
    }
}

void fft(const float *restrict a, const float *restrict roots, float *restrict out, int block, int n) {
    float v[2][4096];
    int half = block / 2;
    for (int g = 0; g < n / block; g++) {
        int now = 0;
        memcpy(v[0], a + 2 * g * block, sizeof(float) * 2 * block);
        for (int p = 1; p <= half; p *= 2) {
            float *restrict to = v[1 - now], *restrict from = v[now];
            for (int t = 0; t < half; t++) {
                int k = t & (p - 1), j = ((t - k) << 1) + k, r = k * (half / p);
                float yx = from[2 * (t + half)], yy = from[2 * (t + half) + 1];
                float zx = yx * roots[2 * r] - yy * roots[2 * r + 1], zy = yx * roots[2 * r + 1] + yy * roots[2 * r];
                to[2 * j] = from[2 * t] + zx;
                to[2 * j + 1] = from[2 * t + 1] + zy;
                to[2 * (j + p)] = from[2 * t] - zx;
                to[2 * (j + p) + 1] = from[2 * t + 1] - zy;
            }
            now = 1 - now;
        }
        memcpy(out + 2 * g * block, v[now], sizeof(float) * 2 * block);
    }
}

#include <math.h>
#include <stdint.h>

void im2col(const T *restrict a, T *restrict out, int w, int h, int channels) {
    for (int c = 0; c < channels; c++)
        for (int k = 0; k < 9; k++)
            for (int y = 0; y < h - 2; y++)
                for (int x = 0; x < w - 2; x++)
                    out[((c * 9 + k) * (h - 2) + y) * (w - 2) + x] = a[(c * h + y + k / 3) * w + x + k % 3];
}

static float cut(float x, float most) { return x < 0 ? 0 : x > most ? most : x; }

void bilinear(const T *restrict a, T *restrict out, int w, int h, int tow, int toh) {
    for (int py = 0; py < toh; py++)
        for (int px = 0; px < tow; px++) {
            float x = cut((px + 0.5f) * w / tow - 0.5f, w - 1), y = cut((py + 0.5f) * h / toh - 0.5f, h - 1);
            int left = (int)x, up = (int)y, right = left + 1 < w ? left + 1 : w - 1, down = up + 1 < h ? up + 1 : h - 1;
            float fx = x - left, fy = y - up;
            float top = (float)a[up * w + left] * (1 - fx) + (float)a[up * w + right] * fx;
            float low = (float)a[down * w + left] * (1 - fx) + (float)a[down * w + right] * fx;
            out[py * tow + px] = (T)(top * (1 - fy) + low * fy);
        }
}

static int within(int x, int n) { return x < 0 ? 0 : x >= n ? n - 1 : x; }

void dilate(const T *restrict a, T *restrict out, int w, int h) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            T most = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    T v = a[within(y + dy, h) * w + within(x + dx, w)];
                    most = v > most ? v : most;
                }
            out[y * w + x] = most;
        }
}

void sobel(const float *restrict a, float *restrict out, int w, int h) {
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int i = y * w + x;
            float gx = a[i - w + 1] + 2 * a[i + 1] + a[i + w + 1] - a[i - w - 1] - 2 * a[i - 1] - a[i + w - 1];
            float gy = a[i + w - 1] + 2 * a[i + w] + a[i + w + 1] - a[i - w - 1] - 2 * a[i - w] - a[i - w + 1];
            out[i] = sqrtf(gx * gx + gy * gy);
        }
}

void planes(const uint8_t *restrict a, float *restrict out, int w, int h) {
    for (int i = 0; i < w * h; i++)
        for (int c = 0; c < 3; c++) out[c * w * h + i] = (float)a[3 * i + c] / 255.0f;
}

void upsample(const T *restrict a, T *restrict out, int w, int h) {
    for (int y = 0; y < 2 * h; y++)
        for (int x = 0; x < 2 * w; x++) out[y * 2 * w + x] = a[(y / 2) * w + x / 2];
}

void depthwise(const float *restrict a, const float *restrict weights, float *restrict out, int channels, int w, int h) {
    for (int y = 0; y < h - 2; y++)
        for (int x = 0; x < w - 2; x++)
            for (int c = 0; c < channels; c++) {
                float sum = 0;
                for (int k = 0; k < 9; k++)
                    sum += a[((y + k / 3) * w + x + k % 3) * channels + c] * weights[k * channels + c];
                out[(y * (w - 2) + x) * channels + c] = sum;
            }
}

void conv2d(const float *restrict a, const float *restrict weights, float *restrict out, int channels, int w, int h,
            int filters) {
    for (int f = 0; f < filters; f++)
        for (int py = 0; py < h; py++)
            for (int px = 0; px < w; px++) {
                float sum = 0;
                for (int c = 0; c < channels; c++)
                    for (int dy = 0; dy < 3; dy++)
                        for (int dx = 0; dx < 3; dx++) {
                            int x = px + dx - 1, y = py + dy - 1;
                            if (x >= 0 && x < w && y >= 0 && y < h)
                                sum += a[(c * h + y) * w + x] * weights[((f * channels + c) * 3 + dy) * 3 + dx];
                        }
                out[(f * h + py) * w + px] = sum;
            }
}

void life(const uint8_t *restrict a, uint8_t *restrict out, int w, int h) {
    for (int y = 0; y < h; y++) {
        int up = y == 0 ? h - 1 : y - 1, down = y == h - 1 ? 0 : y + 1;
        for (int x = 0; x < w; x++) {
            int left = x == 0 ? w - 1 : x - 1, right = x == w - 1 ? 0 : x + 1;
            int alive = a[up * w + left] + a[up * w + x] + a[up * w + right] + a[y * w + left] + a[y * w + right] +
                        a[down * w + left] + a[down * w + x] + a[down * w + right];
            out[y * w + x] = alive == 3 || (alive == 2 && a[y * w + x]);
        }
    }
}

void column_scan(const T *restrict a, T *restrict out, int w, int h) {
    for (int x = 0; x < w; x++) out[x] = a[x];
    for (int y = 1; y < h; y++)
        for (int x = 0; x < w; x++) out[y * w + x] = out[(y - 1) * w + x] + a[y * w + x];
}

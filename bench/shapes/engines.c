#include <math.h>
#include <stdint.h>

void gelu(const T *restrict a, T *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        float x = a[i];
        out[i] = (T)(0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))));
    }
}

void copy_by_strides(const T *restrict a, T *restrict out, const int *restrict shape, const int *restrict strides, int axes,
                     int n) {
    for (int i = 0; i < n; i++) {
        unsigned left = i;
        int at = 0;
        for (int d = axes - 1; d >= 0; d--) {
            at += (int)(left % (unsigned)shape[d]) * strides[d];
            left /= (unsigned)shape[d];
        }
        out[i] = a[at];
    }
}

void max_pool(const T *restrict a, T *restrict out, int w, int h, int tow, int toh, int channels) {
    for (int c = 0; c < channels; c++)
        for (int py = 0; py < toh; py++)
            for (int px = 0; px < tow; px++) {
                T most = (T)-10000;
                for (int dy = 0; dy < 3; dy++)
                    for (int dx = 0; dx < 3; dx++) {
                        int x = 2 * px + dx, y = 2 * py + dy;
                        if (x < w && y < h) {
                            T v = a[(c * h + y) * w + x];
                            most = v > most ? v : most;
                        }
                    }
                out[(c * toh + py) * tow + px] = most;
            }
}

void ell(const int *restrict columns, const float *restrict values, const float *restrict x, float *restrict y, int each,
         int rows) {
    for (int r = 0; r < rows; r++) y[r] = 0;
    for (int k = 0; k < each; k++)
        for (int r = 0; r < rows; r++) y[r] += values[k * rows + r] * x[columns[k * rows + r]];
}

void gauss(const float *restrict a, const float *restrict weights, float *restrict out, int radius, int w, int h) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0;
            for (int d = -radius; d <= radius; d++) {
                int at = x + d < 0 ? 0 : x + d >= w ? w - 1 : x + d;
                sum += weights[d + radius] * a[y * w + at];
            }
            out[y * w + x] = sum;
        }
}

void sort_eights(float *restrict a, int n) {
    for (int i = 0; i < n; i++) {
        float *v = a + 8 * i;
        for (int round = 0; round < 8; round++)
            for (int k = round & 1; k < 7; k += 2) {
                float low = v[k] < v[k + 1] ? v[k] : v[k + 1];
                v[k + 1] = v[k] < v[k + 1] ? v[k + 1] : v[k];
                v[k] = low;
            }
    }
}

void edit_distance(const uint8_t *restrict words, const uint8_t *restrict other, int *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        int row[17];
        for (int k = 0; k <= 16; k++) row[k] = k;
        for (int y = 1; y <= 16; y++) {
            int corner = row[0];
            row[0] = y;
            for (int x = 1; x <= 16; x++) {
                int above = row[x], least = above < row[x - 1] ? above : row[x - 1];
                int changed = corner + (words[i * 16 + y - 1] != other[x - 1]);
                row[x] = least + 1 < changed ? least + 1 : changed;
                corner = above;
            }
        }
        out[i] = row[16];
    }
}

void unpack_bits(const uint32_t *restrict a, uint8_t *restrict out, int n) {
    for (int i = 0; i < n; i++) out[i] = a[i / 32] >> (i % 32) & 1;
}

void pack_bits(const uint8_t *restrict a, uint32_t *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t bits = 0;
        for (int k = 0; k < 32; k++) bits |= (uint32_t)(a[i * 32 + k] != 0) << k;
        out[i] = bits;
    }
}

void wave(const float *restrict now, const float *restrict before, float *restrict next, int w, int h) {
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int i = y * w + x;
            float around = now[i - 1] + now[i + 1] + now[i - w] + now[i + w] - 4 * now[i];
            next[i] = 2 * now[i] - before[i] + 0.25f * around;
        }
}

static uint32_t turned(uint32_t x, int n) { return x << n | x >> (32 - n); }

void mix_words(const uint32_t *restrict a, uint32_t *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t x = a[4 * i], y = a[4 * i + 1], z = a[4 * i + 2], w = a[4 * i + 3];
        for (int round = 0; round < 16; round++) {
            x += y, w = turned(w ^ x, 16), z += w, y = turned(y ^ z, 12);
            x += y, w = turned(w ^ x, 8), z += w, y = turned(y ^ z, 7);
        }
        out[i] = x ^ y ^ z ^ w;
    }
}

void segment_sums(const float *restrict a, const int *restrict starts, float *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++) sum += a[k];
        out[i] = sum;
    }
}

void particles(float *restrict p, const float *restrict dt, int n) {
    for (int i = 0; i < n; i++) {
        float *q = p + 8 * i, x = q[0], y = q[1], z = q[2], pull = *dt / (x * x + y * y + z * z + 0.1f);
        q[4] -= x * pull, q[5] -= y * pull, q[6] -= z * pull;
        q[0] = x + q[4] * *dt, q[1] = y + q[5] * *dt, q[2] = z + q[6] * *dt;
        q[7] += *dt;
    }
}

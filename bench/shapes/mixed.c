#include <math.h>
#include <stdint.h>

void table_of_bytes(const uint8_t *restrict a, const uint8_t *restrict table, uint8_t *restrict out, int n) {
    for (int i = 0; i < n; i++) out[i] = table[a[i]];
}

void transform_points(const float *restrict a, const float *restrict m, float *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        float x = a[4 * i], y = a[4 * i + 1], z = a[4 * i + 2], w = a[4 * i + 3];
        for (int k = 0; k < 4; k++) out[4 * i + k] = m[4 * k] * x + m[4 * k + 1] * y + m[4 * k + 2] * z + m[4 * k + 3] * w;
    }
}

void nearest_point(const float *restrict a, const float *restrict centres, int *restrict out, int count, int n) {
    for (int i = 0; i < n; i++) {
        float least = INFINITY;
        int best = 0;
        for (int c = 0; c < count; c++) {
            float x = a[3 * i] - centres[3 * c], y = a[3 * i + 1] - centres[3 * c + 1];
            float z = a[3 * i + 2] - centres[3 * c + 2], d = x * x + y * y + z * z;
            if (d < least) least = d, best = c;
        }
        out[i] = best;
    }
}

void permute_axes(const T *restrict a, T *restrict out, int x, int y, int z) {
    for (int r = 0; r < y; r++)
        for (int j = 0; j < x; j++)
            for (int k = 0; k < z; k++) out[(r * x + j) * z + k] = a[(j * y + r) * z + k];
}

void votes(const uint8_t *restrict a, uint8_t *restrict out, int each, int n) {
    for (int i = 0; i < n; i++) {
        uint16_t counts[16] = {0};
        for (int k = 0; k < each; k++) counts[a[i * each + k] & 15]++;
        int best = 0;
        for (int k = 1; k < 16; k++)
            if (counts[k] > counts[best]) best = k;
        out[i] = best;
    }
}

void block_total(const float *restrict a, float *restrict out, int n, int block) {
    for (int first = 0; first < n; first += block) {
        float sum = 0;
        for (int i = first; i < (first + block < n ? first + block : n); i++) sum += a[i];
        *out += sum;
    }
}

typedef struct {
    _Float16 d;
    uint8_t qs[16];
} block_q4;

void dequantise(const block_q4 *restrict a, T *restrict out, int blocks) {
    for (int i = 0; i < blocks; i++) {
        float d = a[i].d;
        for (int k = 0; k < 16; k++) {
            out[i * 32 + k] = (T)(d * ((float)(a[i].qs[k] & 15) - 8.0f));
            out[i * 32 + 16 + k] = (T)(d * ((float)(a[i].qs[k] >> 4) - 8.0f));
        }
    }
}

void pair_distances(const float *restrict a, const float *restrict b, float *restrict out, int width, int n, int m) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < width; k++) {
                float apart = a[i * width + k] - b[j * width + k];
                sum += apart * apart;
            }
            out[i * m + j] = sqrtf(sum);
        }
}

void bits_apart(const uint32_t *restrict a, const uint32_t *restrict key, uint32_t *restrict out, int words, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < words; k++) sum += __builtin_popcount(a[i * words + k] ^ key[k]);
        out[i] = sum;
    }
}

static float mixed(float a, float b, float s) { return a + (b - a) * s; }

void value_noise(const float *restrict a, const uint8_t *restrict places, float *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        float cx = floorf(a[2 * i]), cy = floorf(a[2 * i + 1]), fx = a[2 * i] - cx, fy = a[2 * i + 1] - cy;
        int x = (int)cx & 255, y = (int)cy & 255;
        float sx = fx * fx * (3.0f - 2.0f * fx), sy = fy * fy * (3.0f - 2.0f * fy);
        float nw = places[(places[x] + y) & 255], ne = places[(places[(x + 1) & 255] + y) & 255];
        float sw = places[(places[x] + y + 1) & 255], se = places[(places[(x + 1) & 255] + y + 1) & 255];
        out[i] = mixed(mixed(nw, ne, sx), mixed(sw, se, sx), sy) / 255.0f;
    }
}

void collatz(const uint32_t *restrict a, uint32_t *restrict out, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t x = a[i], steps = 0;
        while (x > 1) {
            x = x & 1 ? 3 * x + 1 : x / 2;
            steps++;
        }
        out[i] = steps;
    }
}

void lower_bound(const T *restrict sorted, const T *restrict wanted, uint32_t *restrict out, int count, int n) {
    for (int i = 0; i < n; i++) {
        int low = 0, high = count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle] < wanted[i]) low = middle + 1;
            else high = middle;
        }
        out[i] = low;
    }
}

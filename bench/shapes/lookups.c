#include <stdint.h>

void scatter_add(const T *restrict a, const int *restrict at, T *restrict out, int n) {
    for (int i = 0; i < n; i++) out[at[i]] += a[i];
}

void embed(const T *restrict table, const int *restrict rows, T *restrict out, int width, int count) {
    for (int r = 0; r < count; r++)
        for (int i = 0; i < 4 * width; i++) out[r * 4 * width + i] = table[rows[r] * 4 * width + i];
}

void find_word(const uint8_t *restrict a, uint8_t *restrict out, int n) {
    for (int i = 0; i + 4 <= n; i++)
        out[i] = a[i] == 'w' && a[i + 1] == 'o' && a[i + 2] == 'r' && a[i + 3] == 'd';
}

void rotate_pairs(const T *restrict a, const float *restrict turns, T *restrict out, int width, int heads, int tokens) {
    for (int z = 0; z < tokens; z++)
        for (int y = 0; y < heads; y++)
            for (int i = 0; i < width / 2; i++) {
                int at = (z * heads + y) * width + 2 * i, turn = (z * (width / 2) + i) * 2;
                float c = turns[turn], s = turns[turn + 1], x = a[at], v = a[at + 1];
                out[at] = x * c - v * s;
                out[at + 1] = x * s + v * c;
            }
}

void running_sums(const uint8_t *restrict a, uint32_t *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        uint32_t sum = 0;
        for (int i = 0; i < width; i++) {
            sum += a[r * width + i];
            out[r * width + i] = sum;
        }
    }
}

void mean2x2(const T *restrict a, T *restrict out, int w, int h) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int at = 4 * y * w + 2 * x;
            out[y * w + x] = (a[at] + a[at + 1] + a[at + 2 * w] + a[at + 2 * w + 1]) * (T)0.25;
        }
}

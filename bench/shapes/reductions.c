#include <math.h>
#include <stdint.h>

void block_sums(const T *restrict a, float *restrict out, int block, int n) {
    for (int g = 0; g < n / block; g++) {
        float sum = 0;
        for (int i = 0; i < block; i++) sum += (float)a[g * block + i];
        out[g] = sum;
    }
}

void argmax_rows(const float *restrict a, int *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float best = a[r * width];
        int where = 0;
        for (int c = 1; c < width; c++)
            if (a[r * width + c] > best) {
                best = a[r * width + c];
                where = c;
            }
        out[r] = where;
    }
}

void softmax_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float most = a[r * width], sum = 0;
        for (int c = 1; c < width; c++) most = fmaxf(most, a[r * width + c]);
        for (int c = 0; c < width; c++) sum += expf((float)a[r * width + c] - most);
        float scale = 1.0f / sum;
        for (int c = 0; c < width; c++) out[r * width + c] = (T)(expf((float)a[r * width + c] - most) * scale);
    }
}

void rms_norm(const T *restrict a, const T *restrict w, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < width; c++) sum += (float)a[r * width + c] * (float)a[r * width + c];
        float scale = 1.0f / sqrtf(sum / (float)width + 1e-5f);
        for (int c = 0; c < width; c++) out[r * width + c] = (T)((float)a[r * width + c] * scale * (float)w[c]);
    }
}

void histogram(const T *restrict a, uint32_t *restrict bins, int n) {
    for (int i = 0; i < n; i++) bins[(uint32_t)a[i] & 255]++;
}

void histogram_tg(const T *restrict a, uint32_t *restrict bins, int each, int n) {
    histogram(a, bins, n);
}

void atomic_total(const int *restrict a, int *restrict out, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += a[i];
    *out += sum;
}

void histogram_cut(const float *restrict a, uint32_t *restrict bins, int n) {
    for (int i = 0; i < n; i++) {
        int bin = (int)((a[i] + 1.0f) * 32.0f);
        bins[bin < 0 ? 0 : bin > 63 ? 63 : bin]++;
    }
}

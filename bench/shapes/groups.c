#include <math.h>
#include <stdint.h>

void softmax_simd(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float most = a[r * width], sum = 0;
        for (int i = 1; i < width; i++) most = (float)a[r * width + i] > most ? (float)a[r * width + i] : most;
        for (int i = 0; i < width; i++) sum += expf((float)a[r * width + i] - most);
        for (int i = 0; i < width; i++) out[r * width + i] = (T)(expf((float)a[r * width + i] - most) / sum);
    }
}

void layernorm_simd(const T *restrict a, const float *restrict weight, const float *restrict bias, T *restrict out,
                    int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0, squares = 0;
        for (int i = 0; i < width; i++) {
            float x = a[r * width + i];
            sum += x;
            squares += x * x;
        }
        float mean = sum / width, scale = 1 / sqrtf(squares / width - mean * mean + 1e-5f);
        for (int i = 0; i < width; i++)
            out[r * width + i] = (T)(((float)a[r * width + i] - mean) * scale * weight[i] + bias[i]);
    }
}

void quantise_rows(const T *restrict a, int8_t *restrict out, float *restrict scales, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float most = 0;
        for (int i = 0; i < width; i++) most = fabsf((float)a[r * width + i]) > most ? fabsf((float)a[r * width + i]) : most;
        float inverse = most > 0 ? 127.0f / most : 0;
        for (int i = 0; i < width; i++) out[r * width + i] = (int8_t)rintf((float)a[r * width + i] * inverse);
        scales[r] = most / 127.0f;
    }
}

void gemv_simd4(const T *restrict a, const float *restrict x, float *restrict y, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < width; i++) sum += (float)a[r * width + i] * x[i];
        y[r] = sum;
    }
}

void logsumexp(const T *restrict a, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float most = a[r * width], sum = 0;
        for (int i = 1; i < width; i++) most = (float)a[r * width + i] > most ? (float)a[r * width + i] : most;
        for (int i = 0; i < width; i++) sum += expf((float)a[r * width + i] - most);
        out[r] = most + logf(sum);
    }
}

void dot_atomic(const T *restrict a, const T *restrict b, float *restrict out, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += (float)a[i] * (float)b[i];
    *out += sum;
}

void scan_simd(const float *restrict a, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < width; i++) {
            sum += a[r * width + i];
            out[r * width + i] = sum;
        }
    }
}

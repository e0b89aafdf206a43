#include <stdint.h>

void matmul(const T *restrict a, const T *restrict b, T *restrict c, int n, int k) {
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int i = 0; i < k; i++) sum += (float)a[y * k + i] * (float)b[i * n + x];
            c[y * n + x] = (T)sum;
        }
}

void product(const float *restrict a, const float *restrict b, float *restrict c, int n) {
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int i = 0; i < n; i++) sum += a[y * n + i] * b[i * n + x];
            c[y * n + x] = sum;
        }
}

void product_nt(const float *restrict a, const float *restrict b, float *restrict c, int n) {
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int i = 0; i < n; i++) sum += a[y * n + i] * b[x * n + i];
            c[y * n + x] = sum;
        }
}

void batched(const float *restrict a, const float *restrict b, float *restrict c, int count) {
    for (int m = 0; m < count; m++)
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) {
                float sum = 0;
                for (int i = 0; i < 8; i++) sum += a[m * 64 + y * 8 + i] * b[m * 64 + i * 8 + x];
                c[m * 64 + y * 8 + x] = sum;
            }
}

void matvec(const T *restrict a, const T *restrict x, T *restrict y, int k, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < k; i++) sum += (float)a[r * k + i] * (float)x[i];
        y[r] = (T)sum;
    }
}

void csr(const int *restrict starts, const int *restrict columns, const float *restrict values,
         const float *restrict x, float *restrict y, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = starts[r]; i < starts[r + 1]; i++) sum += values[i] * x[columns[i]];
        y[r] = sum;
    }
}

typedef struct {
    _Float16 d;
    uint8_t qs[16];
} block_q4_0;

void q4_0(const block_q4_0 *restrict a, const float *restrict x, float *restrict y, int blocks, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int b = 0; b < blocks; b++) {
            const block_q4_0 *q = a + r * blocks + b;
            float part = 0;
            for (int j = 0; j < 16; j++) {
                part += (float)((q->qs[j] & 15) - 8) * x[b * 32 + j];
                part += (float)((q->qs[j] >> 4) - 8) * x[b * 32 + 16 + j];
            }
            sum += (float)q->d * part;
        }
        y[r] = sum;
    }
}

void column_sums(const T *restrict a, T *restrict y, int w, int h) {
    for (int x = 0; x < w; x++) {
        float sum = 0;
        for (int r = 0; r < h; r++) sum += (float)a[r * w + x];
        y[x] = (T)sum;
    }
}

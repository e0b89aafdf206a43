#include <math.h>
#include <stdint.h>

void softmax_of_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        const T *from = a + r * width;
        T *to = out + r * width;
        float most = from[0];
        for (int c = 1; c < width; c++) most = from[c] > most ? (float)from[c] : most;
        float sum = 0;
        for (int c = 0; c < width; c++) sum += expf((float)from[c] - most);
        for (int c = 0; c < width; c++) to[c] = (T)(expf((float)from[c] - most) / sum);
    }
}

void layernorm_of_rows(const T *restrict a, const float *restrict weight, const float *restrict bias, T *restrict out,
                       int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0, squares = 0;
        for (int c = 0; c < width; c++) {
            float x = a[r * width + c];
            sum += x;
            squares += x * x;
        }
        float mean = sum / width, scale = 1.0f / sqrtf(squares / width - mean * mean + 1e-5f);
        for (int c = 0; c < width; c++)
            out[r * width + c] = (T)(((float)a[r * width + c] - mean) * scale * weight[c] + bias[c]);
    }
}

void place_of_greatest(const T *restrict a, int *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
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
}

void distances(const T *restrict a, const T *restrict point, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < width; c++) {
            float apart = (float)a[r * width + c] - (float)point[c];
            sum += apart * apart;
        }
        out[r] = sqrtf(sum);
    }
}

void absolute_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) out[r * width + c] = a[r * width + c] < 0 ? -a[r * width + c] : a[r * width + c];
}

void dots_of_bytes(const T *restrict a, const T *restrict b, int *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        int sum = 0;
        for (int c = 0; c < width; c++) sum += (int)a[r * width + c] * (int)b[c];
        out[r] = sum;
    }
}

void add_bias(const T *restrict a, const T *restrict bias, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) out[r * width + c] = a[r * width + c] + bias[c];
}

void reversed_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) out[r * width + c] = a[r * width + width - 1 - c];
}

void even_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) out[r * width + c] = a[2 * (r * width + c)];
}

void complex_rows(const T *restrict a, const T *restrict b, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) {
            int at = 2 * (r * width + c);
            T x = a[at], y = a[at + 1], u = b[2 * c], v = b[2 * c + 1];
            out[at] = x * u - y * v;
            out[at + 1] = x * v + y * u;
        }
}

void dots_from_the_end(const T *restrict a, const T *restrict b, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < width; c++) sum += (float)a[r * width + c] * (float)b[width - 1 - c];
        out[r] = sum;
    }
}

void even_sums(const T *restrict a, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < width; c++) sum += (float)a[2 * (r * width + c)];
        out[r] = sum;
    }
}

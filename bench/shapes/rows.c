#include <math.h>
#include <stdint.h>

void cosine_rows(const T *restrict a, const T *restrict b, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float both = 0, left = 0, right = 0;
        for (int c = 0; c < width; c++) {
            float x = a[r * width + c], y = b[r * width + c];
            both += x * y;
            left += x * x;
            right += y * y;
        }
        out[r] = both / sqrtf(left * right);
    }
}

void limits_of_rows(const T *restrict a, float *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float least = a[r * width], most = least;
        for (int c = 1; c < width; c++) {
            float x = a[r * width + c];
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        out[2 * r] = least;
        out[2 * r + 1] = most;
    }
}

void greatest_of_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        T most = a[r * width];
        for (int c = 1; c < width; c++) most = a[r * width + c] > most ? a[r * width + c] : most;
        out[r] = most;
    }
}

void unit_rows(const T *restrict a, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < width; c++) sum += (float)a[r * width + c] * (float)a[r * width + c];
        float scale = 1.0f / sqrtf(sum / (float)width + 1e-5f);
        for (int c = 0; c < width; c++) out[r * width + c] = (T)((float)a[r * width + c] * scale);
    }
}

void scale_rows(const T *restrict a, const float *restrict scales, T *restrict out, int width, int rows) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < width; c++) out[r * width + c] = (T)((float)a[r * width + c] * scales[r]);
}

void quantise_blocks(const T *restrict a, int8_t *restrict out, float *restrict scales, int blocks) {
    for (int b = 0; b < blocks; b++) {
        float most = 0;
        for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf((float)a[b * 32 + i]));
        float scale = most / 127.0f, back = most > 0 ? 1.0f / scale : 0.0f;
        scales[b] = scale;
        for (int i = 0; i < 32; i++) out[b * 32 + i] = (int8_t)rintf((float)a[b * 32 + i] * back);
    }
}

void columns_of_image(const T *restrict a, T *restrict out, int height, int width, int channels) {
    for (int c = 0; c < channels; c++)
        for (int dy = 0; dy < 3; dy++)
            for (int dx = 0; dx < 3; dx++)
                for (int y = 0; y < height; y++)
                    for (int x = 0; x < width; x++) {
                        int v = y + dy - 1, u = x + dx - 1;
                        T found = 0;
                        if (v >= 0 && v < height && u >= 0 && u < width) found = a[(c * height + v) * width + u];
                        out[(((c * 3 + dy) * 3 + dx) * height + y) * width + x] = found;
                    }
}

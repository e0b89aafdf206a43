#include <math.h>
#include <stdint.h>

void add(const T *restrict a, const T *restrict b, T *restrict c, int n) {
    for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
}

void add2d(const T *restrict a, const T *restrict b, T *restrict c, int w, int h) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) c[y * w + x] = a[y * w + x] + b[y * w + x];
}

void saxpy(const T *restrict x, T *restrict y, int n) {
    for (int i = 0; i < n; i++) y[i] = (T)0.5 * x[i] + y[i];
}

void silu(const T *restrict x, T *restrict y, int n) {
    for (int i = 0; i < n; i++) {
        float v = x[i];
        y[i] = (T)(v / (1.0f + expf(-v)));
    }
}

static inline float normal_cdf(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float s = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float c = 0.39894228f * expf(-0.5f * d * d) * s;
    return d > 0 ? 1.0f - c : c;
}

void black_scholes(const float *restrict price, const float *restrict strike, const float *restrict years,
                   float *restrict call, float *restrict put, int n) {
    const float rate = 0.02f, sigma = 0.3f;
    for (int i = 0; i < n; i++) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * sigma * sigma) * t) / (sigma * root);
        float d2 = d1 - sigma * root;
        float worth = x * expf(-rate * t);
        float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
        call[i] = s * n1 - worth * n2;
        put[i] = worth * (1.0f - n2) - s * (1.0f - n1);
    }
}

void random_(const uint32_t *restrict seed, float *restrict out, int rounds, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t s = seed[i];
        float sum = 0;
        for (int r = 0; r < rounds; r++) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            sum += (float)(s >> 8) * (1.0f / 16777216.0f);
        }
        out[i] = sum;
    }
}

void mandelbrot(int *restrict out, int w, int h, int most) {
    for (int py = 0; py < h; py++)
        for (int px = 0; px < w; px++) {
            float cx = -2.0f + 3.0f * (float)px / (float)w, cy = -1.5f + 3.0f * (float)py / (float)h;
            float x = 0, y = 0;
            int n = 0;
            while (n < most && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
                n++;
            }
            out[py * w + px] = n;
        }
}

void nbody(const float *restrict bodies, float *restrict pull, int n) {
    for (int i = 0; i < n; i++) {
        float hx = bodies[4 * i], hy = bodies[4 * i + 1], hz = bodies[4 * i + 2], sx = 0, sy = 0, sz = 0;
        for (int j = 0; j < n; j++) {
            float dx = bodies[4 * j] - hx, dy = bodies[4 * j + 1] - hy, dz = bodies[4 * j + 2] - hz;
            float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float k = bodies[4 * j + 3] * r * r * r;
            sx += dx * k;
            sy += dy * k;
            sz += dz * k;
        }
        pull[4 * i] = sx;
        pull[4 * i + 1] = sy;
        pull[4 * i + 2] = sz;
        pull[4 * i + 3] = 0;
    }
}

void gather_rows(const T *restrict table, const int *restrict rows, T *restrict out, int width, int count) {
    for (int r = 0; r < count; r++)
        for (int x = 0; x < width; x++) out[r * width + x] = table[rows[r] * width + x];
}

void gray(const uint8_t *restrict a, uint8_t *restrict b, int n) {
    for (int i = 0; i < n; i++) b[i] = (77 * a[4 * i] + 150 * a[4 * i + 1] + 29 * a[4 * i + 2]) >> 8;
}

void brighten(const uint8_t *restrict a, uint8_t *restrict b, int n) {
    for (int i = 0; i < 4 * n; i++) {
        float v = a[i] * 1.25f;
        b[i] = v < 255 ? v : 255;
    }
}

void length3(const float *restrict a, float *restrict b, int n) {
    for (int i = 0; i < n; i++)
        b[i] = sqrtf(a[4 * i] * a[4 * i] + a[4 * i + 1] * a[4 * i + 1] + a[4 * i + 2] * a[4 * i + 2]);
}

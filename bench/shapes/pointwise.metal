#include <metal_stdlib>
using namespace metal;

kernel void add(device const T* a, device const T* b, device T* c, constant uint& n,
                uint i [[thread_position_in_grid]]) {
    if (i < n) c[i] = a[i] + b[i];
}

kernel void add2d(device const T* a, device const T* b, device T* c, constant uint& w, constant uint& h,
                  uint2 p [[thread_position_in_grid]]) {
    if (p.x < w && p.y < h) c[p.y * w + p.x] = a[p.y * w + p.x] + b[p.y * w + p.x];
}

kernel void saxpy(device const T* x, device T* y, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = T(0.5) * x[i] + y[i];
}

kernel void silu(device const T* x, device T* y, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    y[i] = T(v / (1.0f + exp(-v)));
}

static float normal_cdf(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float s = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float c = 0.39894228f * exp(-0.5f * d * d) * s;
    return d > 0 ? 1.0f - c : c;
}

kernel void black_scholes(device const float* price, device const float* strike, device const float* years,
                          device float* call, device float* put, uint i [[thread_position_in_grid]]) {
    const float rate = 0.02f, sigma = 0.3f;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * sigma * sigma) * t) / (sigma * root);
    float d2 = d1 - sigma * root;
    float worth = x * exp(-rate * t);
    float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    call[i] = s * n1 - worth * n2;
    put[i] = worth * (1.0f - n2) - s * (1.0f - n1);
}

kernel void random(device const uint* seed, device float* out, constant uint& rounds,
                   uint i [[thread_position_in_grid]]) {
    uint s = seed[i];
    float sum = 0;
    for (uint r = 0; r < rounds; r++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        sum += float(s >> 8) * (1.0f / 16777216.0f);
    }
    out[i] = sum;
}

kernel void mandelbrot(device int* out, constant uint& w, constant uint& h, constant uint& most,
                       uint2 p [[thread_position_in_grid]]) {
    float cx = -2.0f + 3.0f * float(p.x) / float(w), cy = -1.5f + 3.0f * float(p.y) / float(h);
    float x = 0, y = 0;
    uint n = 0;
    while (n < most && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[p.y * w + p.x] = int(n);
}

kernel void nbody(device const float4* bodies, device float4* pull, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    float3 here = bodies[i].xyz, sum = 0;
    for (uint j = 0; j < n; j++) {
        float4 b = bodies[j];
        float3 d = b.xyz - here;
        float r = rsqrt(dot(d, d) + 0.01f);
        sum += d * (b.w * r * r * r);
    }
    pull[i] = float4(sum, 0);
}

kernel void gather_rows(device const T* table, device const int* rows, device T* out, constant uint& width,
                        uint2 p [[thread_position_in_grid]]) {
    out[p.y * width + p.x] = table[uint(rows[p.y]) * width + p.x];
}

kernel void gather_flat(device const T* table, device const int* rows, device T* out, constant uint& width,
                        uint i [[thread_position_in_grid]]) {
    out[i] = table[uint(rows[i / width]) * width + i % width];
}

kernel void gray(device const uchar4* a, device uchar* b, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    uchar4 v = a[i];
    b[i] = uchar((77 * v.x + 150 * v.y + 29 * v.z) >> 8);
}

kernel void brighten(device const uchar4* a, device uchar4* b, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) b[i] = uchar4(min(float4(a[i]) * 1.25f, 255.0f));
}

kernel void length3(device const float3* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) b[i] = length(a[i]);
}

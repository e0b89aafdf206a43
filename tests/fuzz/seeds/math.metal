#include <metal_stdlib>
using namespace metal;

static inline float gelu(float x) {
    return 0.5f * x * (1 + precise::tanh(M_SQRT2_F * x * (1 + 0.044715f * x * x)));
}

kernel void activations(device float* x [[buffer(0)]], device const uchar* packed [[buffer(1)]],
                        uint i [[thread_position_in_grid]], ushort j [[thread_index_in_threadgroup]]) {
    float a = x[i];
    int k = int(a) % 7;
    float low = (packed[i / 2] >> (4 * (i & 1))) & 0xF;
    while (k > 0 && low < 100) {
        low = fma(low, 1.5f, rsqrt(abs(a) + 1e-6f));
        k--;
        if (low > 50.0) { continue; }
        if (isnan(low)) { break; }
    }
    float local[8];
    for (int n = 0; n < 8; ++n) { local[n] = pow(low, float(n)); }
    do { a += local[k & 7]; } while (++k < 3);
    x[i] = gelu(a) + sin(low) * cospi(low) + float(mad24(k, 3, 4)) + clz(uint(j));
}

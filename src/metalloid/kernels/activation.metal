// Activations, element by element: x of the grid goes along a row, y over rows that may lie apart.
#include <metal_stdlib>
using namespace metal;

struct Rows {
    uint n, a, b, c;  // elements of a row of the results, and between the rows of up to three inputs
};

// ---- each activation is a function and its slope ----

inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

struct Silu {
    static float value(float x) { return x * sigmoid(x); }
    static float slope(float x) {
        float s = sigmoid(x);
        return s * (1.0f + x * (1.0f - s));
    }
};

// The share of a normal distribution above z * sqrt(2), times two: exp(-z^2) times a polynomial of 1 / (1 + z / 2),
// which is right to 3e-7 of the result however small that is. z is 0 or more.
inline float erfc(float z) {
    const float c[] = {-7.844503670639824e-06f, 0.2822605073451996f,   0.2807445526123047f,  0.25157544016838074f,
                       0.17573343217372894f,    0.02799290046095848f,  0.20734785497188568f, -0.4305950999259949f,
                       0.2590772807598114f,     -0.05412906035780907f};
    float t = 1.0f / (1.0f + 0.5f * z), sum = c[9];
    for (int i = 8; i >= 0; i--) sum = fma(sum, t, c[i]);
    return exp(-z * z) * sum;
}

struct Gelu {
    static float below(float x) {  // the share of a normal distribution below x
        float tail = 0.5f * erfc(abs(x) * 0.70710678f);
        return x < 0 ? tail : 1.0f - tail;
    }
    static float value(float x) { return x * below(x); }
    static float slope(float x) { return below(x) + x * exp(-0.5f * x * x) * 0.39894228f; }
};

struct GeluTanh {  // 0.5 x (1 + tanh(u)) is x sigmoid(2u), which keeps its digits where tanh is near -1
    static float twice(float x) { return 1.5957691216f * (x + 0.044715f * x * x * x); }
    static float value(float x) { return x * sigmoid(twice(x)); }
    static float slope(float x) {
        float s = sigmoid(twice(x));
        return s + x * s * (1.0f - s) * 1.5957691216f * (1.0f + 0.134145f * x * x);
    }
};

// ---- kernels ----

template <typename T, typename F>
kernel void activation(device const T* a, device T* out, constant Rows& r, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= r.n) return;
    out[ulong(at.y) * r.n + at.x] = T(F::value(float(a[ulong(at.y) * r.a + at.x])));
}

// How a change of the input changes the output, and the other way round: the same product.
template <typename T, typename F>
kernel void activation_slope(device const T* a, device const T* change, device T* out, constant Rows& r,
                             uint2 at [[thread_position_in_grid]]) {
    if (at.x >= r.n) return;
    float x = float(a[ulong(at.y) * r.a + at.x]), d = float(change[ulong(at.y) * r.b + at.x]);
    out[ulong(at.y) * r.n + at.x] = T(d * F::slope(x));
}

// silu(gate) * up
template <typename T>
kernel void swiglu(device const T* gate, device const T* up, device T* out, constant Rows& r,
                   uint2 at [[thread_position_in_grid]]) {
    if (at.x >= r.n) return;
    float g = float(gate[ulong(at.y) * r.a + at.x]), u = float(up[ulong(at.y) * r.b + at.x]);
    out[ulong(at.y) * r.n + at.x] = T(Silu::value(g) * u);
}

template <typename T>
kernel void swiglu_vjp(device const T* gate, device const T* up, device const T* change, device T* to_gate,
                       device T* to_up, constant Rows& r, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= r.n) return;
    float g = float(gate[ulong(at.y) * r.a + at.x]), u = float(up[ulong(at.y) * r.b + at.x]);
    float d = float(change[ulong(at.y) * r.c + at.x]);
    to_gate[ulong(at.y) * r.n + at.x] = T(d * u * Silu::slope(g));
    to_up[ulong(at.y) * r.n + at.x] = T(d * Silu::value(g));
}

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
#define ONE(T, type)                                                    \
    KERNEL("silu_" type, activation<T, Silu>)                           \
    KERNEL("silu_slope_" type, activation_slope<T, Silu>)               \
    KERNEL("gelu_" type, activation<T, Gelu>)                           \
    KERNEL("gelu_slope_" type, activation_slope<T, Gelu>)               \
    KERNEL("gelu_tanh_" type, activation<T, GeluTanh>)                  \
    KERNEL("gelu_tanh_slope_" type, activation_slope<T, GeluTanh>)      \
    KERNEL("swiglu_" type, swiglu<T>)                                   \
    KERNEL("swiglu_vjp_" type, swiglu_vjp<T>)

ONE(float, "float32")
ONE(half, "float16")
ONE(bfloat, "bfloat16")

// Normalise rows. One threadgroup takes one row: it is read from memory once, and from the cache after that.
#include <metal_stdlib>
using namespace metal;

struct Norm {
    uint n, rows, stride, other;  // elements of a row, rows, elements between rows of x and of a second input
    float eps;
};

constant uint THREADS [[function_constant(0)]];  // of a threadgroup: 32, or more where rows are few and long

struct Where {
    uint lane, group;
};

// The sum over all threads of a threadgroup, for each of them. `part` has room for one number per SIMD-group.
inline float sum_of(float value, threadgroup float* part, Where w) {
    value = simd_sum(value);
    if (THREADS == 32) return value;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // the last result has been read by all
    if (w.lane == 0) part[w.group] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(w.lane < THREADS / 32 ? part[w.lane] : 0.0f);
}

#define POSITION                                                                                           \
    uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],                  \
    uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]

// out = x / sqrt(mean(x^2) + eps) * weight
template <typename T>
kernel void rms_norm(device const T* x, device const T* weight, device T* out, constant Norm& s, POSITION) {
    threadgroup float part[32];
    x += ulong(row) * s.stride;
    out += ulong(row) * s.n;
    float squares[4] = {};  // four sums: an addition need not wait for the one before it
    uint i = t;
    for (; i + 3 * THREADS < s.n; i += 4 * THREADS)
        for (uint j = 0; j < 4; j++) squares[j] += float(x[i + j * THREADS]) * float(x[i + j * THREADS]);
    for (; i < s.n; i += THREADS) squares[0] += float(x[i]) * float(x[i]);
    float total = squares[0] + squares[1] + squares[2] + squares[3];
    float scale = rsqrt(sum_of(total, part, Where{lane, group}) / s.n + s.eps);
    for (i = t; i < s.n; i += THREADS) out[i] = T(float(x[i]) * scale * float(weight[i]));
}

// out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias
template <typename T>
kernel void layer_norm(device const T* x, device const T* weight, device const T* bias, device T* out,
                       constant Norm& s, POSITION) {
    threadgroup float part[32];
    Where w = {lane, group};
    x += ulong(row) * s.stride;
    out += ulong(row) * s.n;
    float total = 0, squares = 0;
    for (uint i = t; i < s.n; i += THREADS) total += float(x[i]);
    float mean = sum_of(total, part, w) / s.n;
    for (uint i = t; i < s.n; i += THREADS) squares += (float(x[i]) - mean) * (float(x[i]) - mean);
    float scale = rsqrt(sum_of(squares, part, w) / s.n + s.eps);
    for (uint i = t; i < s.n; i += THREADS)
        out[i] = T((float(x[i]) - mean) * scale * float(weight[i]) + float(bias[i]));
}

// ---- derivatives ----
//
// With y = (x - mean) * scale, a change u of x changes y by
//     core(u) = scale * (u - [mean(u)] - y * mean(u * y))
// where RMSNorm has no means in the brackets. The jvp is weight * core(u); the vjp is core(weight * g), and the
// weight's own is the sum over rows of g * y. LAYER chooses between the two norms.

template <typename T, bool LAYER, bool VJP>
kernel void norm_slope(device const T* x, device const T* weight, device const T* change, device T* out,
                       constant Norm& s, POSITION) {
    threadgroup float part[32];
    Where w = {lane, group};
    x += ulong(row) * s.stride;
    change += ulong(row) * s.other;
    out += ulong(row) * s.n;
    float mean = 0, squares = 0, along = 0, total = 0;
    if (LAYER) {
        for (uint i = t; i < s.n; i += THREADS) total += float(x[i]);
        mean = sum_of(total, part, w) / s.n;
        total = 0;
    }
    for (uint i = t; i < s.n; i += THREADS) {
        float d = float(x[i]) - mean, u = float(change[i]) * (VJP ? float(weight[i]) : 1.0f);
        squares += d * d;
        along += d * u;
        total += u;
    }
    float scale = rsqrt(sum_of(squares, part, w) / s.n + s.eps);
    along = sum_of(along, part, w) / s.n * scale;
    float shift = LAYER ? sum_of(total, part, w) / s.n : 0.0f;
    for (uint i = t; i < s.n; i += THREADS) {
        float y = (float(x[i]) - mean) * scale, u = float(change[i]) * (VJP ? float(weight[i]) : 1.0f);
        out[i] = T(scale * (u - shift - y * along) * (VJP ? 1.0f : float(weight[i])));
    }
}

// Mean and scale of each row, for the kernel below.
template <typename T, bool LAYER>
kernel void norm_rows(device const T* x, device float2* found, constant Norm& s, POSITION) {
    threadgroup float part[32];
    Where w = {lane, group};
    x += ulong(row) * s.stride;
    float mean = 0, squares = 0;
    if (LAYER) {
        float total = 0;
        for (uint i = t; i < s.n; i += THREADS) total += float(x[i]);
        mean = sum_of(total, part, w) / s.n;
    }
    for (uint i = t; i < s.n; i += THREADS) squares += (float(x[i]) - mean) * (float(x[i]) - mean);
    float scale = rsqrt(sum_of(squares, part, w) / s.n + s.eps);
    if (t == 0) found[row] = float2(mean, scale);
}

// The sums over rows of change * y and of change: one thread per column.
template <typename T>
kernel void norm_columns(device const T* x, device const T* change, device const float2* found, device T* to_weight,
                         device T* to_bias, constant Norm& s, uint i [[thread_position_in_grid]]) {
    if (i >= s.n) return;
    float weight = 0, bias = 0;
    for (uint row = 0; row < s.rows; row++) {
        float2 f = found[row];
        float g = float(change[ulong(row) * s.other + i]);
        weight += g * (float(x[ulong(row) * s.stride + i]) - f.x) * f.y;
        bias += g;
    }
    to_weight[i] = T(weight);
    to_bias[i] = T(bias);
}

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
#define ONE(T, type)                                                \
    KERNEL("rms_norm_" type, rms_norm<T>)                           \
    KERNEL("layer_norm_" type, layer_norm<T>)                       \
    KERNEL("rms_norm_jvp_" type, norm_slope<T, false, false>)       \
    KERNEL("rms_norm_vjp_" type, norm_slope<T, false, true>)        \
    KERNEL("layer_norm_jvp_" type, norm_slope<T, true, false>)      \
    KERNEL("layer_norm_vjp_" type, norm_slope<T, true, true>)       \
    KERNEL("rms_norm_rows_" type, norm_rows<T, false>)              \
    KERNEL("layer_norm_rows_" type, norm_rows<T, true>)             \
    KERNEL("norm_columns_" type, norm_columns<T>)

ONE(float, "float32")
ONE(half, "float16")
ONE(bfloat, "bfloat16")

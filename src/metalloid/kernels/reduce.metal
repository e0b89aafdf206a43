// Rows to numbers (sum, max, argmax) and rows to shares (softmax). One SIMD-group per row, or a threadgroup of
// several where rows are few and long.
#include <metal_stdlib>
using namespace metal;

struct Row {
    uint n, stride;  // elements of a row, and between rows
};

// ---- over all threads of a threadgroup; `part` has room for one number per SIMD-group ----

struct Where {
    uint lane, group, groups;
};

inline float sum_of(float value, threadgroup float* part, Where w) {
    value = simd_sum(value);
    if (w.groups == 1) return value;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // the last result has been read by all
    if (w.lane == 0) part[w.group] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(w.lane < w.groups ? part[w.lane] : 0.0f);
}

inline float max_of(float value, threadgroup float* part, Where w) {
    value = simd_max(value);
    if (w.groups == 1) return value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (w.lane == 0) part[w.group] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_max(w.lane < w.groups ? part[w.lane] : -INFINITY);
}

#define THREADS                                                                                            \
    uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],                  \
    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],                     \
    uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]

template <typename T>
kernel void sum(device const T* x, device T* out, constant Row& r, THREADS) {
    threadgroup float part[32];
    x += ulong(row) * r.stride;
    float total = 0;
    for (uint i = t; i < r.n; i += threads) total += float(x[i]);
    total = sum_of(total, part, Where{lane, group, groups});
    if (t == 0) out[row] = T(total);
}

// The largest of a row; NaN where there is one.
template <typename T>
kernel void maximum(device const T* x, device T* out, constant Row& r, THREADS) {
    threadgroup float part[32];
    Where w = {lane, group, groups};
    x += ulong(row) * r.stride;
    float top = -INFINITY, odd = 0;
    for (uint i = t; i < r.n; i += threads) {
        float value = float(x[i]);
        top = value > top ? value : top;
        odd = isnan(value) ? 1.0f : odd;
    }
    top = max_of(top, part, w);
    odd = max_of(odd, part, w);
    if (t == 0) out[row] = T(odd > 0 ? NAN : top);
}

// The first place of the largest, or of a NaN: every thread finds its own, then they compare.
template <typename T>
kernel void argmax(device const T* x, device uint* out, constant Row& r, THREADS) {
    threadgroup float part[32];
    threadgroup uint places[32];
    const uint nowhere = 0xffffffff;
    Where w = {lane, group, groups};
    x += ulong(row) * r.stride;
    float top = -INFINITY;
    uint at = t < r.n ? t : nowhere;
    for (uint i = t; i < r.n; i += threads) {
        float value = float(x[i]);
        bool better = !isnan(top) && !(value <= top);
        top = better ? value : top;
        at = better ? i : at;
    }
    bool odd = max_of(isnan(top) ? 1.0f : 0.0f, part, w) > 0;
    float most = max_of(top, part, w);
    at = simd_min((odd ? isnan(top) : top == most) ? at : nowhere);
    if (groups > 1) {
        if (lane == 0) places[group] = at;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        at = simd_min(lane < groups ? places[lane] : nowhere);
    }
    if (t == 0) out[row] = at;
}

// out = exp(x - max(x)) / sum(exp(x - max(x)))
template <typename T>
kernel void softmax(device const T* x, device T* out, constant Row& r, THREADS) {
    threadgroup float part[32];
    Where w = {lane, group, groups};
    x += ulong(row) * r.stride;
    out += ulong(row) * r.n;
    float top = -INFINITY, total = 0;
    for (uint i = t; i < r.n; i += threads) top = max(top, float(x[i]));
    top = max_of(top, part, w);
    for (uint i = t; i < r.n; i += threads) total += exp(float(x[i]) - top);
    float scale = 1.0f / sum_of(total, part, w);
    for (uint i = t; i < r.n; i += threads) out[i] = T(exp(float(x[i]) - top) * scale);
}

// With y = softmax(x): out = y * (change - sum(y * change)), which is the vjp and the jvp.
template <typename T>
kernel void softmax_slope(device const T* y, device const T* change, device T* out, constant Row& r, THREADS) {
    threadgroup float part[32];
    y += ulong(row) * r.n;
    change += ulong(row) * r.n;
    out += ulong(row) * r.n;
    float total = 0;
    for (uint i = t; i < r.n; i += threads) total += float(y[i]) * float(change[i]);
    total = sum_of(total, part, Where{lane, group, groups});
    for (uint i = t; i < r.n; i += threads) out[i] = T(float(y[i]) * (float(change[i]) - total));
}

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
#define ONE(T, type)                                \
    KERNEL("sum_" type, sum<T>)                     \
    KERNEL("max_" type, maximum<T>)                 \
    KERNEL("argmax_" type, argmax<T>)               \
    KERNEL("softmax_" type, softmax<T>)             \
    KERNEL("softmax_slope_" type, softmax_slope<T>)

ONE(float, "float32")
ONE(half, "float16")
ONE(bfloat, "bfloat16")

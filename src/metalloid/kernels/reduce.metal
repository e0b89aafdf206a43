// Rows to numbers (sum, max, argmax) and rows to shares (softmax). One SIMD-group per row, or a threadgroup of
// several where rows are few and long.
#include <metal_stdlib>
using namespace metal;

struct Row {
    uint n, stride;  // elements of a row, and between rows
};

struct Best {  // the largest value and the first place it is at; NaN counts as largest
    float value;
    uint at;
};

inline Best better(Best a, Best b) {
    bool take = b.value > a.value || (b.value == a.value && b.at < a.at);
    if (isnan(a.value) || isnan(b.value)) take = isnan(b.value) && (!isnan(a.value) || b.at < a.at);
    return take ? b : a;
}

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

template <typename T>
inline Best best_of(device const T* x, constant Row& r, uint t, uint threads, threadgroup Best* part, Where w) {
    Best best = {-INFINITY, 0xffffffff};
    for (uint i = t; i < r.n; i += threads) best = better(best, Best{float(x[i]), i});
    for (ushort step = 16; step > 0; step /= 2)
        best = better(best, Best{simd_shuffle_xor(best.value, step), simd_shuffle_xor(best.at, step)});
    if (w.groups == 1) return best;
    if (w.lane == 0) part[w.group] = best;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < w.groups; i++) best = better(best, part[i]);
    return best;
}

template <typename T>
kernel void maximum(device const T* x, device T* out, constant Row& r, THREADS) {
    threadgroup Best part[32];
    Best best = best_of(x + ulong(row) * r.stride, r, t, threads, part, Where{lane, group, groups});
    if (t == 0) out[row] = T(best.value);
}

template <typename T>
kernel void argmax(device const T* x, device uint* out, constant Row& r, THREADS) {
    threadgroup Best part[32];
    Best best = best_of(x + ulong(row) * r.stride, r, t, threads, part, Where{lane, group, groups});
    if (t == 0) out[row] = best.at;
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

#include <metal_stdlib>
using namespace metal;

#define THREADS 256
#define REDUCE(op) for (uint stride = THREADS / 2; stride > 0; stride /= 2) { \
    if (lid < stride) { shared[lid] = op(shared[lid], shared[lid + stride]); } \
    threadgroup_barrier(mem_flags::mem_threadgroup); }

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void reduce_max(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                       constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]],
                       uint lid [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup float shared[THREADS];
    shared[lid] = gid < n ? x[gid] : -INFINITY;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    REDUCE(max)
    if (lid == 0) {
        y[group] = shared[0];
    }
}

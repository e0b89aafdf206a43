#include <metal_stdlib>
using namespace metal;

// Every row of 64 values, turned round by way of threadgroup memory.
kernel void reverse(device const float* x [[buffer(0)]],
                    device float* y [[buffer(1)]],
                    uint i [[thread_position_in_threadgroup]],
                    uint row [[threadgroup_position_in_grid]]) {
    threadgroup float shared[64];
    shared[i] = x[row * 64 + i];
    y[row * 64 + i] = shared[63 - i];
}

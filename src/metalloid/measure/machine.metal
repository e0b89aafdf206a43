#include <metal_stdlib>
using namespace metal;

// What the machine can do: move memory, and multiply and add.

kernel void copy(device const float* from [[buffer(0)]],
                 device float* to [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    to[i] = from[i];
}

// Each thread's sum waits for itself, but the threads of a threadgroup do not wait for each other.
kernel void multiply_add(device float* out [[buffer(0)]],
                         constant float& factor [[buffer(1)]],
                         constant uint& rounds [[buffer(2)]],
                         uint i [[thread_position_in_grid]]) {
    float x = i;
    for (uint k = 0; k < rounds; ++k) {
        x = fma(x, factor, 1.0f);
    }
    out[i] = x;
}

"""Sum a million numbers: threadgroups first, then their sums, with threadgroup memory that the program sizes."""

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void sum(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                constant uint& count [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]],
                uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]]) {
    shared[t] = i < count ? in[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) shared[t] += shared[t + half_size];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[g] = shared[0];
}
"""
GROUP = 256
numbers = np.random.default_rng(2).random(200_000, dtype=np.float32)

device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipeline, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("sum"), None)
queue = device.newCommandQueue()
left = device.newBufferWithBytes_length_options_(numbers, numbers.nbytes, 0)
count, passes = len(numbers), 0
commands = queue.commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
encoder.setThreadgroupMemoryLength_atIndex_(4 * GROUP, 0)
while count > 1:
    groups = -(-count // GROUP)
    sums = device.newBufferWithLength_options_(
        4 * groups, Metal.MTLResourceStorageModePrivate if groups > 1 else 0
    )
    encoder.setBuffer_offset_atIndex_(left, 0, 0)
    encoder.setBuffer_offset_atIndex_(sums, 0, 1)
    encoder.setBytes_length_atIndex_(np.uint32(count), 4, 2)
    encoder.dispatchThreadgroups_threadsPerThreadgroup_((groups, 1, 1), (GROUP, 1, 1))
    left, count, passes = sums, groups, passes + 1
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
total = np.frombuffer(left.contents().as_buffer(4), np.float32)[0]
assert passes == 3 and abs(total - numbers.astype(np.float64).sum()) < 1e-6 * total * 10
print("the sum is", total)

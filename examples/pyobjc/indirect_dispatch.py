"""A kernel decides how many threadgroups the next one has."""

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void select(device const int* in [[buffer(0)]], device int* kept [[buffer(1)]],
                   device atomic_uint* count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (in[i] % 3 == 0) kept[atomic_fetch_add_explicit(count, 1u, memory_order_relaxed)] = in[i];
}
kernel void size(device const uint* count [[buffer(0)]], device uint* groups [[buffer(1)]]) {
    groups[0] = (count[0] + 31) / 32; groups[1] = 1; groups[2] = 1;
}
kernel void square(device int* kept [[buffer(0)]], device const uint* count [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    if (i < count[0]) kept[i] *= kept[i];
}
"""
device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
assert error is None, error
make = device.newComputePipelineStateWithFunction_error_
select, size, square = (make(library.newFunctionWithName_(n), None)[0] for n in ("select", "size", "square"))
numbers = np.random.default_rng(3).integers(0, 1000, 640, dtype=np.int32)
source = device.newBufferWithBytes_length_options_(numbers, numbers.nbytes, 0)
kept, count, groups = (device.newBufferWithLength_options_(n, 0) for n in (numbers.nbytes, 4, 12))

commands = device.newCommandQueue().commandBuffer()
encoder = commands.computeCommandEncoderWithDispatchType_(Metal.MTLDispatchTypeSerial)
one = Metal.MTLSizeMake(1, 1, 1)
for pipeline, buffers, threads, group in (
    (select, (source, kept, count), Metal.MTLSizeMake(640, 1, 1), Metal.MTLSizeMake(64, 1, 1)),
    (size, (count, groups), one, one),
):
    encoder.setComputePipelineState_(pipeline)
    for index, buffer in enumerate(buffers):
        encoder.setBuffer_offset_atIndex_(buffer, 0, index)
    encoder.dispatchThreads_threadsPerThreadgroup_(threads, group)
    encoder.memoryBarrierWithScope_(Metal.MTLBarrierScopeBuffers)
encoder.setComputePipelineState_(square)
encoder.setBuffer_offset_atIndex_(kept, 0, 0)
encoder.setBuffer_offset_atIndex_(count, 0, 1)
encoder.dispatchThreadgroupsWithIndirectBuffer_indirectBufferOffset_threadsPerThreadgroup_(
    groups, 0, Metal.MTLSizeMake(32, 1, 1)
)
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
assert commands.error() is None, commands.error()
found = np.frombuffer(count.contents().as_buffer(4), np.uint32)[0]
result = np.sort(np.frombuffer(kept.contents().as_buffer(4 * int(found)), np.int32))
assert np.array_equal(result, np.sort(numbers[numbers % 3 == 0] ** 2))
print(found, "of", len(numbers), "numbers")

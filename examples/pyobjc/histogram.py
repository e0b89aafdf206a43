"""Count the values of a picture: atomics in threadgroup memory, then in the buffer."""

import Metal
import numpy as np
import objc

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void histogram(device const uchar* image [[buffer(0)]], device atomic_uint* bins [[buffer(1)]],
                      constant uint& count [[buffer(2)]], uint i [[thread_position_in_grid]],
                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint own[256];
    atomic_store_explicit(&own[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < count) atomic_fetch_add_explicit(&own[image[i]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint mine = atomic_load_explicit(&own[t], memory_order_relaxed);
    if (mine) atomic_fetch_add_explicit(&bins[t], mine, memory_order_relaxed);
}
"""
with objc.autorelease_pool():
    image = np.random.default_rng(5).normal(128, 30, 20_000).clip(0, 255).astype(np.uint8)
    device = Metal.MTLCreateSystemDefaultDevice()
    library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, objc.nil)
    pipeline, _ = device.newComputePipelineStateWithFunction_error_(
        library.newFunctionWithName_("histogram"), None
    )
    commands = device.newCommandQueue().commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipeline)
    bins = device.newBufferWithLength_options_(1024, 0)
    encoder.setBuffer_offset_atIndex_(device.newBufferWithBytes_length_options_(image, image.nbytes, 0), 0, 0)
    encoder.setBuffer_offset_atIndex_(bins, 0, 1)
    encoder.setBytes_length_atIndex_(np.uint32(image.size), 4, 2)
    encoder.dispatchThreadgroups_threadsPerThreadgroup_(
        Metal.MTLSizeMake(-(-image.size // 256), 1, 1), Metal.MTLSizeMake(256, 1, 1)
    )
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    counted = np.frombuffer(bins.contents().as_buffer(1024), np.uint32)
    assert np.array_equal(counted, np.bincount(image, minlength=256))
print("most frequent:", int(counted.argmax()))

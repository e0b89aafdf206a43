"""Time dispatches with a counter sample buffer, and hold the two clocks against each other."""

import struct

import Metal

SOURCE = """
kernel void spin(device float* x [[buffer(0)]], constant uint& steps [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    float v = x[i];
    for (uint n = 0; n < steps; n++) v = v * 1.0001f + 0.5f;
    x[i] = v;
}
"""
device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipeline, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("spin"), None)
counters = next(one for one in device.counterSets() if one.name() == Metal.MTLCommonCounterSetTimestamp)
descriptor = Metal.MTLCounterSampleBufferDescriptor.alloc().init()
descriptor.setCounterSet_(counters)
descriptor.setSampleCount_(8)
descriptor.setStorageMode_(Metal.MTLStorageModeShared)
samples, error = device.newCounterSampleBufferWithDescriptor_error_(descriptor, None)
assert error is None, error
before, _ = device.sampleTimestamps_gpuTimestamp_(None, None)
queue, x = device.newCommandQueue(), device.newBufferWithLength_options_(4 * 4096, 0)
for n, steps in enumerate((10, 1000, 20000)):
    one_pass = Metal.MTLComputePassDescriptor.computePassDescriptor()
    attachment = one_pass.sampleBufferAttachments().objectAtIndexedSubscript_(0)
    attachment.setSampleBuffer_(samples)
    attachment.setStartOfEncoderSampleIndex_(2 * n)
    attachment.setEndOfEncoderSampleIndex_(2 * n + 1)
    commands = queue.commandBuffer()
    encoder = commands.computeCommandEncoderWithDescriptor_(one_pass)
    encoder.setComputePipelineState_(pipeline)
    encoder.setBuffer_offset_atIndex_(x, 0, 0)
    encoder.setBytes_length_atIndex_(struct.pack("I", steps), 4, 1)
    encoder.dispatchThreads_threadsPerThreadgroup_((4096, 1, 1), (256, 1, 1))
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
after, _ = device.sampleTimestamps_gpuTimestamp_(None, None)
taken = struct.unpack("6Q", bytes(samples.resolveCounterRange_((0, 6))))
times = [end - start for start, end in zip(taken[::2], taken[1::2], strict=True)]
assert before <= taken[0] and taken[-1] <= after and min(times) > 0
assert samples.resolveCounterRange_((6, 3)) is None, "there are eight samples"
print("nanoseconds:", *times)

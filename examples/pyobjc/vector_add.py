"""Add two vectors, and hear of it when it is done."""

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                device float* sum [[buffer(2)]], constant uint& count [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < count) sum[i] = a[i] + b[i];
}
"""

device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
assert error is None, error.localizedDescription()
pipeline, error = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("add"), None)
assert error is None, error

count = 10_000
a, b = np.random.rand(count).astype(np.float32), np.random.rand(count).astype(np.float32)
shared = Metal.MTLResourceStorageModeShared
inputs = [device.newBufferWithBytes_length_options_(x.tobytes(), x.nbytes, shared) for x in (a, b)]
output = device.newBufferWithLength_options_(4 * count, shared)

queue = device.newCommandQueue()
commands = queue.commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
for index, buffer in enumerate([*inputs, output]):
    encoder.setBuffer_offset_atIndex_(buffer, 0, index)
encoder.setBytes_length_atIndex_(np.uint32(count), 4, 3)
width = pipeline.threadExecutionWidth()
encoder.dispatchThreadgroups_threadsPerThreadgroup_(
    Metal.MTLSizeMake(-(-count // width), 1, 1), Metal.MTLSizeMake(width, 1, 1)
)
encoder.endEncoding()
heard = []
commands.addScheduledHandler_(lambda commands: heard.append("scheduled"))
commands.addCompletedHandler_(lambda commands: heard.append(commands.status()))
commands.commit()
commands.waitUntilCompleted()

assert commands.error() is None and commands.GPUEndTime() >= commands.GPUStartTime() > 0
assert heard == ["scheduled", Metal.MTLCommandBufferStatusCompleted], heard
result = np.frombuffer(output.contents().as_buffer(output.length()), dtype=np.float32)
assert np.array_equal(result, a + b)
print("added", count, "numbers on", device.name())

"""Encode dispatches once, run them many times: an indirect command buffer."""

import Metal
import numpy as np

SOURCE = """
kernel void scale(device float* x [[buffer(0)]], device const float* by [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { x[i] *= by[0]; }
kernel void shift(device float* x [[buffer(0)]], device const float* by [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { x[i] += by[0]; }
"""
device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
x = device.newBufferWithBytes_length_options_(np.ones(32, np.float32), 128, 0)
by = device.newBufferWithBytes_length_options_(np.array([3, 1], np.float32), 8, 0)

descriptor = Metal.MTLIndirectCommandBufferDescriptor.new()
descriptor.setCommandTypes_(Metal.MTLIndirectCommandTypeConcurrentDispatch)
descriptor.setInheritBuffers_(False)
descriptor.setInheritPipelineState_(False)
descriptor.setMaxKernelBufferBindCount_(2)
stored = device.newIndirectCommandBufferWithDescriptor_maxCommandCount_options_(descriptor, 2, 0)
for n, name in enumerate(("scale", "shift")):
    state = Metal.MTLComputePipelineDescriptor.new()
    state.setComputeFunction_(library.newFunctionWithName_(name))
    state.setSupportIndirectCommandBuffers_(True)
    pipeline, error = device.newComputePipelineStateWithDescriptor_options_reflection_error_(
        state, 0, None, None
    )
    assert error is None and pipeline.supportIndirectCommandBuffers()
    command = stored.indirectComputeCommandAtIndex_(n)
    command.setComputePipelineState_(pipeline)
    command.setKernelBuffer_offset_atIndex_(x, 0, 0)
    command.setKernelBuffer_offset_atIndex_(by, 4 * n, 1)
    command.concurrentDispatchThreads_threadsPerThreadgroup_(
        Metal.MTLSizeMake(32, 1, 1), Metal.MTLSizeMake(32, 1, 1)
    )
    command.setBarrier()

queue = device.newCommandQueue()
for _ in range(5):
    commands = queue.commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.useResources_count_usage_([x, by], 2, Metal.MTLResourceUsageRead | Metal.MTLResourceUsageWrite)
    encoder.executeCommandsInBuffer_withRange_(stored, Metal.MTLIndirectCommandBufferExecutionRangeMake(0, 2))
    encoder.endEncoding()
    commands.commit()
commands.waitUntilCompleted()
expected = 1.0
for _ in range(5):
    expected = expected * 3 + 1
result = np.frombuffer(x.contents().as_buffer(128), np.float32)
assert (result == expected).all(), result
print("five times two commands:", result[0])

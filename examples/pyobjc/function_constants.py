"""One text, many kernels: function constants choose what is compiled."""

import ctypes

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
constant int power [[function_constant(0)]];
constant bool negate [[function_constant(1)]];
constant float scale [[function_constant(2)]];
kernel void raise(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float result = scale;
    for (int n = 0; n < power; n++) result *= x[i];
    x[i] = negate ? -result : result;
}
"""
device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
assert error is None, error
queue = device.newCommandQueue()


def run(power, negate, scale):
    constants = Metal.MTLFunctionConstantValues.alloc().init()
    constants.setConstantValue_type_atIndex_(ctypes.c_int(power), Metal.MTLDataTypeInt, 0)
    constants.setConstantValue_type_atIndex_(ctypes.c_bool(negate), Metal.MTLDataTypeBool, 1)
    constants.setConstantValue_type_withName_(np.float32(scale), Metal.MTLDataTypeFloat, "scale")
    function, error = library.newFunctionWithName_constantValues_error_("raise", constants, None)
    assert error is None, error
    pipeline, error = device.newComputePipelineStateWithFunction_error_(function, None)
    assert error is None, error
    x = np.arange(1, 9, dtype=np.float32)
    buffer = device.newBufferWithBytes_length_options_(x, x.nbytes, 0)
    commands = queue.commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipeline)
    encoder.setBuffer_offset_atIndex_(buffer, 0, 0)
    encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSizeMake(8, 1, 1), Metal.MTLSizeMake(8, 1, 1))
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    return np.frombuffer(buffer.contents().as_buffer(x.nbytes), np.float32).copy()


n = np.arange(1, 9, dtype=np.float32)
assert np.array_equal(run(2, False, 1.0), n * n)
assert np.array_equal(run(3, True, 0.5), -0.5 * n**3)
pipeline, error = device.newComputePipelineStateWithFunction_error_(
    library.newFunctionWithName_("raise"), None
)
assert pipeline is None and "power" in error.localizedDescription()
print("three kernels of one text")

"""A struct of pointers: an argument encoder writes it, and raw addresses work too."""

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
struct Layer { device const float* weights [[id(0)]]; device float* out [[id(1)]]; float bias [[id(2)]]; };
kernel void apply(constant Layer& layer [[buffer(0)]], device const float* in [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { layer.out[i] = layer.weights[i] * in[i] + layer.bias; }
kernel void total(device const ulong* table [[buffer(0)]], device float* out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    out[i] = 0;
    for (int n = 0; n < 3; n++) out[i] += reinterpret_cast<device const float*>(table[n])[i];
}
"""
COUNT = 48
rng = np.random.default_rng(6)
device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
assert error is None, error
function = library.newFunctionWithName_("apply")


def upload(array, label):
    buffer = device.newBufferWithBytes_length_options_(array, array.nbytes, 0)
    buffer.setLabel_(label)
    return buffer


x = rng.random(COUNT, dtype=np.float32)
weights = [rng.random(COUNT, dtype=np.float32) for _ in range(3)]
inputs, uploaded = upload(x, "input"), [upload(w, f"weights {n}") for n, w in enumerate(weights)]
outputs = [device.newBufferWithLength_options_(4 * COUNT, 0) for _ in range(3)]
encoder = function.newArgumentEncoderWithBufferIndex_(0)
arguments = device.newBufferWithLength_options_(3 * encoder.encodedLength(), 0)
for n in range(3):
    encoder.setArgumentBuffer_startOffset_arrayElement_(arguments, 0, n)
    encoder.setBuffer_offset_atIndex_(uploaded[n], 0, 0)
    encoder.setBuffer_offset_atIndex_(outputs[n], 0, 1)
    encoder.constantDataAtIndex_(2).as_buffer(4)[:] = np.float32(n).tobytes()

make = device.newComputePipelineStateWithFunction_error_
commands = device.newCommandQueue().commandBuffer()
compute = commands.computeCommandEncoder()
compute.setComputePipelineState_(make(function, None)[0])
compute.setBuffer_offset_atIndex_(inputs, 0, 1)
for n in range(3):
    compute.setBuffer_offset_atIndex_(arguments, n * encoder.encodedLength(), 0)
    compute.useResource_usage_(uploaded[n], Metal.MTLResourceUsageRead)
    compute.useResource_usage_(outputs[n], Metal.MTLResourceUsageWrite)
    compute.dispatchThreads_threadsPerThreadgroup_((COUNT, 1, 1), (16, 1, 1))
table = upload(np.array([b.gpuAddress() for b in outputs], np.uint64), "table")
result = device.newBufferWithLength_options_(4 * COUNT, 0)
compute.setComputePipelineState_(make(library.newFunctionWithName_("total"), None)[0])
compute.setBuffer_offset_atIndex_(table, 0, 0)
compute.setBuffer_offset_atIndex_(result, 0, 1)
compute.dispatchThreads_threadsPerThreadgroup_((COUNT, 1, 1), (16, 1, 1))
compute.endEncoding()
commands.commit()
commands.waitUntilCompleted()
assert commands.error() is None, commands.error()
expected = sum(w * x + n for n, w in enumerate(weights))
assert np.allclose(np.frombuffer(result.contents().as_buffer(4 * COUNT), np.float32), expected)
print("three layers by address")

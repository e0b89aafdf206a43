"""Multiply matrices in tiles of threadgroup memory, sizes in a struct of the program."""

import ctypes

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
#ifndef TILE
#error TILE is a macro of the program
#endif
struct Sizes { uint rows, columns, inner; };
kernel void multiply(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                     device float* c [[buffer(2)]], constant Sizes& n [[buffer(3)]],
                     uint2 at [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float left[TILE][TILE], right[TILE][TILE];
    float sum = 0;
    for (uint k = 0; k < n.inner; k += TILE) {
        left[t.y][t.x] = at.y < n.rows && k + t.x < n.inner ? a[at.y * n.inner + k + t.x] : 0;
        right[t.y][t.x] = k + t.y < n.inner && at.x < n.columns ? b[(k + t.y) * n.columns + at.x] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i++) sum += left[t.y][i] * right[i][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (at.y < n.rows && at.x < n.columns) c[at.y * n.columns + at.x] = sum;
}
"""
TILE = 8


class Sizes(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_uint32), ("columns", ctypes.c_uint32), ("inner", ctypes.c_uint32)]


rows, columns, inner = 37, 29, 41
rng = np.random.default_rng(4)
a, b = rng.random((rows, inner), dtype=np.float32), rng.random((inner, columns), dtype=np.float32)
device = Metal.MTLCreateSystemDefaultDevice()
options = Metal.MTLCompileOptions.alloc().init()
options.setPreprocessorMacros_({"TILE": TILE})
options.setFastMathEnabled_(False)
library, error = device.newLibraryWithSource_options_error_(SOURCE, options, None)
assert error is None, error.localizedDescription()
pipeline, error = device.newComputePipelineStateWithFunction_error_(
    library.newFunctionWithName_("multiply"), None
)
assert pipeline.staticThreadgroupMemoryLength() == 2 * 4 * TILE * TILE
commands = device.newCommandQueue().commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
buffers = [device.newBufferWithBytes_length_options_(m, m.nbytes, 0) for m in (a, b)]
buffers.append(device.newBufferWithLength_options_(4 * rows * columns, 0))
for index, buffer in enumerate(buffers):
    encoder.setBuffer_offset_atIndex_(buffer, 0, index)
encoder.setBytes_length_atIndex_(Sizes(rows, columns, inner), ctypes.sizeof(Sizes), 3)
groups = Metal.MTLSize(-(-columns // TILE), -(-rows // TILE), 1)
encoder.dispatchThreadgroups_threadsPerThreadgroup_(groups, Metal.MTLSize(TILE, TILE, 1))
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
product = np.frombuffer(buffers[2].contents().as_buffer(4 * rows * columns), np.float32).reshape(
    rows, columns
)
assert np.allclose(product, a.astype(np.float64) @ b, rtol=1e-5)
print(rows, "x", inner, "times", inner, "x", columns)

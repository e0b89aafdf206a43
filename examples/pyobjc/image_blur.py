"""Blur a picture that lies in a buffer, four bytes a pixel."""

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void blur(device const uchar4* image [[buffer(0)]], device uchar4* out [[buffer(1)]],
                 constant uint2& size [[buffer(2)]], uint2 at [[thread_position_in_grid]]) {
    if (at.x >= size.x || at.y >= size.y) return;
    uint4 total = 0;
    uint count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int2 p = int2(at) + int2(dx, dy);
            if (p.x < 0 || p.y < 0 || p.x >= int(size.x) || p.y >= int(size.y)) continue;
            total += uint4(image[p.y * size.x + p.x]);
            count++;
        }
    out[at.y * size.x + at.x] = uchar4(total / count);
}
"""
WIDTH, HEIGHT = 70, 45
image = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)

device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, Metal.MTLCompileOptions.new(), None)
assert error is None, error
pipeline, error = device.newComputePipelineStateWithFunction_error_(
    library.newFunctionWithName_("blur"), None
)
source = device.newBufferWithBytes_length_options_(image, image.nbytes, Metal.MTLResourceStorageModeShared)
target = device.newBufferWithLength_options_(image.nbytes, Metal.MTLResourceStorageModeShared)

commands = device.newCommandQueue().commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
encoder.setBuffers_offsets_withRange_([source, target], [0, 0], (0, 2))
encoder.setBytes_length_atIndex_(np.array([WIDTH, HEIGHT], np.uint32), 8, 2)
encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSize(WIDTH, HEIGHT, 1), Metal.MTLSize(16, 16, 1))
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
assert commands.error() is None, commands.error()

wide = np.pad(image.astype(np.uint32), ((1, 1), (1, 1), (0, 0)))
ones = np.pad(np.ones((HEIGHT, WIDTH, 1), np.uint32), ((1, 1), (1, 1), (0, 0)))
shifted = [(y, x) for y in range(3) for x in range(3)]
total = sum(wide[y : y + HEIGHT, x : x + WIDTH] for y, x in shifted)
count = sum(ones[y : y + HEIGHT, x : x + WIDTH] for y, x in shifted)
blurred = np.frombuffer(target.contents().as_buffer(target.length()), np.uint8).reshape(image.shape)
assert np.array_equal(blurred, total // count)
print("blurred", WIDTH, "x", HEIGHT, "pixels")

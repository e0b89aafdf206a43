"""Draw the Mandelbrot set into a buffer of bytes."""

import struct

import Metal
import numpy as np

SOURCE = """
#include <metal_stdlib>
using namespace metal;
struct View { float2 centre; float scale; uint steps; };
kernel void draw(device uchar* out [[buffer(0)]], constant View& view [[buffer(1)]],
                 uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    float2 c = view.centre + (float2(at) / float2(size) - 0.5f) * view.scale, z = 0;
    uint n = 0;
    while (n < view.steps && dot(z, z) < 4) { z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c; n++; }
    out[at.y * size.x + at.x] = uchar(255 * n / view.steps);
}
"""
WIDTH, HEIGHT, STEPS = 96, 64, 50
device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipeline, error = device.newComputePipelineStateWithFunction_error_(
    library.newFunctionWithName_("draw"), None
)
image = device.newBufferWithLength_options_(WIDTH * HEIGHT, Metal.MTLResourceCPUCacheModeDefaultCache)
view = struct.pack("fffI", -0.5, 0.0, 3.0, STEPS)
commands = device.newCommandQueue().commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
encoder.setBuffer_offset_atIndex_(image, 0, 0)
encoder.setBytes_length_atIndex_(view, len(view), 1)
w = pipeline.threadExecutionWidth()
encoder.dispatchThreads_threadsPerThreadgroup_(
    (WIDTH, HEIGHT, 1), (w, pipeline.maxTotalThreadsPerThreadgroup() // w // 4, 1)
)
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
assert commands.status() == Metal.MTLCommandBufferStatusCompleted
drawn = np.frombuffer(image.contents().as_buffer(WIDTH * HEIGHT), np.uint8).reshape(HEIGHT, WIDTH)
y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
c = (x / WIDTH - 0.5) * 3 - 0.5 + 1j * (y / HEIGHT - 0.5) * 3
z, count = np.zeros_like(c), np.zeros(c.shape, int)
for _ in range(STEPS):
    inside = np.abs(z) < 2
    z[inside] = z[inside] ** 2 + c[inside]
    count += inside
assert (drawn == 255 * count // STEPS).mean() > 0.99, "all but pixels on the edge, where float is not double"
for row in drawn[:: HEIGHT // 16, :: WIDTH // 48]:
    print("".join(" .:-=+*#%@"[int(value) * 9 // 255] for value in row))

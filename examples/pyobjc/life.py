"""Conway's game of life in memory of the program's own, a command buffer for each generation."""

import Metal
import numpy as np
from Foundation import NSAutoreleasePool

SOURCE = """
kernel void step(device const uchar* now [[buffer(0)]], device uchar* then [[buffer(1)]],
                 uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) alive += now[(at.y + dy + size.y) % size.y * size.x + (at.x + dx + size.x) % size.x];
    uint here = at.y * size.x + at.x;
    then[here] = alive == 3 || (alive == 2 && now[here]);
}
"""
SIDE, GENERATIONS = 40, 12
pool = NSAutoreleasePool.alloc().init()
device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipeline, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("step"), None)
worlds = [
    np.random.default_rng(7).integers(0, 2, (SIDE, SIDE), dtype=np.uint8),
    np.zeros((SIDE, SIDE), np.uint8),
]
expected = worlds[0].copy()
gone = []
buffers = [
    device.newBufferWithBytesNoCopy_length_options_deallocator_(
        world, world.nbytes, Metal.MTLResourceStorageModeShared, lambda pointer, length: gone.append(length)
    )
    for world in worlds
]
queue = device.newCommandQueueWithMaxCommandBufferCount_(4)
for n in range(GENERATIONS):
    commands = queue.commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipeline)
    encoder.setBuffer_offset_atIndex_(buffers[n % 2], 0, 0)
    encoder.setBuffer_offset_atIndex_(buffers[1 - n % 2], 0, 1)
    encoder.dispatchThreads_threadsPerThreadgroup_(
        Metal.MTLSizeMake(SIDE, SIDE, 1), Metal.MTLSizeMake(8, 8, 1)
    )
    encoder.endEncoding()
    commands.commit()
commands.waitUntilCompleted()
for _ in range(GENERATIONS):
    near = sum(np.roll(expected, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x)
    expected = ((near == 3) | ((near == 2) & (expected == 1))).astype(np.uint8)
assert np.array_equal(worlds[GENERATIONS % 2], expected), "the arrays themselves changed"
for buffer in buffers:
    buffer.release()
assert gone == [SIDE * SIDE] * 2
pool.drain()
print(int(expected.sum()), "cells live after", GENERATIONS, "generations")

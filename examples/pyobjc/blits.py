"""Move memory without a kernel: copies, fills, fences, and one buffer inside another."""

import Metal
import numpy as np
from Foundation import NSMakeRange

device = Metal.MTLCreateSystemDefaultDevice()
data = np.arange(64, dtype=np.uint8)
source = device.newBufferWithBytes_length_options_(bytes(data), 64, Metal.MTLResourceStorageModeShared)
staging = device.newBufferWithLength_options_(128, Metal.MTLResourceStorageModePrivate)
result = device.newBufferWithLength_options_(96, Metal.MTLResourceStorageModeManaged)
assert staging.contents() is None, "the program does not see private memory"

queue, fence = device.newCommandQueue(), device.newFence()
commands = queue.commandBuffer()
blit = commands.blitCommandEncoder()
blit.fillBuffer_range_value_(staging, NSMakeRange(0, 128), 7)
blit.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(source, 8, staging, 32, 48)
blit.updateFence_(fence)
blit.endEncoding()
blit = commands.blitCommandEncoder()
blit.waitForFence_(fence)
blit.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(staging, 16, result, 0, 96)
blit.synchronizeResource_(result)
blit.endEncoding()
commands.commit()
commands.waitUntilCompleted()

expected = np.full(128, 7, np.uint8)
expected[32:80] = data[8:56]
found = np.frombuffer(result.contents().as_buffer(result.length()), np.uint8)
assert np.array_equal(found, expected[16:112])
print("moved", found.nbytes, "bytes")

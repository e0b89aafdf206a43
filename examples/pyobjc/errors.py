"""What goes wrong, and how a program hears of it."""

import Metal
import numpy as np
from Foundation import NSURL

device = Metal.MTLCreateSystemDefaultDevice()
library, error = device.newLibraryWithSource_options_error_(
    "kernel void f(device float* x) { y[0] = 1; }", None, None
)
assert library is None and error.domain() == "MTLLibraryErrorDomain"
assert error.code() == Metal.MTLLibraryErrorCompileFailure
assert "program_source:1:" in error.localizedDescription() and "'y'" in error.localizedDescription()

heard = []
device.newLibraryWithSource_options_completionHandler_(
    "kernel void g() {}", None, lambda *pair: heard.append(pair)
)
((library, error),) = heard
assert error is None and library.functionNames() == ("g",)
assert library.newFunctionWithName_("h") is None
assert device.newLibraryWithURL_error_(NSURL.fileURLWithPath_("/no/such.metallib"), None)[0] is None
assert device.newBufferWithLength_options_(1 << 60, 0) is None
assert not device.supportsRaytracing() and device.supportsFamily_(Metal.MTLGPUFamilyApple7)

SOURCE = "kernel void wrong(device int* x, uint i [[thread_position_in_grid]]) { x[i + 1000] = 1; }"
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipeline, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("wrong"), None)
commands = device.newCommandQueue().commandBuffer()
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
encoder.setBuffer_offset_atIndex_(
    device.newBufferWithBytes_length_options_(np.zeros(4, np.int32), 16, 0), 0, 0
)
encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSizeMake(4, 1, 1), Metal.MTLSizeMake(4, 1, 1))
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
if commands.status() == Metal.MTLCommandBufferStatusError:  # a guarded kernel; hardware may go on
    assert commands.error().domain() == "MTLCommandBufferErrorDomain"
    print(commands.error().localizedDescription().splitlines()[0])
manager = Metal.MTLCaptureManager.sharedCaptureManager()
started, error = manager.startCaptureWithDescriptor_error_(Metal.MTLCaptureDescriptor.new(), None)
assert not started and "METALLOID_TRACE" in error.localizedDescription()

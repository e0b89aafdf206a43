"""Two queues take turns on one buffer: a shared event orders them, and the program listens."""

import threading

import Metal
import numpy as np

SOURCE = """
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void more(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
"""
device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
pipelines = {}
for name in ("twice", "more"):
    pipelines[name], error = device.newComputePipelineStateWithFunction_error_(
        library.newFunctionWithName_(name), None
    )
    assert error is None
buffer = device.newBufferWithBytes_length_options_(np.ones(64, np.float32), 256, 0)
event = device.newSharedEvent()
event.setLabel_("turns")
first, second = device.newCommandQueue(), device.newCommandQueue()


def submit(queue, name, after, then):
    commands = queue.commandBuffer()
    commands.encodeWaitForEvent_value_(event, after)
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipelines[name])
    encoder.setBuffer_offset_atIndex_(buffer, 0, 0)
    encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSizeMake(64, 1, 1), Metal.MTLSizeMake(32, 1, 1))
    encoder.endEncoding()
    commands.encodeSignalEvent_value_(event, then)
    commands.commit()


turns, heard, done = 6, [], threading.Event()
listener = Metal.MTLSharedEventListener.alloc().init()
event.notifyListener_atValue_block_(listener, 1, lambda event, value: heard.append(value))
event.notifyListener_atValue_block_(listener, turns, lambda event, value: done.set())
queues = {0: second, 1: first}
for turn in range(turns):
    submit(queues[turn % 2], "twice" if turn % 2 else "more", turn, turn + 1)
assert event.waitUntilSignaledValue_timeoutMS_(turns, 60_000)
assert done.wait(60) and heard[0] >= 1
assert not event.waitUntilSignaledValue_timeoutMS_(turns + 1, 1)
expected = 1.0
for turn in range(turns):
    expected = expected * 2 if turn % 2 else expected + 1
result = np.frombuffer(buffer.contents().as_buffer(256), np.float32)
assert (result == expected).all(), (result[0], expected)
print(turns, "turns, event at", event.signaledValue())

"""The oracle: run the scalar IR of a kernel, one thread at a time, slow and obvious.

It defines what is right; engines are compared with it. Every access is checked
against the object its pointer came from.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.backends.base import Launch, LogMessage, Triple
from metalloid.backends.interpret.globals import constant_objects, local_objects
from metalloid.backends.interpret.memory import AddressSpace, Object, Pointer
from metalloid.backends.interpret.program import prepare
from metalloid.backends.interpret.scheduler import Schedule, Scheduler
from metalloid.backends.interpret.thread import Group, Thread
from metalloid.errors import DeviceError
from metalloid.ir import read

__all__ = ["ENTRY", "FORWARD", "STEP_LIMIT", "Schedule", "run"]

ENTRY = "__mt_entry"
FORWARD = Schedule()
STEP_LIMIT = 50_000_000  # instructions of one thread; about a minute


def run(
    module_text: str,
    launch: Launch,
    schedule: Schedule = FORWARD,
    on_log: Callable[[LogMessage], None] | None = None,
    step_limit: int = STEP_LIMIT,
) -> None:
    """Run a kernel; the launch's buffers are changed in place. Raises KernelFault where it goes wrong."""
    module = read(module_text)
    if ENTRY not in module.function:
        raise DeviceError(f"[interpret] the module has no function '{ENTRY}'")
    code = prepare(module, module.function[ENTRY])
    device, buffers = _bind(launch)
    constants = constant_objects(module, device)
    arrange = schedule.arranger()
    scheduler = Scheduler(module, launch, arrange, on_log)
    for position in arrange(launch.positions()):
        group = _group(launch, position, device, constants)
        group.globals = {**constants, **local_objects(module, group.local)}
        threads = [Thread(code, group, n, buffers, step_limit) for n in range(group.count)]
        scheduler.run(threads)


def _bind(launch: Launch) -> tuple[AddressSpace, dict[int, Pointer]]:
    """Give every buffer and resource its place in the device's address space.

    Memory bound twice has one address: kernels compare pointers to learn whether an argument was given.
    """
    device = AddressSpace(64)
    for address, memory in launch.resources:
        device.add(Object(f"the resource at {address:#x}", memoryview(memory).cast("B"), address))
    buffers: dict[int, Pointer] = {}
    placed: dict[int, Pointer] = {}
    for index, memory in launch.buffers.items():
        if id(memory) in placed and index not in launch.addresses:
            buffers[index] = placed[id(memory)]
            continue
        view = memoryview(memory)
        data = view.cast("B") if view.nbytes else memoryview(b"")
        made = Object(f"buffer {index}", data, launch.addresses.get(index, 0), index)
        buffers[index] = placed[id(memory)] = Pointer(device.add(made))
    return device, buffers


def _group(launch: Launch, position: Triple, device: AddressSpace, constants: dict[str, Pointer]) -> Group:
    group = Group(launch, position, launch.size_of(position), device, constants)
    for index, size in launch.threadgroup_memory.items():
        made = Object(f"threadgroup memory {index}", memoryview(bytearray(size)))
        group.arguments[index] = Pointer(group.local.add(made))
    return group

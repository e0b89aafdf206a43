"""The oracle: run the scalar IR of a kernel, one thread at a time, slow and obvious.

It defines what is right; engines are compared with it. Every access is checked
against the object its pointer came from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from metalloid.backends.base import Fault, Launch, LogMessage, Triple
from metalloid.backends.interpret.examiner import Examiner, Wanted
from metalloid.backends.interpret.globals import constant_objects, local_objects
from metalloid.backends.interpret.intrinsics import waiting
from metalloid.backends.interpret.memory import AddressSpace, Object, Pointer
from metalloid.backends.interpret.observer import Observer
from metalloid.backends.interpret.program import prepare
from metalloid.backends.interpret.robust import Robust
from metalloid.backends.interpret.scheduler import Schedule, Scheduler
from metalloid.backends.interpret.thread import GOES_ROUND, Group, Thread
from metalloid.backends.interpret.trace import Did, Tracer
from metalloid.backends.interpret.twin_code import with_twins
from metalloid.backends.observe import Access, Memory, Observation, Record, start_of
from metalloid.errors import DeviceError, KernelFault
from metalloid.ir import Module, read_once
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.reducible import reducible

__all__ = [
    "ENTRY",
    "FORWARD",
    "STEP_LIMIT",
    "Did",
    "Schedule",
    "Wanted",
    "examine",
    "observe",
    "run",
    "trace",
]

FORWARD = Schedule()
STEP_LIMIT = 50_000_000  # instructions of one thread; about a minute
OBSERVED_STEPS = 5_000_000  # the same under observation
OBSERVED_SECONDS = 60.0  # for all threads together


def run(
    module_text: str,
    launch: Launch,
    schedule: Schedule = FORWARD,
    on_log: Callable[[LogMessage], None] | None = None,
    step_limit: int = STEP_LIMIT,
    deadline: float | None = None,
) -> None:
    """Run a kernel; the launch's buffers are changed in place. Raises KernelFault where it goes wrong.

    `deadline`, on the monotonic clock, stops it too.
    """
    _run(_read(module_text), launch, schedule, on_log, step_limit, None, deadline)


def run_robust(
    module_text: str,
    launch: Launch,
    on_log: Callable[[LogMessage], None] | None = None,
    step_limit: int = STEP_LIMIT,
    deadline: float | None = None,
) -> list[Fault]:
    """Run a kernel as a GPU would: a read outside gives 0, a write outside is dropped. What it went on after."""
    module = _read(module_text)
    memory = Robust(module, launch)
    _run(module, launch, FORWARD, on_log, step_limit, None, deadline, begin=memory.begin)
    return memory.faults


def observe(
    module_text: str,
    launch: Launch,
    schedule: Schedule = FORWARD,
    on_log: Callable[[LogMessage], None] | None = None,
    step_limit: int = OBSERVED_STEPS,
    seconds: float = OBSERVED_SECONDS,
    positions: Sequence[Triple] | None = None,
) -> Observation:
    """Run a kernel, or the threadgroups at some positions, and tell all that it does wrong; mistakes do not stop it
    where it can go on.

    A read outside gives 0, a write outside is dropped. A barrier that not all reach, or a limit, ends the run.
    """
    module = _read(module_text)
    observer = Observer(module, launch, seconds)
    try:
        _run(module, launch, schedule, on_log, step_limit, observer, observer.deadline, positions)
    except KernelFault as fault:
        found = fault.finding
        assert isinstance(found, Fault)
        observer.stopped = (
            "a barrier was not reached by all threads" if found.rule == "M204" else found.message
        )
        if found.message in GOES_ROUND and found.thread and found.threadgroup:
            where = Access(found.location, found.thread, found.threadgroup, "loop")
            observer.notes.add("does not end", where)
    return observer.observation()


def trace(module: Module, launch: Launch, thread: Triple, seconds: float = OBSERVED_SECONDS) -> list[Did]:
    """All that one thread does, in order; of the other threads only those of its threadgroup run."""
    tracer = Tracer(module, launch, seconds, thread)
    x, y, z = (p // t for p, t in zip(thread, launch.threadgroup, strict=True))
    with suppress(KernelFault):
        _run(module, launch, FORWARD, None, OBSERVED_STEPS, tracer, positions=[(x, y, z)])
    return tracer.log


def examine(
    module_text: str,
    launch: Launch,
    positions: Sequence[Triple],
    wanted: Wanted,
    before: Mapping[Triple, Sequence[int]] | None = None,
) -> tuple[tuple[Record, ...], int]:
    """Run some threadgroups with exact twins beside their numbers; the launch's buffers are changed in place.

    Where no thread waits for another, the first and the last 32 threads of each stand for all, behind those that
    `before` names by their index. Returned are the records, and how many threadgroups came to their end before the
    steps were used up, or the time: the first is given more of the steps.
    """
    module = _read(module_text)
    function = module.function[ENTRY]
    examiner = Examiner(module, launch, wanted)
    code = with_twins(prepare(module, function), function, examiner)
    device, buffers = _bind(launch)
    constants = constant_objects(module, device, len(launch.threadgroup_memory))
    scheduler = Scheduler(module, launch, list, None, examiner)
    alone = not any(waiting(i.called) for i in function.instructions())
    ended = 0
    try:
        for position in positions:
            group = _group(launch, position, device, constants)
            group.globals = {**constants, **local_objects(module, group.local)}
            count = group.count
            steps = wanted.steps + wanted.more
            threads = [Thread(code, group, n, buffers, steps, wanted.until) for n in range(count)]
            examiner.begin(threads)
            sides = [n for pair in zip(range(32), range(count - 1, -1, -1), strict=False) for n in pair]
            ends = (threads[n] for n in (*(before or {}).get(position, ()), *sides))
            for part in [[t] for t in dict.fromkeys(ends)] if alone else [threads]:
                scheduler.run(part)
                examiner.first_is_done()
            ended += 1
    except KernelFault:
        pass  # enough was seen, or it is stuck at a barrier: what was seen so far counts
    return examiner.records(), ended


def _read(module_text: str) -> Module:
    module = read_once(module_text)
    if ENTRY not in module.function:
        raise DeviceError(f"[interpret] the module has no function '{ENTRY}'")
    return module.with_function(reducible(module.function[ENTRY]))


def _run(
    module: Module,
    launch: Launch,
    schedule: Schedule,
    on_log: Callable[[LogMessage], None] | None,
    step_limit: int,
    observer: Observer | None,
    deadline: float | None = None,
    positions: Iterable[Triple] | None = None,
    begin: Callable[[list[Thread]], None] | None = None,
) -> None:
    code = prepare(module, module.function[ENTRY])
    device, buffers = _bind(launch)
    constants = constant_objects(module, device, len(launch.threadgroup_memory))
    arrange = schedule.arranger()
    scheduler = Scheduler(module, launch, arrange, on_log, observer)
    if positions is None:  # a list of all threadgroups may be longer than memory
        positions = launch.walk() if schedule.order == "forward" else arrange(launch.positions())
    for position in positions:
        group = _group(launch, position, device, constants)
        group.globals = {**constants, **local_objects(module, group.local)}
        threads = [Thread(code, group, n, buffers, step_limit, deadline) for n in range(group.count)]
        if observer is not None:
            observer.begin(threads)
        if begin is not None:
            begin(threads)
        scheduler.run(threads)


def _bind(launch: Launch) -> tuple[AddressSpace, dict[int, Pointer]]:
    """Give every buffer and resource its place in the device's address space.

    Memory bound twice has one address: kernels compare pointers to learn whether an argument was given.
    """
    device = AddressSpace(64)
    for address, memory in launch.resources:
        data = memoryview(memory).cast("B")
        what = Memory("resource", name=launch.resource_name(address), bytes=len(data))
        device.add(Object(what.name, data, address, memory=what, base=_base(data)))
    buffers: dict[int, Pointer] = {}
    placed: dict[int, Pointer] = {}
    for index, memory in launch.buffers.items():
        if id(memory) in placed and index not in launch.addresses:
            buffers[index] = placed[id(memory)]
            continue
        view = memoryview(memory)
        data = view.cast("B") if view.nbytes else memoryview(b"")
        below = launch.below.get(index, 0)
        if below:
            data = memoryview((ctypes.c_ubyte * (below + len(data))).from_address(_base(data) - below)).cast(
                "B"
            )
        what = Memory("buffer", index, bytes=len(data))
        address = launch.addresses.get(index, 0)
        made = Object(
            f"buffer {index}", data, address, index, False, what, _base(data), start_of(memory), below
        )
        buffers[index] = placed[id(memory)] = Pointer(device.add(made), below)
    return device, buffers


def _group(launch: Launch, position: Triple, device: AddressSpace, constants: dict[str, Pointer]) -> Group:
    group = Group(launch, position, launch.size_of(position), device, constants)
    for index, size in launch.threadgroup_memory.items():
        what = Memory("threadgroup", index, bytes=size)
        made = Object(f"threadgroup memory {index}", memoryview(bytearray(size)), memory=what)
        group.arguments[index] = Pointer(group.local.add(made))
    return group


def _base(data: memoryview) -> int:
    """Where the bytes really are."""
    return int(np.frombuffer(data, np.uint8).ctypes.data) if len(data) else 0

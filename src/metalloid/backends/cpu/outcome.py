"""What a launch left: the fault that stopped it, and what it logged."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence

from metalloid.backends.base import Fault, Launch, LogMessage, Triple
from metalloid.backends.cpu import native
from metalloid.backends.cpu.code import Compiled, Loaded
from metalloid.backends.sites import access_fault
from metalloid.errors import DeviceError
from metalloid.records import replace

_NEAR = 1 << 16  # bytes behind a buffer that are told from its end


def fault_of(
    record: native.LaunchRecord,
    launch: Launch,
    status: int,
    variants: Sequence[Loaded | None],
    timeout: float | None,
    names: Mapping[int, str],
) -> Fault:
    """What stopped a launch. Raises where that was not the kernel's doing."""
    if record.fault.state:
        loaded = variants[record.fault.variant]
        assert loaded is not None
        return _fault(record, record.fault, launch, loaded.compiled, names)
    if status == native.INTERRUPTED:
        raise KeyboardInterrupt
    if status == native.TIMEOUT:
        return Fault("", f"still running after {timeout:g} s and stopped", launch.kernel)
    raise DeviceError(f"[launch {launch.kernel}] no memory for threadgroup memory and scratch")


def note_of(
    record: native.LaunchRecord, launch: Launch, variants: Sequence[Loaded | None], names: Mapping[int, str]
) -> Fault:
    """What a launch went on after."""
    loaded = variants[record.note.variant]
    assert loaded is not None
    return _fault(record, record.note, launch, loaded.compiled, names)


def _fault(
    whole: native.LaunchRecord,
    record: native.FaultRecord,
    launch: Launch,
    compiled: Compiled,
    names: Mapping[int, str],
) -> Fault:
    site = compiled.details.sites[record.site]
    x, y, z = whole.threadgroup
    ran_in, at = replace(launch, threadgroup=(x, y, z)), (record.x, record.y, record.z)
    find = _overlapping_thread if whole.overlaps else _thread
    thread = find(ran_in, at, record.index)
    across, down, deep = (at // size for at, size in zip(thread, launch.threadgroup, strict=True))
    group = (across, down, deep)  # of the launch, whatever threadgroups it ran in
    rule = site.rule
    if rule == "M204":
        number = record.offset
        chosen = compiled.details.barriers[number - 1] if number else site
        message = "threads of the threadgroup wait at different barriers and can never meet; one waits here"
        return Fault(rule, message, launch.kernel, chosen.location, thread, group)
    index = site.root.index if site.root is not None and site.root.kind == "buffer" else -1
    found = access_fault(site, record.offset - launch.below.get(index, 0), launch, thread, group, names)
    if site.root is not None and site.root.kind == "unknown" and site.root.space == 1:
        return replace(found, message=found.message + _nearest(whole, record.offset, launch, names))
    return found


def _nearest(record: native.LaunchRecord, address: int, launch: Launch, names: Mapping[int, str]) -> str:
    """Where an address lies that is no buffer's: behind the nearest one that ends before it."""
    known = [
        (f"buffer {i}" + (f" '{names[i]}'" if names.get(i) else ""), record.buffers[i], record.lengths[i])
        for i in launch.buffers
    ]
    known += [
        (f"'{launch.resource_name(at)}'", at, memoryview(memory).nbytes) for at, memory in launch.resources
    ]
    near = [(address - at - size, called, size) for called, at, size in known]
    found = min((one for one in near if 0 <= one[0] < _NEAR), default=None)
    return f", {found[0]} bytes past the end of {found[1]} ({found[2]} bytes)" if found else ""


def report_logs(
    record: native.LaunchRecord,
    launch: Launch,
    formats: Sequence[str],
    on_log: Callable[[LogMessage], None] | None,
) -> None:
    """Pass on what a launch logged."""
    open_logs: dict[tuple[int, ...], list[object]] = {}
    try:
        for n in range(record.log_count):
            r = record.logs[n]
            who = (r.index, r.x, r.y, r.z)
            if r.what == 0:
                open_logs[who] = [formats[r.value // 16], r.value % 16]
            elif r.what == 1:
                open_logs[who].append(ctypes.c_int64(r.value).value)
            elif r.what == 2:
                open_logs[who].append(struct.unpack("<f", struct.pack("<I", r.value))[0])
            elif on_log is not None:
                text, level, *values = open_logs.pop(who)
                thread = _thread(launch, (r.x, r.y, r.z), r.index)
                on_log(LogMessage(text, level, tuple(values), thread))  # type: ignore[arg-type]
    finally:
        native.runtime().free(ctypes.cast(record.logs, ctypes.c_void_p))


def _thread(launch: Launch, group: Triple, index: int) -> Triple:
    """The position in the grid of a thread of a threadgroup."""
    sx, sy, _ = launch.size_of(group)
    local = (index % sx, index // sx % sy, index // (sx * sy))
    x, y, z = (g * t + p for g, t, p in zip(group, launch.threadgroup, local, strict=True))
    return x, y, z


def _overlapping_thread(launch: Launch, group: Triple, index: int) -> Triple:
    """The same where all threadgroups are whole, and the last begin before an edge."""
    sx, sy, _ = launch.threadgroup
    local = (index % sx, index // sx % sy, index // (sx * sy))
    sizes = zip(group, launch.threadgroup, launch.grid, local, strict=True)
    x, y, z = (min(g * t, grid - t) + p for g, t, grid, p in sizes)
    return x, y, z

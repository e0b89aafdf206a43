"""A kernel on a GPU: PTX when it is first launched, then one function of the driver's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from metalloid.analysis.barrier_arrival import Arrival, arrival
from metalloid.backends.base import Fault, Guard, Launch, LogMessage, Triple
from metalloid.backends.cuda.driver import Gpu
from metalloid.backends.cuda.launch import Running
from metalloid.backends.cuda.ptx import KERNEL, Ptx, compile_ptx
from metalloid.backends.cuda.record import FaultRecord
from metalloid.backends.sites import access_fault
from metalloid.errors import DeviceError, KernelFault, LaunchError, NotVectorised
from metalloid.ir.intrinsics import ENTRY
from metalloid.transforms.canonicalize import canonical
from metalloid.types import Signature

MAX_THREADS = 1024


@cache
def gpu() -> Gpu:
    return Gpu()


@dataclass(frozen=True)
class _Loaded:
    ptx: Ptx
    module: Any  # keeps the function alive
    function: Any


class CudaProgram:
    """One kernel, guarded and not."""

    def __init__(self, ir: str, signature: Signature) -> None:
        self._ir, self._signature = ir, signature
        self._names: Mapping[int, str] = {p.index: p.name for p in signature.buffers}
        self._loaded: dict[Guard, _Loaded] = {}
        self._ways: dict[Triple, Arrival] = {}
        self._lock = threading.Lock()
        self.told: Callable[[Fault, Launch], KernelFault] = _told
        self.noted: Callable[[Fault, Launch], None] = lambda fault, launch: None

    def _code(self, guard: Guard) -> _Loaded:
        if guard == "robust":
            raise DeviceError(
                '[cuda] guard="robust" is not supported on this device.\nPass guard=True or guard=False.'
            )
        with self._lock:
            if guard not in self._loaded:
                ptx = compile_ptx(self._ir, gpu().processor, guard)
                self._loaded[guard] = _Loaded(ptx, *gpu().load(ptx.text, KERNEL))
            return self._loaded[guard]

    def _refuse_parted(self, size: Triple) -> None:
        """Lanes of a warp that wait at a barrier which others of it pass by would wait for ever."""
        if size not in self._ways:
            self._ways[size] = arrival(canonical(self._ir).function[ENTRY], size)
        if self._ways[size] == "parted":
            raise NotVectorised(
                "[cuda] a barrier that only some threads of a SIMD-group reach is not supported on this device"
            )

    def run(
        self,
        launch: Launch,
        guard: Guard = True,
        timeout: float | None = None,
        threads: int = 1,
        backwards: bool = False,
        on_log: Callable[[LogMessage], None] | None = None,
    ) -> None:
        """Run to the end. `threads` and `backwards` say nothing to a GPU: it has its own number and order."""
        if 0 in launch.grid:
            return
        x, y, z = launch.threadgroup
        if x * y * z > MAX_THREADS:
            raise LaunchError(
                f"[launch {launch.kernel}] threadgroup is {x * y * z} threads; this device allows {MAX_THREADS}.\n"
                f"Pass a threadgroup of {MAX_THREADS} threads or fewer."
            )
        self._refuse_parted(launch.threadgroup)
        gpu().enter()
        code = self._code(guard)
        running = Running(gpu(), launch)
        try:
            running.start(code.function)
            ended = running.wait(timeout)
            fault = running.finish()
        finally:
            running.free()
        if fault is not None:
            raise self.told(self._fault(fault, code, launch, running.addresses), launch)
        if not ended:
            raise self.told(
                Fault("", f"still running after {timeout:g} s and stopped", launch.kernel), launch
            )

    def prepare(self, launch: Launch, guard: Guard, threads: int) -> None:
        self._refuse_parted(launch.threadgroup)
        gpu().enter()
        self._code(guard)

    def quick(self, launch: Launch, guard: Guard, threads: int) -> None:
        """Each launch is looked at: memory has to travel in any case."""
        return

    def _fault(
        self, record: FaultRecord, code: _Loaded, launch: Launch, addresses: Mapping[int, int]
    ) -> Fault:
        thread = (record.thread[0], record.thread[1], record.thread[2])
        group = (record.group[0], record.group[1], record.group[2])
        offset = ctypes.c_int64(record.offset).value
        return access_fault(code.ptx.sites[record.site], offset, launch, thread, group, self._names)


def _told(fault: Fault, launch: Launch) -> KernelFault:
    return KernelFault(fault.text(), fault)

"""The CUDA driver, through cuda-bindings: modules, memory, launches. Errors are metalloid's own."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, Protocol

from metalloid.backends.cuda.record import FaultRecord
from metalloid.errors import DeviceError

_SLOT = 256  # bytes between two records of faults, and between two words of cancel
_SLOTS = 64


@cache
def bindings() -> Any:
    from cuda.bindings import driver

    return driver


@cache
def _library() -> Any:
    """The two functions that every launch calls: through ctypes they cost a third of what the bindings take."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    many, address = ctypes.c_uint, ctypes.c_void_p
    library.cuLaunchKernel.argtypes = [address, *[many] * 7, address, address, address]
    library.cuLaunchKernelEx.argtypes = [address] * 4
    library.cuStreamSynchronize.argtypes = [address]
    return library


class _Attribute(ctypes.Structure):
    """What is special about a launch."""

    _fields_ = (("what", ctypes.c_uint), ("value", ctypes.c_uint * 17))


class _Config(ctypes.Structure):
    """A launch, as cuLaunchKernelEx wants it."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


_EARLY = _Attribute(6, (0, 1))  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, allowed


def _name(error: int) -> str:
    name: str = bindings().CUresult(error).name
    return name


def missing() -> str:
    """Why there is no GPU to use, in a sentence; "" where there is one."""
    try:
        driver = bindings()
    except ImportError:
        return "the package 'cuda-bindings' is missing (pip install 'metalloid[cuda]')"
    try:
        (error,) = driver.cuInit(0)
    except Exception as problem:  # the driver's library is not there
        return f"there is no NVIDIA driver on this machine ({problem})"
    if int(error):
        return f"the NVIDIA driver cannot be started ({error.name})"
    error, count = driver.cuDeviceGetCount()
    return "" if not int(error) and count else "the NVIDIA driver finds no GPU"


def call(function: str, *arguments: Any) -> Any:
    """A driver call; its result, or a DeviceError with the driver's words."""
    driver = bindings()
    error, *results = getattr(driver, function)(*arguments)
    if int(error):
        _, words = driver.cuGetErrorString(error)
        text = words.decode() if isinstance(words, bytes) else str(words)
        raise DeviceError(f"[cuda] {function}: {text} ({error.name})")
    return results[0] if len(results) == 1 else results or None


class Told:
    """Where a running launch says that it faulted, and is told to stop."""

    __slots__ = ("cancel", "fault", "fault_address")

    def __init__(self, fault: int, cancel: int) -> None:
        self.fault_address, self.cancel = fault, cancel
        self.fault = FaultRecord.from_address(fault)


class Span(Protocol):
    """Launches that belong together (span.py)."""

    def begins(self) -> None: ...


class Gpu:
    """One GPU, with its primary context."""

    def __init__(self, number: int = 0) -> None:
        call("cuInit", 0)
        self.device = call("cuDeviceGet", number)
        self.context = call("cuDevicePrimaryCtxRetain", self.device)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._free: dict[int, list[int]] = {}  # memory that is kept for the next who needs as much
        self._told: list[Told] = []
        self._events: list[Any] = []
        self._one, self._zero = ctypes.c_uint32(1), ctypes.c_uint32(0)
        self.enter()
        # Beside the launches, so that a running kernel can be told to stop.
        self._aside = call("cuStreamCreate", bindings().CUstream_flags.CU_STREAM_NON_BLOCKING)

    def _attribute(self, name: str) -> int:
        attribute = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", attribute, self.device))

    @cached_property
    def processor(self) -> str:
        return (
            f"sm_{self._attribute('COMPUTE_CAPABILITY_MAJOR')}{self._attribute('COMPUTE_CAPABILITY_MINOR')}"
        )

    @cached_property
    def overlaps(self) -> bool:
        """Whether a launch can begin before the one before it has ended."""
        return int(self.processor.removeprefix("sm_")) >= 90

    @cached_property
    def processors(self) -> int:
        return self._attribute("MULTIPROCESSOR_COUNT")

    @cached_property
    def threads(self) -> int:
        """That run at once."""
        return self._attribute("MULTIPROCESSOR_COUNT") * self._attribute("MAX_THREADS_PER_MULTIPROCESSOR")

    @cached_property
    def version(self) -> int:
        return int(call("cuDriverGetVersion"))

    @property
    def name(self) -> str:
        found = call("cuDeviceGetName", 128, self.device)
        return bytes(found).split(b"\0")[0].decode()

    def enter(self) -> None:
        """Every thread that calls the driver needs the context; its launches go into a stream of its own."""
        if not hasattr(self._own, "stream"):
            call("cuCtxSetCurrent", self.context)
            # One that waits for the default stream, where other libraries work.
            self._own.stream = call("cuStreamCreate", bindings().CUstream_flags.CU_STREAM_DEFAULT)
            self._own.handle = int(self._own.stream)
            self._own.span = None

    @property
    def stream(self) -> Any:
        return self._own.stream

    @property
    def alone(self) -> bool:
        """Whether this thread has its stream, and nothing holds its launches together."""
        return getattr(self._own, "span", self) is None

    @property
    def span(self) -> Span | None:
        """What holds launches of this thread together, where something does."""
        found: Span | None = self._own.span
        return found

    @span.setter
    def span(self, span: Span | None) -> None:
        self._own.span = span

    # ---- time -------------------------------------------------------------------------------------------------------

    def mark(self) -> Any:
        """A point in this thread's stream that knows its time."""
        with self._lock:
            event = self._events.pop() if self._events else None
        if event is None:
            event = call("cuEventCreate", 0)
        call("cuEventRecord", event, self.stream)
        return event

    def between(self, one: Any, other: Any) -> float:
        """Seconds between two such points, when both are passed. They are not to be used again."""
        call("cuEventSynchronize", other)
        milliseconds = float(call("cuEventElapsedTime", one, other))
        with self._lock:
            self._events += (one, other)
        return milliseconds / 1e3

    # ---- code -------------------------------------------------------------------------------------------------------

    def assemble(self, ptx: str) -> bytes:
        """Machine code from PTX, by the driver's compiler."""
        driver = bindings()
        room = bytes(8192)
        options = driver.CUjit_option
        keys = [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        state = call("cuLinkCreate", 2, keys, [room, len(room)])
        text = ptx.encode() + b"\0"
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        try:
            call("cuLinkAddData", state, kind, text, len(text), b"kernel", 0, [], [])
            made, size = call("cuLinkComplete", state)
            return ctypes.string_at(int(made), size)
        except DeviceError as error:
            raise DeviceError(f"{error}\n{room.rstrip(bytes(1)).decode(errors='replace')}") from None
        finally:
            driver.cuLinkDestroy(state)

    def load(self, code: bytes, kernel: str) -> Any:
        """A function of machine code, with the module that keeps it alive."""
        module = call("cuModuleLoadData", code)
        return module, call("cuModuleGetFunction", module, kernel.encode())

    def needs(self, code: bytes, kernel: str) -> tuple[int, int]:
        """Registers of a thread, and memory of its own: private arrays, and registers that were spilled."""
        module, function = self.load(code, kernel)
        what = bindings().CUfunction_attribute
        attributes = what.CU_FUNC_ATTRIBUTE_NUM_REGS, what.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
        registers, local = (int(call("cuFuncGetAttribute", one, function)) for one in attributes)
        call("cuModuleUnload", module)
        return registers, local

    def allow(self, function: Any, local: int) -> None:
        """Let a kernel have more threadgroup memory than the 48 KiB every kernel may."""
        what = bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call("cuFuncSetAttribute", function, what, local)

    # ---- memory -----------------------------------------------------------------------------------------------------

    def take(self, size: int) -> int:
        """Device memory, of what was given back where there is some."""
        size = _size_class(size)
        with self._lock:
            waiting = self._free.get(size)
            if waiting:
                return waiting.pop()
        try:
            return int(call("cuMemAlloc", size))
        except DeviceError:
            self.shrink()
            return int(call("cuMemAlloc", size))

    def give_back(self, address: int, size: int) -> None:
        with self._lock:
            self._free.setdefault(_size_class(size), []).append(address)

    def shrink(self) -> None:
        """Give memory that nobody uses back to the driver."""
        with self._lock:
            waiting, self._free = [a for found in self._free.values() for a in found], {}
        for address in waiting:
            call("cuMemFree", address)

    def upload(self, address: int, host: int, size: int) -> None:
        if size:
            call("cuMemcpyHtoDAsync", address, host, size, self.stream)

    def download(self, host: int, address: int, size: int) -> None:
        if size:
            self.fetch(host, address, size)
            self.wait()

    def fetch(self, host: int, address: int, size: int) -> None:
        """A download that nobody waits for yet."""
        call("cuMemcpyDtoHAsync", host, address, size, self.stream)

    def pin(self, size: int) -> int:
        """Memory of the host that the GPU copies from and to by itself."""
        return int(call("cuMemHostAlloc", size, 0))

    def unpin(self, host: int) -> None:
        bindings().cuMemFreeHost(host)

    # ---- launches ---------------------------------------------------------------------------------------------------

    def told(self) -> Told:
        """A place for one launch's faults; give it back with `untold`."""
        with self._lock:
            if not self._told:
                self._told = self._places()
            return self._told.pop()

    def untold(self, told: Told) -> None:
        with self._lock:
            self._told.append(told)

    def _places(self) -> list[Told]:
        host = int(call("cuMemHostAlloc", _SLOT * _SLOTS, 2))  # mapped: the GPU writes where the host reads
        ctypes.memset(host, 0, _SLOT * _SLOTS)
        seen = int(call("cuMemHostGetDevicePointer", host, 0))
        assert seen == host, "pinned memory has one address on both sides"
        words = int(call("cuMemAlloc", _SLOT * _SLOTS))
        call("cuMemsetD8", words, 0, _SLOT * _SLOTS)
        return [Told(host + n * _SLOT, words + n * _SLOT) for n in range(_SLOTS)]

    def launch(self, function: int, shape: tuple[int, ...], pointers: int, early: bool = False) -> None:
        """Start a kernel; `shape` is its grid, block and threadgroup memory, `pointers` leads to its parameters.
        `early`: it waits itself for the end of the one before."""
        if self._own.span is not None:
            self._own.span.begins()
        if early:
            config = _Config((ctypes.c_uint * 7)(*shape), self._own.handle, ctypes.pointer(_EARLY), 1)
            error = _library().cuLaunchKernelEx(ctypes.addressof(config), function, pointers, None)
        else:
            error = _library().cuLaunchKernel(function, *shape, self._own.handle, pointers, None)
        if error:
            raise DeviceError(f"[cuda] the launch failed ({_name(error)})")

    def wait(self) -> None:
        if error := _library().cuStreamSynchronize(self._own.handle):
            raise DeviceError(f"[cuda] a launch failed ({_name(error)})")

    def done(self) -> bool:
        """Whether all launches of this thread have ended."""
        driver = bindings()
        (error,) = driver.cuStreamQuery(self._own.stream)
        if error == driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if int(error):
            raise DeviceError(f"[cuda] a launch failed ({error.name})")
        return True

    # ---- recordings -------------------------------------------------------------------------------------------------

    def captured(self, launches: Callable[[], None]) -> Any:
        """What these launches are, as a graph that can be run again."""
        mode = bindings().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        call("cuStreamBeginCapture", self.stream, mode)
        try:
            launches()
        finally:
            graph = call("cuStreamEndCapture", self.stream)
        made = call("cuGraphInstantiate", graph, 0)
        call("cuGraphDestroy", graph)
        return made

    def replay(self, graph: Any) -> None:
        call("cuGraphLaunch", graph, self.stream)

    def forget(self, graph: Any) -> None:
        bindings().cuGraphExecDestroy(graph)

    # ---- a kernel that does not end ---------------------------------------------------------------------------------

    def stop(self, told: Told) -> None:
        """Tell a running kernel to stop."""
        call("cuMemcpyHtoDAsync", told.cancel, ctypes.addressof(self._one), 4, self._aside)
        call("cuStreamSynchronize", self._aside)

    def forgive(self, told: Told) -> None:
        """Make the place of a fault ready for the next launch."""
        call("cuMemcpyHtoDAsync", told.cancel, ctypes.addressof(self._zero), 4, self.stream)
        self.wait()
        ctypes.memset(told.fault_address, 0, ctypes.sizeof(FaultRecord))


def _size_class(size: int) -> int:
    """Four sizes per doubling, so that memory is used again."""
    units = max(1, -(-size // 512))
    step = 1 << max(0, (units - 1).bit_length() - 3)
    return -(-units // step) * step * 512

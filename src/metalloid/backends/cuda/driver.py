"""The CUDA driver, through cuda-bindings: modules, memory, launches. Errors are metalloid's own."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from metalloid.errors import DeviceError


@cache
def _bindings() -> Any:
    from cuda.bindings import driver

    return driver


def missing() -> str:
    """Why there is no GPU to use, in a sentence; "" where there is one."""
    try:
        driver = _bindings()
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
    driver = _bindings()
    error, *results = getattr(driver, function)(*arguments)
    if int(error):
        _, words = driver.cuGetErrorString(error)
        text = words.decode() if isinstance(words, bytes) else str(words)
        raise DeviceError(f"[cuda] {function}: {text} ({error.name})")
    return results[0] if len(results) == 1 else results or None


class Gpu:
    """One GPU, with its primary context made current."""

    def __init__(self, number: int = 0) -> None:
        call("cuInit", 0)
        self.device = call("cuDeviceGet", number)
        self.context = call("cuDevicePrimaryCtxRetain", self.device)
        call("cuCtxSetCurrent", self.context)
        attribute = _bindings().CUdevice_attribute
        major = call(
            "cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self.device
        )
        minor = call(
            "cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self.device
        )
        self.processor = f"sm_{major}{minor}"
        count = call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, self.device)
        each = call(
            "cuDeviceGetAttribute",
            attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            self.device,
        )
        self.threads = count * each  # that run at once
        # Beside the launches, so that a running kernel can be told to stop.
        self._aside = call("cuStreamCreate", _bindings().CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._one = ctypes.c_uint32(1)

    def enter(self) -> None:
        """Every thread that calls the driver needs the context."""
        call("cuCtxSetCurrent", self.context)

    @property
    def name(self) -> str:
        found = call("cuDeviceGetName", 128, self.device)
        return bytes(found).split(b"\0")[0].decode()

    def load(self, ptx: str, kernel: str) -> Any:
        """A function of a module of PTX, which the driver compiles."""
        module = call("cuModuleLoadData", ptx.encode() + b"\0")
        return module, call("cuModuleGetFunction", module, kernel.encode())

    def allocate(self, size: int) -> int:
        return int(call("cuMemAlloc", max(size, 16)))

    def free(self, address: int) -> None:
        call("cuMemFree", address)

    def upload(self, address: int, host: int, size: int) -> None:
        if size:
            call("cuMemcpyHtoD", address, host, size)

    def download(self, host: int, address: int, size: int) -> None:
        if size:
            call("cuMemcpyDtoH", host, address, size)

    def launch(
        self, function: Any, grid: tuple[int, int, int], block: tuple[int, int, int], local: int, record: Any
    ) -> None:
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(record))
        call("cuLaunchKernel", function, *grid, *block, local, 0, ctypes.addressof(parameters), 0)

    def wait(self) -> None:
        call("cuCtxSynchronize")

    def done(self) -> bool:
        """Whether all launches have ended."""
        driver = _bindings()
        (error,) = driver.cuStreamQuery(driver.CUstream(0))
        if error == driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if int(error):
            raise DeviceError(f"[cuda] a launch failed ({error.name})")
        return True

    def poke(self, address: int) -> None:
        """Write a 1 while a kernel runs."""
        call("cuMemcpyHtoDAsync", address, ctypes.addressof(self._one), 4, self._aside)
        call("cuStreamSynchronize", self._aside)

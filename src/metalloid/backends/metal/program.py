"""One kernel on an Apple GPU: library, function constants, pipeline; then launches, memory there and back."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from math import prod
from typing import Any

from metalloid.backends.backend import OnLog, Quick
from metalloid.backends.base import Fault, Guard, Launch
from metalloid.backends.metal import objc
from metalloid.backends.metal.memory import Placed
from metalloid.backends.metal.text import whole
from metalloid.errors import CompileError, DeviceError, Diagnostic, KernelFault, LaunchError
from metalloid.source import Binary, Constant, Source
from metalloid.types import Signature

_MATH = {"fast": "MTLMathModeFast", "relaxed": "MTLMathModeRelaxed", "safe": "MTLMathModeSafe"}
_CTYPES = {
    "Bool": ctypes.c_bool,
    "Char": ctypes.c_int8,
    "UChar": ctypes.c_uint8,
    "Short": ctypes.c_int16,
    "UShort": ctypes.c_uint16,
    "Int": ctypes.c_int32,
    "UInt": ctypes.c_uint32,
    "Long": ctypes.c_int64,
    "ULong": ctypes.c_uint64,
    "Float": ctypes.c_float,
}


class MetalProgram:
    """Compiled when a launch first needs it."""

    def __init__(
        self, source: Source, name: str, constants: Mapping[str | int, Constant], signature: Signature
    ) -> None:
        self._source, self._name, self._constants, self._signature = source, name, constants, signature
        self.told: Callable[[Fault, Launch], KernelFault] = lambda fault, launch: KernelFault(
            fault.text(), fault
        )
        self.noted: Any = None

    @cached_property
    def pipeline(self) -> Any:
        function = self._function()
        made, error = objc.gpu().newComputePipelineStateWithFunction_error_(function, None)
        if made is None:
            raise self._refused(error)
        return made

    def _function(self) -> Any:
        library = self._library()
        function = library.newFunctionWithName_(self._name)
        if function is None:
            raise DeviceError(f"[kernel {self._name}] Metal's library has no such function.")
        known = dict(function.functionConstantsDictionary() or {})
        if not known:
            return function
        values = objc.module().MTLFunctionConstantValues.alloc().init()
        for key, value in self._constants.items():
            constant = known.get(key) or next((c for c in known.values() if c.index() == key), None)
            if constant is not None:
                values.setConstantValue_type_withName_(
                    _bytes(value, constant.type()), constant.type(), constant.name()
                )
        made, error = library.newFunctionWithName_constantValues_error_(self._name, values, None)
        if made is None:
            raise self._refused(error)
        return made

    def _library(self) -> Any:
        gpu, source = objc.gpu(), self._source
        if isinstance(source, Binary):
            data = source.data or (source.path.read_bytes() if source.path else b"")
            made, error = gpu.newLibraryWithData_error_(_dispatch_data(data), None)
        else:
            made, error = gpu.newLibraryWithSource_options_error_(whole(source), self._options(), None)
        if made is None:
            raise self._refused(error)
        return made

    def _options(self) -> Any:
        metal = objc.module()
        options = metal.MTLCompileOptions.alloc().init()
        defines = dict(self._source.defines)
        version = defines.pop("__METAL_VERSION__", "")
        options.setPreprocessorMacros_(defines)
        if version:
            name = f"MTLLanguageVersion{version[0]}_{version[1]}"
            options.setLanguageVersion_(getattr(metal, name))
        if hasattr(options, "setMathMode_"):
            options.setMathMode_(getattr(metal, _MATH[self._source.math]))
        else:  # before macOS 15
            options.setFastMathEnabled_(self._source.math == "fast")
        return options

    def _refused(self, error: Any) -> CompileError:
        text = str(error.localizedDescription()) if error is not None else "Metal gives no reason"
        return CompileError([Diagnostic(f"Metal's own compiler: {text}", self._source.name, 0)])

    def run(
        self,
        launch: Launch,
        guard: Guard = True,
        timeout: float | None = None,
        threads: int = 1,
        backwards: bool = False,
        on_log: OnLog | None = None,
    ) -> None:
        """Memory is copied to the GPU and, where it is not const, back. Nothing is guarded, nothing is logged."""
        if 0 in launch.grid:
            return
        self._refuse(launch)
        placed = Placed(launch)
        commands = objc.queue().commandBuffer()
        encoder = commands.computeCommandEncoder()
        encoder.setComputePipelineState_(self.pipeline)
        for index, (buffer, offset) in placed.bindings.items():
            encoder.setBuffer_offset_atIndex_(buffer, offset, index)
        for index, length in launch.threadgroup_memory.items():
            encoder.setThreadgroupMemoryLength_atIndex_(-(-length // 16) * 16, index)
        size = objc.module().MTLSizeMake
        encoder.dispatchThreads_threadsPerThreadgroup_(size(*launch.grid), size(*launch.threadgroup))
        encoder.endEncoding()
        self._wait(commands, launch, timeout)
        placed.take_back()

    def _refuse(self, launch: Launch) -> None:
        if launch.resources:
            raise DeviceError(
                f"[launch {launch.kernel}] addresses of other buffers are not supported on this device: the GPU has"
                " its own."
            )
        most = int(self.pipeline.maxTotalThreadsPerThreadgroup())
        if prod(launch.threadgroup) > most:
            raise LaunchError(
                f"[launch {launch.kernel}] M302 threadgroup is {launch.threadgroup}; this kernel's limit on this GPU is"
                f" {most}.\nPass a threadgroup of {most} threads or fewer."
            )

    def _wait(self, commands: Any, launch: Launch, timeout: float | None) -> None:
        done = threading.Event()
        commands.addCompletedHandler_(lambda _: done.set())
        commands.commit()
        if not done.wait(timeout):  # the GPU stops it by itself, later
            raise self.told(Fault("", f"still running after {timeout:g} s", launch.kernel), launch)
        commands.waitUntilCompleted()
        if (error := commands.error()) is not None:
            raise DeviceError(f"[launch {launch.kernel}] Metal: {error.localizedDescription()}")

    def prepare(self, launch: Launch, guard: Guard, threads: int) -> None:
        _ = self.pipeline

    def quick(self, launch: Launch, guard: Guard, threads: int) -> Quick | None:
        return None


def _bytes(value: Constant, type: int) -> Any:
    """A constant's value in the type that the kernel declares."""
    if isinstance(value, tuple):
        raise DeviceError("[kernel] a function constant that is a vector is not supported on this device.")
    names = {int(getattr(objc.module(), f"MTLDataType{name}")): name for name in _CTYPES}
    name = names.get(int(type), "")
    if not name:
        raise DeviceError(
            f"[kernel] a function constant of Metal's type {type} is not supported on this device."
        )
    made: Any = _CTYPES[name]
    return made(value)


def _dispatch_data(data: bytes) -> Any:
    import libdispatch  # type: ignore[import-not-found,unused-ignore]  # comes with PyObjC

    return libdispatch.dispatch_data_create(data, len(data), None, None)

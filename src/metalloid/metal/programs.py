"""Libraries, functions, function constants and pipelines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from metalloid.errors import CompileError, MetalloidError
from metalloid.metal.enumerations import values
from metalloid.metal.foundation import NSData, NSError
from metalloid.metal.objects import Labelled, NSObject
from metalloid.metal.reflecting import MTLComputePipelineReflection
from metalloid.runtime.argument_encoder import ArgumentEncoder
from metalloid.runtime.datatypes import constant_of, declared_constants, type_of
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.source import Constant
from metalloid.types import Scalar

Answer = tuple[Any, NSError | None]
COMPILE_FAILURE, FUNCTION_NOT_FOUND = 3, 5
ARCHIVE = b"MTLB\0metalloid source\0"  # what libraryDataContents begins with: a text and its settings


def error_of(
    error: MetalloidError, domain: str = "MTLLibraryErrorDomain", code: int = COMPILE_FAILURE
) -> NSError:
    """What a program gets in place of a library, a function or a pipeline."""
    began = "Compilation failed: \n\n" if isinstance(error, CompileError) else ""
    return NSError(domain, code, began + str(error))


class MTLLibrary(Labelled):
    """The functions of one text, or of one library that is compiled already."""

    def __init__(self, device: NSObject, library: Library, settings: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._device, self._library, self._settings = device, library, settings

    def device(self) -> NSObject:
        return self._device

    def functionNames(self) -> tuple[str, ...]:
        return self._library.kernels

    def type(self) -> int:
        return 0

    def installName(self) -> None:
        return None

    def newFunctionWithName_(self, name: str) -> MTLFunction | None:
        """None where there is none, as Metal has it."""
        if str(name) not in self._library:
            return None
        return MTLFunction(self, str(name), {})

    def newFunctionWithName_constantValues_error_(
        self, name: str, constants: MTLFunctionConstantValues | None, error: object
    ) -> Answer:
        if str(name) not in self._library:
            return None, NSError(
                "MTLLibraryErrorDomain", FUNCTION_NOT_FOUND, f"Function {name} was not found in the library"
            )
        function = MTLFunction(self, str(name), constants._constants if constants is not None else {})
        try:
            function._kernel()
        except MetalloidError as failed:
            return None, error_of(failed)
        return function, None

    def newFunctionWithName_constantValues_completionHandler_(
        self, name: str, constants: Any, handler: Callable[[Any, Any], object]
    ) -> None:
        handler(*self.newFunctionWithName_constantValues_error_(name, constants, None))

    def newFunctionWithDescriptor_error_(self, descriptor: Any, error: object) -> Answer:
        return self.newFunctionWithName_constantValues_error_(
            descriptor.name(), descriptor.constantValues(), error
        )

    def libraryDataContents(self) -> NSData:
        """The library as bytes that `newLibraryWithData` takes: here, its text and settings."""
        if self._settings is None:
            self._assert("this library was not made from source: its bytes are those that it was made from")
        return NSData(ARCHIVE + json.dumps(self._settings).encode())


class MTLFunction(Labelled):
    """A kernel by its name, with values for its function constants."""

    def __init__(self, library: MTLLibrary, name: str, constants: dict[str | int, Any]) -> None:
        super().__init__()
        self._library, self._name, self._constants = library, name, dict(constants)

    def _kernel(self) -> Kernel:
        return self._library._library.kernel(self._name, self._constants)

    def name(self) -> str:
        return self._name

    def device(self) -> NSObject:
        return self._library.device()

    def functionType(self) -> int:
        return 3  # MTLFunctionTypeKernel

    def options(self) -> int:
        return 0

    def functionConstantsDictionary(self) -> dict[str, Any]:
        """Constants that the function needs and has no value for, by name."""
        declared = declared_constants(self._library._library.source.text)
        missing = self._kernel().signature.undefined_constants
        return {name: MTLFunctionConstant(name, *declared.get(name, (0, 0))) for name in missing}

    def newArgumentEncoderWithBufferIndex_(self, index: int) -> MTLArgumentEncoder:
        return MTLArgumentEncoder(self.device(), self._kernel().argument_encoder(int(index)))


class MTLFunctionConstant(NSObject):
    """A constant that a function needs."""

    def __init__(self, name: str, type: int, index: int) -> None:
        super().__init__()
        self._name, self._type, self._index = name, type, index

    def name(self) -> str:
        return self._name

    def type(self) -> int:
        return self._type

    def index(self) -> int:
        return self._index

    def required(self) -> bool:
        return True


class MTLFunctionConstantValues(NSObject):
    """Values by index or name; each is read from its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[str | int, Any] = {}

    def setConstantValue_type_atIndex_(self, value: Any, type: int, index: int) -> None:
        self._constants[int(index)] = constant(value, type)

    def setConstantValue_type_withName_(self, value: Any, type: int, name: str) -> None:
        self._constants[str(name)] = constant(value, type)

    def setConstantValues_type_withRange_(self, given: Any, type: int, found: Any) -> None:
        first, count = found
        data = memoryview(given).tobytes()
        size = len(data) // max(1, count)
        for n in range(count):
            self._constants[first + n] = constant(data[n * size : (n + 1) * size], type)

    def reset(self) -> None:
        self._constants.clear()


def constant(value: Any, type: int) -> Constant:
    """A function constant's value from its bytes; a Python number is taken as it is."""
    if isinstance(value, bool | int | float) and isinstance(type_of(int(type)), Scalar):
        return bool(value) if type == values()["MTLDataTypeBool"] else value
    return constant_of(int(type), b"" if isinstance(value, int | float) else memoryview(value).tobytes())


class MTLComputePipelineState(Labelled):
    """A kernel that is ready to be dispatched."""

    def __init__(self, device: NSObject, kernel: Kernel, descriptor: Any = None) -> None:
        super().__init__()
        self._device, self._kernel, self._descriptor = device, kernel, descriptor
        if descriptor is not None and descriptor.label():
            self.setLabel_(descriptor.label())

    def device(self) -> NSObject:
        return self._device

    def maxTotalThreadsPerThreadgroup(self) -> int:
        most = int(self._descriptor.maxTotalThreadsPerThreadgroup()) if self._descriptor is not None else 0
        return min(self._kernel.max_threads_per_threadgroup, most or 1024)

    def threadExecutionWidth(self) -> int:
        return self._kernel.thread_execution_width

    def staticThreadgroupMemoryLength(self) -> int:
        return self._kernel.threadgroup_memory_length

    def supportIndirectCommandBuffers(self) -> bool:
        return True

    def imageblockMemoryLengthForDimensions_(self, size: Any) -> int:
        return 0

    def reflection(self) -> MTLComputePipelineReflection:
        return MTLComputePipelineReflection(self._kernel)


class MTLArgumentEncoder(Labelled):
    """Writes the struct of an argument buffer, member by member."""

    PROPERTIES: ClassVar[dict[str, Any]] = {}

    def __init__(self, device: NSObject, encoder: ArgumentEncoder) -> None:
        super().__init__()
        self._device, self._encoder = device, encoder

    def device(self) -> NSObject:
        return self._device

    def encodedLength(self) -> int:
        return self._encoder.encoded_length

    def alignment(self) -> int:
        return self._encoder.alignment

    def setArgumentBuffer_offset_(self, buffer: Any, offset: int) -> None:
        self._encoder.set_argument_buffer(buffer._buffer, int(offset))

    def setArgumentBuffer_startOffset_arrayElement_(self, buffer: Any, offset: int, element: int) -> None:
        self._encoder.set_argument_buffer(buffer._buffer, int(offset), int(element))

    def setBuffer_offset_atIndex_(self, buffer: Any, offset: int, index: int) -> None:
        self._encoder.set_buffer(buffer._buffer if buffer is not None else None, int(offset), int(index))

    def setBuffers_offsets_withRange_(self, buffers: Any, offsets: Any, found: Any) -> None:
        first, count = found
        for n in range(count):
            self.setBuffer_offset_atIndex_(buffers[n], offsets[n], first + n)

    def constantDataAtIndex_(self, index: int) -> Any:
        from metalloid.metal.memory import varlist

        return varlist(self._encoder.constant_data(int(index)))

    def newArgumentEncoderForBufferAtIndex_(self, index: int) -> MTLArgumentEncoder:
        """For the argument buffer that a pointer of this one leads to."""
        return MTLArgumentEncoder(self._device, self._encoder.inside(int(index)))

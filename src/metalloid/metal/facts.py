"""What a device says of itself: families, limits, memory, timestamps."""

from __future__ import annotations

from typing import Any

from metalloid.metal.counters import MTLCounterSet
from metalloid.metal.enumerations import values
from metalloid.metal.objects import NSObject
from metalloid.metal.structs import MTLSize
from metalloid.runtime.device import Device

# Abilities that kernels do not have here, and one that they have.
_NO = (
    "supportsRaytracing supportsRaytracingFromRender supportsPrimitiveMotionBlur supportsFunctionPointers"
    " supportsFunctionPointersFromRender supportsDynamicLibraries supportsRenderDynamicLibraries"
    " supportsPullModelInterpolation supportsShaderBarycentricCoordinates supportsBCTextureCompression"
    " supportsQueryTextureLOD supports32BitFloatFiltering supports32BitMSAA areBarycentricCoordsSupported"
    " areProgrammableSamplePositionsSupported areRasterOrderGroupsSupported isDepth24Stencil8PixelFormatSupported"
    " isLowPower isRemovable"
).split()


class MTLArchitecture(NSObject):
    """The kind of processor."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self._name = name

    def name(self) -> str:
        return self._name


class DeviceFacts(NSObject):
    """The half of a device that only answers."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device

    def name(self) -> str:
        return self._device.info.name

    def description(self) -> str:
        return f"<MTLDevice: {id(self):#x}>\n    name = {self.name()}"

    def architecture(self) -> MTLArchitecture:
        return MTLArchitecture(self._device.info.architecture)

    def registryID(self) -> int:
        return self._device.info.registry_id

    def hasUnifiedMemory(self) -> bool:
        return self._device.info.unified_memory

    def isHeadless(self) -> bool:
        return True

    def location(self) -> int:
        return 0

    locationNumber = location

    def maxTransferRate(self) -> int:
        return 0

    def maxThreadsPerThreadgroup(self) -> MTLSize:
        most = self._device.info.max_threads_per_threadgroup
        return MTLSize(most, most, most)

    def maxThreadgroupMemoryLength(self) -> int:
        return self._device.info.max_threadgroup_memory

    def maxBufferLength(self) -> int:
        return self._device.info.max_buffer_length

    def recommendedMaxWorkingSetSize(self) -> int:
        return self._device.info.working_set

    def currentAllocatedSize(self) -> int:
        return self._device.current_allocated_size

    def maxArgumentBufferSamplerCount(self) -> int:
        return 0

    def argumentBuffersSupport(self) -> int:
        return self._device.info.argument_buffers - 1  # MTLArgumentBuffersTier2 is 1

    def readWriteTextureSupport(self) -> int:
        return 0

    def sparseTileSizeInBytes(self) -> int:
        return 16384

    def supportsFamily_(self, family: int) -> bool:
        known = (
            name.removeprefix("MTLGPUFamily").lower() for name, number in _families() if number == family
        )
        return any(self._device.supports_family(name) for name in known)

    def supportsFeatureSet_(self, features: int) -> bool:
        return 10000 <= features <= 10005  # those of macOS

    def supportsTextureSampleCount_(self, count: int) -> bool:
        return False

    def supportsCounterSampling_(self, point: int) -> bool:
        return point in (0, 2, 4)  # at the stages of a pass, at dispatches, at blits

    def counterSets(self) -> tuple[MTLCounterSet, ...]:
        return (MTLCounterSet(),)

    def sampleTimestamps_gpuTimestamp_(self, cpu: object, gpu: object) -> tuple[int, int]:
        now = self._device.timestamps()
        return now.cpu, now.gpu


def _families() -> list[tuple[str, int]]:
    return [(name, value) for name, value in values().items() if name.startswith("MTLGPUFamily")]


def _never(name: str) -> Any:
    def no(self: DeviceFacts) -> bool:
        return False

    no.__name__ = name
    return no


for _name in _NO:
    setattr(DeviceFacts, _name, _never(_name))

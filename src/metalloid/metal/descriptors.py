"""Descriptors: objects that only hold settings. Each is a row of properties with Apple's defaults."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from metalloid.metal.counters import MTLSampleBufferAttachments
from metalloid.metal.foundation import NSError
from metalloid.metal.objects import Labelled, NSObject

FAST, SAFE, RELAXED = 2, 0, 1  # MTLMathMode


class MTLCompileOptions(NSObject):
    """How a text is compiled. `fastMathEnabled` and `mathMode` are two names of one setting."""

    PROPERTIES: ClassVar[dict[str, Any]] = {
        "preprocessorMacros": dict,
        "languageVersion": 0x30002,
        "mathMode": FAST,
        "mathFloatingPointFunctions": 0,
        "libraryType": 0,
        "installName": None,
        "libraries": None,
        "preserveInvariance": False,
        "optimizationLevel": 0,
        "compileSymbolVisibility": 0,
        "allowReferencingUndefinedSymbols": False,
        "maxTotalThreadsPerThreadgroup": 0,
        "enableLogging": False,
        "requiredThreadsPerThreadgroup": None,
    }

    def fastMathEnabled(self) -> bool:
        return bool(self.mathMode() == FAST)

    def setFastMathEnabled_(self, enabled: bool) -> None:
        self.setMathMode_(FAST if enabled else SAFE)

    def _settings(self) -> dict[str, Any]:
        """The same as `device.library` takes it."""
        number = int(self.languageVersion())
        macros = {str(k): 1 if v is None else v for k, v in dict(self.preprocessorMacros() or {}).items()}
        return {
            "math": {FAST: "fast", SAFE: "safe", RELAXED: "relaxed"}[int(self.mathMode())],
            "defines": macros,
            "language_version": f"{number >> 16}.{number & 0xFFFF}",
        }


class MTLComputePipelineDescriptor(Labelled):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "computeFunction": None,
        "threadGroupSizeIsMultipleOfThreadExecutionWidth": False,
        "maxTotalThreadsPerThreadgroup": 0,
        "maxCallStackDepth": 1,
        "supportIndirectCommandBuffers": False,
        "stageInputDescriptor": None,
        "linkedFunctions": None,
        "binaryArchives": None,
        "preloadedLibraries": None,
        "supportAddingBinaryFunctions": False,
        "shaderValidation": 0,
        "requiredThreadsPerThreadgroup": None,
    }

    def reset(self) -> None:
        self._values.clear()


class MTLFunctionDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "name": None,
        "specializedName": None,
        "constantValues": None,
        "options": 0,
        "binaryArchives": None,
    }

    @classmethod
    def functionDescriptor(cls) -> Self:
        return cls()


class MTLCommandBufferDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {"retainedReferences": True, "errorOptions": 0, "logState": None}


class MTLCommandQueueDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {"maxCommandBufferCount": 64, "logState": None}


class MTLComputePassDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "dispatchType": 0,
        "sampleBufferAttachments": MTLSampleBufferAttachments,
    }

    @classmethod
    def computePassDescriptor(cls) -> Self:
        return cls()


class MTLBlitPassDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {"sampleBufferAttachments": MTLSampleBufferAttachments}

    @classmethod
    def blitPassDescriptor(cls) -> Self:
        return cls()


class MTLHeapDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "size": 0,
        "storageMode": 2,
        "cpuCacheMode": 0,
        "hazardTrackingMode": 0,
        "resourceOptions": 0x20,
        "type": 0,
    }


class MTLIndirectCommandBufferDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "commandTypes": 0,
        "inheritPipelineState": True,
        "inheritBuffers": True,
        "maxVertexBufferBindCount": 31,
        "maxFragmentBufferBindCount": 31,
        "maxKernelBufferBindCount": 31,
        "maxKernelThreadgroupMemoryBindCount": 31,
        "supportRayTracing": False,
        "supportDynamicAttributeStride": False,
    }


class MTLArgumentDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {
        "dataType": 0,
        "index": 0,
        "arrayLength": 0,
        "access": 0,
        "textureType": 0,
        "constantBlockAlignment": 0,
    }

    @classmethod
    def argumentDescriptor(cls) -> Self:
        return cls()


class MTLBinaryArchiveDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {"url": None}


class MTLResidencySetDescriptor(Labelled):
    PROPERTIES: ClassVar[dict[str, Any]] = {"initialCapacity": 0}


class MTLCaptureDescriptor(NSObject):
    PROPERTIES: ClassVar[dict[str, Any]] = {"captureObject": None, "destination": 1, "outputURL": None}


class MTLCaptureManager(NSObject):
    """GPU captures are Xcode's; METALLOID_TRACE=1 prints every step instead."""

    PROPERTIES: ClassVar[dict[str, Any]] = {"defaultCaptureScope": None}

    @classmethod
    def sharedCaptureManager(cls) -> Self:
        return cls()

    def supportsDestination_(self, destination: int) -> bool:
        return False

    def isCapturing(self) -> bool:
        return False

    def startCaptureWithDescriptor_error_(self, descriptor: Any, error: object) -> tuple[bool, NSError]:
        text = "Capturing is not supported by metalloid; METALLOID_TRACE=1 prints every step."
        return False, NSError("MTLCaptureErrorDomain", 1, text)

    def stopCapture(self) -> None:
        """Nothing was captured."""

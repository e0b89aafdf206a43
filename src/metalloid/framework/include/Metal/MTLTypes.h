// Numbers and small structures of Metal's compute half.
#ifndef METALLOID_MTLTYPES_H
#define METALLOID_MTLTYPES_H

#include <Foundation/NSObjCRuntime.h>

typedef enum MTLDataType : NSUInteger {
    MTLDataTypeNone = 0,
    MTLDataTypeStruct = 1,
    MTLDataTypeArray = 2,
    MTLDataTypeFloat = 3,
    MTLDataTypeFloat2 = 4,
    MTLDataTypeFloat3 = 5,
    MTLDataTypeFloat4 = 6,
    MTLDataTypeHalf = 16,
    MTLDataTypeHalf2 = 17,
    MTLDataTypeHalf3 = 18,
    MTLDataTypeHalf4 = 19,
    MTLDataTypeInt = 29,
    MTLDataTypeInt2 = 30,
    MTLDataTypeInt3 = 31,
    MTLDataTypeInt4 = 32,
    MTLDataTypeUInt = 33,
    MTLDataTypeUInt2 = 34,
    MTLDataTypeUInt3 = 35,
    MTLDataTypeUInt4 = 36,
    MTLDataTypeShort = 37,
    MTLDataTypeShort2 = 38,
    MTLDataTypeShort3 = 39,
    MTLDataTypeShort4 = 40,
    MTLDataTypeUShort = 41,
    MTLDataTypeUShort2 = 42,
    MTLDataTypeUShort3 = 43,
    MTLDataTypeUShort4 = 44,
    MTLDataTypeChar = 45,
    MTLDataTypeChar2 = 46,
    MTLDataTypeChar3 = 47,
    MTLDataTypeChar4 = 48,
    MTLDataTypeUChar = 49,
    MTLDataTypeUChar2 = 50,
    MTLDataTypeUChar3 = 51,
    MTLDataTypeUChar4 = 52,
    MTLDataTypeBool = 53,
    MTLDataTypeBool2 = 54,
    MTLDataTypeBool3 = 55,
    MTLDataTypeBool4 = 56,
    MTLDataTypeLong = 81,
    MTLDataTypeLong2 = 82,
    MTLDataTypeLong3 = 83,
    MTLDataTypeLong4 = 84,
    MTLDataTypeULong = 85,
    MTLDataTypeULong2 = 86,
    MTLDataTypeULong3 = 87,
    MTLDataTypeULong4 = 88,
    MTLDataTypeBFloat = 121,
    MTLDataTypeBFloat2 = 122,
    MTLDataTypeBFloat3 = 123,
    MTLDataTypeBFloat4 = 124,
    MTLDataTypeFloat2x2 = 7,
    MTLDataTypeFloat2x3 = 8,
    MTLDataTypeFloat2x4 = 9,
    MTLDataTypeFloat3x2 = 10,
    MTLDataTypeFloat3x3 = 11,
    MTLDataTypeFloat3x4 = 12,
    MTLDataTypeFloat4x2 = 13,
    MTLDataTypeFloat4x3 = 14,
    MTLDataTypeFloat4x4 = 15,
    MTLDataTypeHalf2x2 = 20,
    MTLDataTypeHalf2x3 = 21,
    MTLDataTypeHalf2x4 = 22,
    MTLDataTypeHalf3x2 = 23,
    MTLDataTypeHalf3x3 = 24,
    MTLDataTypeHalf3x4 = 25,
    MTLDataTypeHalf4x2 = 26,
    MTLDataTypeHalf4x3 = 27,
    MTLDataTypeHalf4x4 = 28,
    MTLDataTypeTexture = 58,
    MTLDataTypeSampler = 59,
    MTLDataTypePointer = 60,
    MTLDataTypeComputePipeline = 79,
    MTLDataTypeIndirectCommandBuffer = 80,
} MTLDataType;

typedef enum MTLResourceOptions : NSUInteger {
    MTLResourceCPUCacheModeDefaultCache = 0,
    MTLResourceCPUCacheModeWriteCombined = 1,
    MTLResourceStorageModeShared = 0,
    MTLResourceStorageModeManaged = 1 << 4,
    MTLResourceStorageModePrivate = 1 << 5,
    MTLResourceStorageModeMemoryless = 3 << 4,
    MTLResourceHazardTrackingModeDefault = 0,
    MTLResourceHazardTrackingModeUntracked = 1 << 8,
    MTLResourceHazardTrackingModeTracked = 1 << 9,
} MTLResourceOptions;

typedef enum MTLStorageMode : NSUInteger {
    MTLStorageModeShared = 0,
    MTLStorageModeManaged = 1,
    MTLStorageModePrivate = 2,
    MTLStorageModeMemoryless = 3,
} MTLStorageMode;

typedef enum MTLCPUCacheMode : NSUInteger {
    MTLCPUCacheModeDefaultCache = 0,
    MTLCPUCacheModeWriteCombined = 1,
} MTLCPUCacheMode;

typedef enum MTLHazardTrackingMode : NSUInteger {
    MTLHazardTrackingModeDefault = 0,
    MTLHazardTrackingModeUntracked = 1,
    MTLHazardTrackingModeTracked = 2,
} MTLHazardTrackingMode;

typedef enum MTLPurgeableState : NSUInteger {
    MTLPurgeableStateKeepCurrent = 1,
    MTLPurgeableStateNonVolatile = 2,
    MTLPurgeableStateVolatile = 3,
    MTLPurgeableStateEmpty = 4,
} MTLPurgeableState;

typedef enum MTLResourceUsage : NSUInteger {
    MTLResourceUsageRead = 1,
    MTLResourceUsageWrite = 2,
    MTLResourceUsageSample = 4,
} MTLResourceUsage;

typedef enum MTLCommandBufferStatus : NSUInteger {
    MTLCommandBufferStatusNotEnqueued = 0,
    MTLCommandBufferStatusEnqueued = 1,
    MTLCommandBufferStatusCommitted = 2,
    MTLCommandBufferStatusScheduled = 3,
    MTLCommandBufferStatusCompleted = 4,
    MTLCommandBufferStatusError = 5,
} MTLCommandBufferStatus;

typedef enum MTLCommandBufferError : NSUInteger {
    MTLCommandBufferErrorNone = 0,
    MTLCommandBufferErrorInternal = 1,
    MTLCommandBufferErrorTimeout = 2,
    MTLCommandBufferErrorPageFault = 3,
    MTLCommandBufferErrorAccessRevoked = 4,
    MTLCommandBufferErrorNotPermitted = 7,
    MTLCommandBufferErrorOutOfMemory = 8,
    MTLCommandBufferErrorInvalidResource = 9,
} MTLCommandBufferError;

typedef enum MTLCommandBufferErrorOption : NSUInteger {
    MTLCommandBufferErrorOptionNone = 0,
    MTLCommandBufferErrorOptionEncoderExecutionStatus = 1,
} MTLCommandBufferErrorOption;

typedef enum MTLDispatchType : NSUInteger {
    MTLDispatchTypeSerial = 0,
    MTLDispatchTypeConcurrent = 1,
} MTLDispatchType;

typedef enum MTLBarrierScope : NSUInteger {
    MTLBarrierScopeBuffers = 1,
    MTLBarrierScopeTextures = 2,
} MTLBarrierScope;

typedef enum MTLLanguageVersion : NSUInteger {
    MTLLanguageVersion1_0 = 65536,
    MTLLanguageVersion1_1 = 65537,
    MTLLanguageVersion1_2 = 65538,
    MTLLanguageVersion2_0 = 131072,
    MTLLanguageVersion2_1 = 131073,
    MTLLanguageVersion2_2 = 131074,
    MTLLanguageVersion2_3 = 131075,
    MTLLanguageVersion2_4 = 131076,
    MTLLanguageVersion3_0 = 196608,
    MTLLanguageVersion3_1 = 196609,
    MTLLanguageVersion3_2 = 196610,
    MTLLanguageVersion4_0 = 262144,
} MTLLanguageVersion;

typedef enum MTLMathMode : NSInteger {
    MTLMathModeSafe = 0,
    MTLMathModeRelaxed = 1,
    MTLMathModeFast = 2,
} MTLMathMode;

typedef enum MTLMathFloatingPointFunctions : NSInteger {
    MTLMathFloatingPointFunctionsFast = 0,
    MTLMathFloatingPointFunctionsPrecise = 1,
} MTLMathFloatingPointFunctions;

typedef enum MTLLibraryType : NSInteger {
    MTLLibraryTypeExecutable = 0,
    MTLLibraryTypeDynamic = 1,
} MTLLibraryType;

typedef enum MTLLibraryOptimizationLevel : NSInteger {
    MTLLibraryOptimizationLevelDefault = 0,
    MTLLibraryOptimizationLevelSize = 1,
} MTLLibraryOptimizationLevel;

typedef enum MTLLibraryError : NSUInteger {
    MTLLibraryErrorUnsupported = 1,
    MTLLibraryErrorInternal = 2,
    MTLLibraryErrorCompileFailure = 3,
    MTLLibraryErrorCompileWarning = 4,
    MTLLibraryErrorFunctionNotFound = 5,
    MTLLibraryErrorFileNotFound = 6,
} MTLLibraryError;

typedef enum MTLFunctionType : NSUInteger {
    MTLFunctionTypeVertex = 1,
    MTLFunctionTypeFragment = 2,
    MTLFunctionTypeKernel = 3,
    MTLFunctionTypeVisible = 5,
} MTLFunctionType;

typedef enum MTLGPUFamily : NSInteger {
    MTLGPUFamilyApple1 = 1001,
    MTLGPUFamilyApple2 = 1002,
    MTLGPUFamilyApple3 = 1003,
    MTLGPUFamilyApple4 = 1004,
    MTLGPUFamilyApple5 = 1005,
    MTLGPUFamilyApple6 = 1006,
    MTLGPUFamilyApple7 = 1007,
    MTLGPUFamilyApple8 = 1008,
    MTLGPUFamilyApple9 = 1009,
    MTLGPUFamilyApple10 = 1010,
    MTLGPUFamilyMac1 = 2001,
    MTLGPUFamilyMac2 = 2002,
    MTLGPUFamilyCommon1 = 3001,
    MTLGPUFamilyCommon2 = 3002,
    MTLGPUFamilyCommon3 = 3003,
    MTLGPUFamilyMetal3 = 5001,
    MTLGPUFamilyMetal4 = 5002,
} MTLGPUFamily;

typedef enum MTLArgumentBuffersTier : NSUInteger {
    MTLArgumentBuffersTier1 = 0,
    MTLArgumentBuffersTier2 = 1,
} MTLArgumentBuffersTier;

typedef enum MTLReadWriteTextureTier : NSUInteger {
    MTLReadWriteTextureTierNone = 0,
    MTLReadWriteTextureTier1 = 1,
    MTLReadWriteTextureTier2 = 2,
} MTLReadWriteTextureTier;

typedef enum MTLDeviceLocation : NSUInteger {
    MTLDeviceLocationBuiltIn = 0,
    MTLDeviceLocationSlot = 1,
    MTLDeviceLocationExternal = 2,
    MTLDeviceLocationUnspecified = NSUIntegerMax,
} MTLDeviceLocation;

typedef enum MTLPipelineOption : NSUInteger {
    MTLPipelineOptionNone = 0,
    MTLPipelineOptionArgumentInfo = 1,
    MTLPipelineOptionBindingInfo = 1,
    MTLPipelineOptionBufferTypeInfo = 2,
    MTLPipelineOptionFailOnBinaryArchiveMiss = 4,
} MTLPipelineOption;

typedef enum MTLHeapType : NSInteger {
    MTLHeapTypeAutomatic = 0,
    MTLHeapTypePlacement = 1,
    MTLHeapTypeSparse = 2,
} MTLHeapType;

typedef enum MTLBindingType : NSInteger {
    MTLBindingTypeBuffer = 0,
    MTLBindingTypeThreadgroupMemory = 1,
    MTLBindingTypeTexture = 2,
    MTLBindingTypeSampler = 3,
} MTLBindingType;

typedef enum MTLBindingAccess : NSUInteger {
    MTLBindingAccessReadOnly = 0,
    MTLBindingAccessReadWrite = 1,
    MTLBindingAccessWriteOnly = 2,
} MTLBindingAccess;

typedef enum MTLCaptureDestination : NSInteger {
    MTLCaptureDestinationDeveloperTools = 1,
    MTLCaptureDestinationGPUTraceDocument = 2,
} MTLCaptureDestination;

typedef enum MTLCaptureError : NSInteger {
    MTLCaptureErrorNotSupported = 1,
    MTLCaptureErrorAlreadyCapturing = 2,
    MTLCaptureErrorInvalidDescriptor = 3,
} MTLCaptureError;

typedef enum MTLBlitOption : NSUInteger {
    MTLBlitOptionNone = 0,
} MTLBlitOption;

typedef enum MTLIndirectCommandType : NSUInteger {
    MTLIndirectCommandTypeDraw = 1,
    MTLIndirectCommandTypeDrawIndexed = 2,
    MTLIndirectCommandTypeDrawPatches = 4,
    MTLIndirectCommandTypeDrawIndexedPatches = 8,
    MTLIndirectCommandTypeConcurrentDispatch = 32,
    MTLIndirectCommandTypeConcurrentDispatchThreads = 64,
} MTLIndirectCommandType;

typedef struct {
    uint32_t location, length;
} MTLIndirectCommandBufferExecutionRange;

typedef enum MTLCounterSamplingPoint : NSUInteger {
    MTLCounterSamplingPointAtStageBoundary = 0,
    MTLCounterSamplingPointAtDrawBoundary = 1,
    MTLCounterSamplingPointAtDispatchBoundary = 2,
    MTLCounterSamplingPointAtTileDispatchBoundary = 3,
    MTLCounterSamplingPointAtBlitBoundary = 4,
} MTLCounterSamplingPoint;

typedef struct {
    NSUInteger width, height, depth;
} MTLSize;

typedef struct {
    NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
    MTLOrigin origin;
    MTLSize size;
} MTLRegion;

typedef struct {
    NSUInteger size, align;
} MTLSizeAndAlign;

typedef struct {
    uint64_t _impl;
} MTLResourceID;

typedef struct {
    uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;

typedef uint64_t MTLGPUAddress;
typedef uint64_t MTLTimestamp;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
    MTLSize size = {width, height, depth};
    return size;
}

static inline MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
    MTLOrigin origin = {x, y, z};
    return origin;
}

#endif

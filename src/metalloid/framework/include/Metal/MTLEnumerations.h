// Metal's enumerations with Apple's values. Python's `import Metal` reads its numbers from this file too
// (metalloid/metal/enumerations.py).
#ifndef METALLOID_MTLENUMERATIONS_H
#define METALLOID_MTLENUMERATIONS_H

#include <Foundation/NSObjCRuntime.h>

typedef enum MTLAccelerationStructureInstanceDescriptorType : NSUInteger {
    MTLAccelerationStructureInstanceDescriptorTypeDefault = 0,
    MTLAccelerationStructureInstanceDescriptorTypeUserID = 1,
    MTLAccelerationStructureInstanceDescriptorTypeMotion = 2,
    MTLAccelerationStructureInstanceDescriptorTypeIndirect = 3,
    MTLAccelerationStructureInstanceDescriptorTypeIndirectMotion = 4,
} MTLAccelerationStructureInstanceDescriptorType;

typedef enum MTLAccelerationStructureInstanceOptions : NSUInteger {
    MTLAccelerationStructureInstanceOptionNone = 0, MTLAccelerationStructureInstanceOptionDisableTriangleCulling = 1,
    MTLAccelerationStructureInstanceOptionTriangleFrontFacingWindingCounterClockwise = 2,
    MTLAccelerationStructureInstanceOptionOpaque = 4, MTLAccelerationStructureInstanceOptionNonOpaque = 8,
} MTLAccelerationStructureInstanceOptions;

typedef enum MTLAccelerationStructureRefitOptions : NSUInteger {
    MTLAccelerationStructureRefitOptionVertexData = 1, MTLAccelerationStructureRefitOptionPerPrimitiveData = 2,
} MTLAccelerationStructureRefitOptions;

typedef enum MTLAccelerationStructureUsage : NSUInteger {
    MTLAccelerationStructureUsageNone = 0, MTLAccelerationStructureUsageRefit = 1,
    MTLAccelerationStructureUsagePreferFastBuild = 2, MTLAccelerationStructureUsageExtendedLimits = 4,
    MTLAccelerationStructureUsagePreferFastIntersection = 16, MTLAccelerationStructureUsageMinimizeMemory = 32,
} MTLAccelerationStructureUsage;

typedef enum MTLArgumentAccess : NSUInteger {
    MTLArgumentAccessReadOnly = 0, MTLArgumentAccessReadWrite = 1, MTLArgumentAccessWriteOnly = 2,
} MTLArgumentAccess;

typedef enum MTLArgumentBuffersTier : NSUInteger {
    MTLArgumentBuffersTier1 = 0, MTLArgumentBuffersTier2 = 1,
} MTLArgumentBuffersTier;

typedef enum MTLArgumentType : NSUInteger {
    MTLArgumentTypeBuffer = 0, MTLArgumentTypeThreadgroupMemory = 1, MTLArgumentTypeTexture = 2,
    MTLArgumentTypeSampler = 3, MTLArgumentTypeImageblockData = 16, MTLArgumentTypeImageblock = 17,
    MTLArgumentTypeVisibleFunctionTable = 24, MTLArgumentTypePrimitiveAccelerationStructure = 25,
    MTLArgumentTypeInstanceAccelerationStructure = 26, MTLArgumentTypeIntersectionFunctionTable = 27,
} MTLArgumentType;

typedef enum MTLAttributeFormat : NSUInteger {
    MTLAttributeFormatInvalid = 0, MTLAttributeFormatUChar2 = 1, MTLAttributeFormatUChar3 = 2,
    MTLAttributeFormatUChar4 = 3, MTLAttributeFormatChar2 = 4, MTLAttributeFormatChar3 = 5,
    MTLAttributeFormatChar4 = 6, MTLAttributeFormatUChar2Normalized = 7, MTLAttributeFormatUChar3Normalized = 8,
    MTLAttributeFormatUChar4Normalized = 9, MTLAttributeFormatChar2Normalized = 10,
    MTLAttributeFormatChar3Normalized = 11, MTLAttributeFormatChar4Normalized = 12, MTLAttributeFormatUShort2 = 13,
    MTLAttributeFormatUShort3 = 14, MTLAttributeFormatUShort4 = 15, MTLAttributeFormatShort2 = 16,
    MTLAttributeFormatShort3 = 17, MTLAttributeFormatShort4 = 18, MTLAttributeFormatUShort2Normalized = 19,
    MTLAttributeFormatUShort3Normalized = 20, MTLAttributeFormatUShort4Normalized = 21,
    MTLAttributeFormatShort2Normalized = 22, MTLAttributeFormatShort3Normalized = 23,
    MTLAttributeFormatShort4Normalized = 24, MTLAttributeFormatHalf2 = 25, MTLAttributeFormatHalf3 = 26,
    MTLAttributeFormatHalf4 = 27, MTLAttributeFormatFloat = 28, MTLAttributeFormatFloat2 = 29,
    MTLAttributeFormatFloat3 = 30, MTLAttributeFormatFloat4 = 31, MTLAttributeFormatInt = 32,
    MTLAttributeFormatInt2 = 33, MTLAttributeFormatInt3 = 34, MTLAttributeFormatInt4 = 35,
    MTLAttributeFormatUInt = 36, MTLAttributeFormatUInt2 = 37, MTLAttributeFormatUInt3 = 38,
    MTLAttributeFormatUInt4 = 39, MTLAttributeFormatInt1010102Normalized = 40,
    MTLAttributeFormatUInt1010102Normalized = 41, MTLAttributeFormatUChar4Normalized_BGRA = 42,
    MTLAttributeFormatUChar = 45, MTLAttributeFormatChar = 46, MTLAttributeFormatUCharNormalized = 47,
    MTLAttributeFormatCharNormalized = 48, MTLAttributeFormatUShort = 49, MTLAttributeFormatShort = 50,
    MTLAttributeFormatUShortNormalized = 51, MTLAttributeFormatShortNormalized = 52, MTLAttributeFormatHalf = 53,
    MTLAttributeFormatFloatRG11B10 = 54, MTLAttributeFormatFloatRGB9E5 = 55,
} MTLAttributeFormat;

typedef enum MTLBarrierScope : NSUInteger {
    MTLBarrierScopeBuffers = 1, MTLBarrierScopeTextures = 2, MTLBarrierScopeRenderTargets = 4,
} MTLBarrierScope;

typedef enum MTLBinaryArchiveError : NSUInteger {
    MTLBinaryArchiveErrorNone = 0, MTLBinaryArchiveErrorInvalidFile = 1, MTLBinaryArchiveErrorUnexpectedElement = 2,
    MTLBinaryArchiveErrorCompilationFailure = 3, MTLBinaryArchiveErrorInternalError = 4,
} MTLBinaryArchiveError;

typedef enum MTLBindingAccess : NSUInteger {
    MTLBindingAccessReadOnly = 0, MTLBindingAccessReadWrite = 1, MTLBindingAccessWriteOnly = 2,
} MTLBindingAccess;

typedef enum MTLBindingType : NSInteger {
    MTLBindingTypeBuffer = 0, MTLBindingTypeThreadgroupMemory = 1, MTLBindingTypeTexture = 2,
    MTLBindingTypeSampler = 3, MTLBindingTypeImageblockData = 16, MTLBindingTypeImageblock = 17,
    MTLBindingTypeVisibleFunctionTable = 24, MTLBindingTypePrimitiveAccelerationStructure = 25,
    MTLBindingTypeInstanceAccelerationStructure = 26, MTLBindingTypeIntersectionFunctionTable = 27,
    MTLBindingTypeObjectPayload = 34, MTLBindingTypeTensor = 37,
} MTLBindingType;

typedef enum MTLBlendFactor : NSUInteger {
    MTLBlendFactorZero = 0, MTLBlendFactorOne = 1, MTLBlendFactorSourceColor = 2,
    MTLBlendFactorOneMinusSourceColor = 3, MTLBlendFactorSourceAlpha = 4, MTLBlendFactorOneMinusSourceAlpha = 5,
    MTLBlendFactorDestinationColor = 6, MTLBlendFactorOneMinusDestinationColor = 7,
    MTLBlendFactorDestinationAlpha = 8, MTLBlendFactorOneMinusDestinationAlpha = 9,
    MTLBlendFactorSourceAlphaSaturated = 10, MTLBlendFactorBlendColor = 11, MTLBlendFactorOneMinusBlendColor = 12,
    MTLBlendFactorBlendAlpha = 13, MTLBlendFactorOneMinusBlendAlpha = 14, MTLBlendFactorSource1Color = 15,
    MTLBlendFactorOneMinusSource1Color = 16, MTLBlendFactorSource1Alpha = 17, MTLBlendFactorOneMinusSource1Alpha = 18,
    MTLBlendFactorUnspecialized = 19,
} MTLBlendFactor;

typedef enum MTLBlendOperation : NSUInteger {
    MTLBlendOperationAdd = 0, MTLBlendOperationSubtract = 1, MTLBlendOperationReverseSubtract = 2,
    MTLBlendOperationMin = 3, MTLBlendOperationMax = 4, MTLBlendOperationUnspecialized = 5,
} MTLBlendOperation;

typedef enum MTLBlitOption : NSUInteger {
    MTLBlitOptionNone = 0, MTLBlitOptionDepthFromDepthStencil = 1, MTLBlitOptionStencilFromDepthStencil = 2,
    MTLBlitOptionRowLinearPVRTC = 4,
} MTLBlitOption;

typedef enum MTLBufferSparseTier : NSUInteger {
    MTLBufferSparseTierNone = 0, MTLBufferSparseTier1 = 1,
} MTLBufferSparseTier;

typedef enum MTLCPUCacheMode : NSUInteger {
    MTLCPUCacheModeDefaultCache = 0, MTLCPUCacheModeWriteCombined = 1,
} MTLCPUCacheMode;

typedef enum MTLCaptureDestination : NSInteger {
    MTLCaptureDestinationDeveloperTools = 1, MTLCaptureDestinationGPUTraceDocument = 2,
} MTLCaptureDestination;

typedef enum MTLCaptureError : NSInteger {
    MTLCaptureErrorNotSupported = 1, MTLCaptureErrorAlreadyCapturing = 2, MTLCaptureErrorInvalidDescriptor = 3,
} MTLCaptureError;

typedef enum MTLColorWriteMask : NSUInteger {
    MTLColorWriteMaskNone = 0, MTLColorWriteMaskAlpha = 1, MTLColorWriteMaskBlue = 2, MTLColorWriteMaskGreen = 4,
    MTLColorWriteMaskRed = 8, MTLColorWriteMaskAll = 15, MTLColorWriteMaskUnspecialized = 16,
} MTLColorWriteMask;

typedef enum MTLCommandBufferError : NSUInteger {
    MTLCommandBufferErrorNone = 0, MTLCommandBufferErrorInternal = 1, MTLCommandBufferErrorTimeout = 2,
    MTLCommandBufferErrorPageFault = 3, MTLCommandBufferErrorAccessRevoked = 4, MTLCommandBufferErrorBlacklisted = 4,
    MTLCommandBufferErrorNotPermitted = 7, MTLCommandBufferErrorOutOfMemory = 8,
    MTLCommandBufferErrorInvalidResource = 9, MTLCommandBufferErrorMemoryless = 10,
    MTLCommandBufferErrorDeviceRemoved = 11, MTLCommandBufferErrorStackOverflow = 12,
} MTLCommandBufferError;

typedef enum MTLCommandBufferErrorOption : NSUInteger {
    MTLCommandBufferErrorOptionNone = 0, MTLCommandBufferErrorOptionEncoderExecutionStatus = 1,
} MTLCommandBufferErrorOption;

typedef enum MTLCommandBufferStatus : NSUInteger {
    MTLCommandBufferStatusNotEnqueued = 0, MTLCommandBufferStatusEnqueued = 1, MTLCommandBufferStatusCommitted = 2,
    MTLCommandBufferStatusScheduled = 3, MTLCommandBufferStatusCompleted = 4, MTLCommandBufferStatusError = 5,
} MTLCommandBufferStatus;

typedef enum MTLCommandEncoderErrorState : NSUInteger {
    MTLCommandEncoderErrorStateUnknown = 0, MTLCommandEncoderErrorStateCompleted = 1,
    MTLCommandEncoderErrorStateAffected = 2, MTLCommandEncoderErrorStatePending = 3,
    MTLCommandEncoderErrorStateFaulted = 4,
} MTLCommandEncoderErrorState;

typedef enum MTLCompareFunction : NSUInteger {
    MTLCompareFunctionNever = 0, MTLCompareFunctionLess = 1, MTLCompareFunctionEqual = 2,
    MTLCompareFunctionLessEqual = 3, MTLCompareFunctionGreater = 4, MTLCompareFunctionNotEqual = 5,
    MTLCompareFunctionGreaterEqual = 6, MTLCompareFunctionAlways = 7,
} MTLCompareFunction;

typedef enum MTLCompileSymbolVisibility : NSUInteger {
    MTLCompileSymbolVisibilityDefault = 0, MTLCompileSymbolVisibilityHidden = 1,
} MTLCompileSymbolVisibility;

typedef enum MTLCounterSampleBufferError : NSUInteger {
    MTLCounterSampleBufferErrorOutOfMemory = 0, MTLCounterSampleBufferErrorInvalid = 1,
    MTLCounterSampleBufferErrorInternal = 2,
} MTLCounterSampleBufferError;

typedef enum MTLCounterSamplingPoint : NSUInteger {
    MTLCounterSamplingPointAtStageBoundary = 0, MTLCounterSamplingPointAtDrawBoundary = 1,
    MTLCounterSamplingPointAtDispatchBoundary = 2, MTLCounterSamplingPointAtTileDispatchBoundary = 3,
    MTLCounterSamplingPointAtBlitBoundary = 4,
} MTLCounterSamplingPoint;

typedef enum MTLCullMode : NSUInteger {
    MTLCullModeNone = 0, MTLCullModeFront = 1, MTLCullModeBack = 2,
} MTLCullMode;

typedef enum MTLCurveBasis : NSUInteger {
    MTLCurveBasisBSpline = 0, MTLCurveBasisCatmullRom = 1, MTLCurveBasisLinear = 2, MTLCurveBasisBezier = 3,
} MTLCurveBasis;

typedef enum MTLCurveEndCaps : NSUInteger {
    MTLCurveEndCapsNone = 0, MTLCurveEndCapsDisk = 1, MTLCurveEndCapsSphere = 2,
} MTLCurveEndCaps;

typedef enum MTLCurveType : NSUInteger {
    MTLCurveTypeRound = 0, MTLCurveTypeFlat = 1,
} MTLCurveType;

typedef enum MTLDataType : NSUInteger {
    MTLDataTypeNone = 0, MTLDataTypeStruct = 1, MTLDataTypeArray = 2, MTLDataTypeFloat = 3, MTLDataTypeFloat2 = 4,
    MTLDataTypeFloat3 = 5, MTLDataTypeFloat4 = 6, MTLDataTypeFloat2x2 = 7, MTLDataTypeFloat2x3 = 8,
    MTLDataTypeFloat2x4 = 9, MTLDataTypeFloat3x2 = 10, MTLDataTypeFloat3x3 = 11, MTLDataTypeFloat3x4 = 12,
    MTLDataTypeFloat4x2 = 13, MTLDataTypeFloat4x3 = 14, MTLDataTypeFloat4x4 = 15, MTLDataTypeHalf = 16,
    MTLDataTypeHalf2 = 17, MTLDataTypeHalf3 = 18, MTLDataTypeHalf4 = 19, MTLDataTypeHalf2x2 = 20,
    MTLDataTypeHalf2x3 = 21, MTLDataTypeHalf2x4 = 22, MTLDataTypeHalf3x2 = 23, MTLDataTypeHalf3x3 = 24,
    MTLDataTypeHalf3x4 = 25, MTLDataTypeHalf4x2 = 26, MTLDataTypeHalf4x3 = 27, MTLDataTypeHalf4x4 = 28,
    MTLDataTypeInt = 29, MTLDataTypeInt2 = 30, MTLDataTypeInt3 = 31, MTLDataTypeInt4 = 32, MTLDataTypeUInt = 33,
    MTLDataTypeUInt2 = 34, MTLDataTypeUInt3 = 35, MTLDataTypeUInt4 = 36, MTLDataTypeShort = 37,
    MTLDataTypeShort2 = 38, MTLDataTypeShort3 = 39, MTLDataTypeShort4 = 40, MTLDataTypeUShort = 41,
    MTLDataTypeUShort2 = 42, MTLDataTypeUShort3 = 43, MTLDataTypeUShort4 = 44, MTLDataTypeChar = 45,
    MTLDataTypeChar2 = 46, MTLDataTypeChar3 = 47, MTLDataTypeChar4 = 48, MTLDataTypeUChar = 49,
    MTLDataTypeUChar2 = 50, MTLDataTypeUChar3 = 51, MTLDataTypeUChar4 = 52, MTLDataTypeBool = 53,
    MTLDataTypeBool2 = 54, MTLDataTypeBool3 = 55, MTLDataTypeBool4 = 56, MTLDataTypeTexture = 58,
    MTLDataTypeSampler = 59, MTLDataTypePointer = 60, MTLDataTypeR8Unorm = 62, MTLDataTypeR8Snorm = 63,
    MTLDataTypeR16Unorm = 64, MTLDataTypeR16Snorm = 65, MTLDataTypeRG8Unorm = 66, MTLDataTypeRG8Snorm = 67,
    MTLDataTypeRG16Unorm = 68, MTLDataTypeRG16Snorm = 69, MTLDataTypeRGBA8Unorm = 70, MTLDataTypeRGBA8Unorm_sRGB = 71,
    MTLDataTypeRGBA8Snorm = 72, MTLDataTypeRGBA16Unorm = 73, MTLDataTypeRGBA16Snorm = 74,
    MTLDataTypeRGB10A2Unorm = 75, MTLDataTypeRG11B10Float = 76, MTLDataTypeRGB9E5Float = 77,
    MTLDataTypeRenderPipeline = 78, MTLDataTypeComputePipeline = 79, MTLDataTypeIndirectCommandBuffer = 80,
    MTLDataTypeLong = 81, MTLDataTypeLong2 = 82, MTLDataTypeLong3 = 83, MTLDataTypeLong4 = 84, MTLDataTypeULong = 85,
    MTLDataTypeULong2 = 86, MTLDataTypeULong3 = 87, MTLDataTypeULong4 = 88, MTLDataTypeVisibleFunctionTable = 115,
    MTLDataTypeIntersectionFunctionTable = 116, MTLDataTypePrimitiveAccelerationStructure = 117,
    MTLDataTypeInstanceAccelerationStructure = 118, MTLDataTypeBFloat = 121, MTLDataTypeBFloat2 = 122,
    MTLDataTypeBFloat3 = 123, MTLDataTypeBFloat4 = 124, MTLDataTypeDepthStencilState = 139, MTLDataTypeTensor = 140,
} MTLDataType;

typedef enum MTLDepthClipMode : NSUInteger {
    MTLDepthClipModeClip = 0, MTLDepthClipModeClamp = 1,
} MTLDepthClipMode;

typedef enum MTLDeviceError : NSUInteger {
    MTLDeviceErrorNone = 0, MTLDeviceErrorNotSupported = 1,
} MTLDeviceError;

typedef enum MTLDeviceLocation : NSUInteger {
    MTLDeviceLocationBuiltIn = 0, MTLDeviceLocationSlot = 1, MTLDeviceLocationExternal = 2,
    MTLDeviceLocationUnspecified = 18446744073709551615ull,
} MTLDeviceLocation;

typedef enum MTLDispatchType : NSUInteger {
    MTLDispatchTypeSerial = 0, MTLDispatchTypeConcurrent = 1,
} MTLDispatchType;

typedef enum MTLDynamicLibraryError : NSUInteger {
    MTLDynamicLibraryErrorNone = 0, MTLDynamicLibraryErrorInvalidFile = 1,
    MTLDynamicLibraryErrorCompilationFailure = 2, MTLDynamicLibraryErrorUnresolvedInstallName = 3,
    MTLDynamicLibraryErrorDependencyLoadFailure = 4, MTLDynamicLibraryErrorUnsupported = 5,
} MTLDynamicLibraryError;

typedef enum MTLFeatureSet : NSUInteger {
    MTLFeatureSet_iOS_GPUFamily1_v1 = 0, MTLFeatureSet_iOS_GPUFamily2_v1 = 1, MTLFeatureSet_iOS_GPUFamily1_v2 = 2,
    MTLFeatureSet_iOS_GPUFamily2_v2 = 3, MTLFeatureSet_iOS_GPUFamily3_v1 = 4, MTLFeatureSet_iOS_GPUFamily1_v3 = 5,
    MTLFeatureSet_iOS_GPUFamily2_v3 = 6, MTLFeatureSet_iOS_GPUFamily3_v2 = 7, MTLFeatureSet_iOS_GPUFamily1_v4 = 8,
    MTLFeatureSet_iOS_GPUFamily2_v4 = 9, MTLFeatureSet_iOS_GPUFamily3_v3 = 10, MTLFeatureSet_iOS_GPUFamily4_v1 = 11,
    MTLFeatureSet_iOS_GPUFamily1_v5 = 12, MTLFeatureSet_iOS_GPUFamily2_v5 = 13, MTLFeatureSet_iOS_GPUFamily3_v4 = 14,
    MTLFeatureSet_iOS_GPUFamily4_v2 = 15, MTLFeatureSet_iOS_GPUFamily5_v1 = 16,
    MTLFeatureSet_OSX_GPUFamily1_v1 = 10000, MTLFeatureSet_macOS_GPUFamily1_v1 = 10000,
    MTLFeatureSet_OSX_GPUFamily1_v2 = 10001, MTLFeatureSet_macOS_GPUFamily1_v2 = 10001,
    MTLFeatureSet_OSX_ReadWriteTextureTier2 = 10002, MTLFeatureSet_macOS_ReadWriteTextureTier2 = 10002,
    MTLFeatureSet_macOS_GPUFamily1_v3 = 10003, MTLFeatureSet_macOS_GPUFamily1_v4 = 10004,
    MTLFeatureSet_macOS_GPUFamily2_v1 = 10005, MTLFeatureSet_TVOS_GPUFamily1_v1 = 30000,
    MTLFeatureSet_tvOS_GPUFamily1_v1 = 30000, MTLFeatureSet_tvOS_GPUFamily1_v2 = 30001,
    MTLFeatureSet_tvOS_GPUFamily1_v3 = 30002, MTLFeatureSet_tvOS_GPUFamily2_v1 = 30003,
    MTLFeatureSet_tvOS_GPUFamily1_v4 = 30004, MTLFeatureSet_tvOS_GPUFamily2_v2 = 30005,
} MTLFeatureSet;

typedef enum MTLFunctionLogType : NSUInteger {
    MTLFunctionLogTypeValidation = 0,
} MTLFunctionLogType;

typedef enum MTLFunctionOptions : NSUInteger {
    MTLFunctionOptionNone = 0, MTLFunctionOptionCompileToBinary = 1,
    MTLFunctionOptionStoreFunctionInMetalPipelinesScript = 2, MTLFunctionOptionStoreFunctionInMetalScript = 2,
    MTLFunctionOptionFailOnBinaryArchiveMiss = 4, MTLFunctionOptionPipelineIndependent = 8,
} MTLFunctionOptions;

typedef enum MTLFunctionType : NSUInteger {
    MTLFunctionTypeVertex = 1, MTLFunctionTypeFragment = 2, MTLFunctionTypeKernel = 3, MTLFunctionTypeVisible = 5,
    MTLFunctionTypeIntersection = 6, MTLFunctionTypeMesh = 7, MTLFunctionTypeObject = 8,
} MTLFunctionType;

typedef enum MTLGPUFamily : NSInteger {
    MTLGPUFamilyApple1 = 1001, MTLGPUFamilyApple2 = 1002, MTLGPUFamilyApple3 = 1003, MTLGPUFamilyApple4 = 1004,
    MTLGPUFamilyApple5 = 1005, MTLGPUFamilyApple6 = 1006, MTLGPUFamilyApple7 = 1007, MTLGPUFamilyApple8 = 1008,
    MTLGPUFamilyApple9 = 1009, MTLGPUFamilyApple10 = 1010, MTLGPUFamilyMac1 = 2001, MTLGPUFamilyMac2 = 2002,
    MTLGPUFamilyCommon1 = 3001, MTLGPUFamilyCommon2 = 3002, MTLGPUFamilyCommon3 = 3003,
    MTLGPUFamilyMacCatalyst1 = 4001, MTLGPUFamilyMacCatalyst2 = 4002, MTLGPUFamilyMetal3 = 5001,
    MTLGPUFamilyMetal4 = 5002,
} MTLGPUFamily;

typedef enum MTLHazardTrackingMode : NSUInteger {
    MTLHazardTrackingModeDefault = 0, MTLHazardTrackingModeUntracked = 1, MTLHazardTrackingModeTracked = 2,
} MTLHazardTrackingMode;

typedef enum MTLHeapType : NSInteger {
    MTLHeapTypeAutomatic = 0, MTLHeapTypePlacement = 1, MTLHeapTypeSparse = 2,
} MTLHeapType;

typedef enum MTLIOCommandQueueType : NSUInteger {
    MTLIOCommandQueueTypeConcurrent = 0, MTLIOCommandQueueTypeSerial = 1,
} MTLIOCommandQueueType;

typedef enum MTLIOCompressionMethod : NSUInteger {
    MTLIOCompressionMethodZlib = 0, MTLIOCompressionMethodLZFSE = 1, MTLIOCompressionMethodLZ4 = 2,
    MTLIOCompressionMethodLZMA = 3, MTLIOCompressionMethodLZBitmap = 4,
} MTLIOCompressionMethod;

typedef enum MTLIOCompressionStatus : NSUInteger {
    MTLIOCompressionStatusComplete = 0, MTLIOCompressionStatusError = 1,
} MTLIOCompressionStatus;

typedef enum MTLIOError : NSUInteger {
    MTLIOErrorURLInvalid = 1, MTLIOErrorInternal = 2,
} MTLIOError;

typedef enum MTLIOPriority : NSUInteger {
    MTLIOPriorityHigh = 0, MTLIOPriorityNormal = 1, MTLIOPriorityLow = 2,
} MTLIOPriority;

typedef enum MTLIOStatus : NSUInteger {
    MTLIOStatusPending = 0, MTLIOStatusCancelled = 1, MTLIOStatusError = 2, MTLIOStatusComplete = 3,
} MTLIOStatus;

typedef enum MTLIndexType : NSUInteger {
    MTLIndexTypeUInt16 = 0, MTLIndexTypeUInt32 = 1,
} MTLIndexType;

typedef enum MTLIndirectCommandType : NSUInteger {
    MTLIndirectCommandTypeDraw = 1, MTLIndirectCommandTypeDrawIndexed = 2, MTLIndirectCommandTypeDrawPatches = 4,
    MTLIndirectCommandTypeDrawIndexedPatches = 8, MTLIndirectCommandTypeConcurrentDispatch = 32,
    MTLIndirectCommandTypeConcurrentDispatchThreads = 64, MTLIndirectCommandTypeDrawMeshThreadgroups = 128,
    MTLIndirectCommandTypeDrawMeshThreads = 256,
} MTLIndirectCommandType;

typedef enum MTLIntersectionFunctionSignature : NSUInteger {
    MTLIntersectionFunctionSignatureNone = 0, MTLIntersectionFunctionSignatureInstancing = 1,
    MTLIntersectionFunctionSignatureTriangleData = 2, MTLIntersectionFunctionSignatureWorldSpaceData = 4,
    MTLIntersectionFunctionSignatureInstanceMotion = 8, MTLIntersectionFunctionSignaturePrimitiveMotion = 16,
    MTLIntersectionFunctionSignatureExtendedLimits = 32, MTLIntersectionFunctionSignatureMaxLevels = 64,
    MTLIntersectionFunctionSignatureCurveData = 128, MTLIntersectionFunctionSignatureIntersectionFunctionBuffer = 256,
    MTLIntersectionFunctionSignatureUserData = 512,
} MTLIntersectionFunctionSignature;

typedef enum MTLLanguageVersion : NSUInteger {
    MTLLanguageVersion1_0 = 65536, MTLLanguageVersion1_1 = 65537, MTLLanguageVersion1_2 = 65538,
    MTLLanguageVersion2_0 = 131072, MTLLanguageVersion2_1 = 131073, MTLLanguageVersion2_2 = 131074,
    MTLLanguageVersion2_3 = 131075, MTLLanguageVersion2_4 = 131076, MTLLanguageVersion3_0 = 196608,
    MTLLanguageVersion3_1 = 196609, MTLLanguageVersion3_2 = 196610, MTLLanguageVersion4_0 = 262144,
} MTLLanguageVersion;

typedef enum MTLLibraryError : NSUInteger {
    MTLLibraryErrorUnsupported = 1, MTLLibraryErrorInternal = 2, MTLLibraryErrorCompileFailure = 3,
    MTLLibraryErrorCompileWarning = 4, MTLLibraryErrorFunctionNotFound = 5, MTLLibraryErrorFileNotFound = 6,
} MTLLibraryError;

typedef enum MTLLibraryOptimizationLevel : NSInteger {
    MTLLibraryOptimizationLevelDefault = 0, MTLLibraryOptimizationLevelSize = 1,
} MTLLibraryOptimizationLevel;

typedef enum MTLLibraryType : NSInteger {
    MTLLibraryTypeExecutable = 0, MTLLibraryTypeDynamic = 1,
} MTLLibraryType;

typedef enum MTLLoadAction : NSUInteger {
    MTLLoadActionDontCare = 0, MTLLoadActionLoad = 1, MTLLoadActionClear = 2,
} MTLLoadAction;

typedef enum MTLLogLevel : NSUInteger {
    MTLLogLevelUndefined = 0, MTLLogLevelDebug = 1, MTLLogLevelInfo = 2, MTLLogLevelNotice = 3, MTLLogLevelError = 4,
    MTLLogLevelFault = 5,
} MTLLogLevel;

typedef enum MTLLogStateError : NSUInteger {
    MTLLogStateErrorInvalidSize = 1, MTLLogStateErrorInvalid = 2,
} MTLLogStateError;

typedef enum MTLMathFloatingPointFunctions : NSInteger {
    MTLMathFloatingPointFunctionsFast = 0, MTLMathFloatingPointFunctionsPrecise = 1,
} MTLMathFloatingPointFunctions;

typedef enum MTLMathMode : NSInteger {
    MTLMathModeSafe = 0, MTLMathModeRelaxed = 1, MTLMathModeFast = 2,
} MTLMathMode;

typedef enum MTLMatrixLayout : NSUInteger {
    MTLMatrixLayoutColumnMajor = 0, MTLMatrixLayoutRowMajor = 1,
} MTLMatrixLayout;

typedef enum MTLMotionBorderMode : NSUInteger {
    MTLMotionBorderModeClamp = 0, MTLMotionBorderModeVanish = 1,
} MTLMotionBorderMode;

typedef enum MTLMultisampleDepthResolveFilter : NSUInteger {
    MTLMultisampleDepthResolveFilterSample0 = 0, MTLMultisampleDepthResolveFilterMin = 1,
    MTLMultisampleDepthResolveFilterMax = 2,
} MTLMultisampleDepthResolveFilter;

typedef enum MTLMultisampleStencilResolveFilter : NSUInteger {
    MTLMultisampleStencilResolveFilterSample0 = 0, MTLMultisampleStencilResolveFilterDepthResolvedSample = 1,
} MTLMultisampleStencilResolveFilter;

typedef enum MTLMutability : NSUInteger {
    MTLMutabilityDefault = 0, MTLMutabilityMutable = 1, MTLMutabilityImmutable = 2,
} MTLMutability;

typedef enum MTLPatchType : NSUInteger {
    MTLPatchTypeNone = 0, MTLPatchTypeTriangle = 1, MTLPatchTypeQuad = 2,
} MTLPatchType;

typedef enum MTLPipelineOption : NSUInteger {
    MTLPipelineOptionNone = 0, MTLPipelineOptionArgumentInfo = 1, MTLPipelineOptionBindingInfo = 1,
    MTLPipelineOptionBufferTypeInfo = 2, MTLPipelineOptionFailOnBinaryArchiveMiss = 4,
} MTLPipelineOption;

typedef enum MTLPixelFormat : NSUInteger {
    MTLPixelFormatInvalid = 0, MTLPixelFormatA8Unorm = 1, MTLPixelFormatR8Unorm = 10, MTLPixelFormatR8Unorm_sRGB = 11,
    MTLPixelFormatR8Snorm = 12, MTLPixelFormatR8Uint = 13, MTLPixelFormatR8Sint = 14, MTLPixelFormatR16Unorm = 20,
    MTLPixelFormatR16Snorm = 22, MTLPixelFormatR16Uint = 23, MTLPixelFormatR16Sint = 24, MTLPixelFormatR16Float = 25,
    MTLPixelFormatRG8Unorm = 30, MTLPixelFormatRG8Unorm_sRGB = 31, MTLPixelFormatRG8Snorm = 32,
    MTLPixelFormatRG8Uint = 33, MTLPixelFormatRG8Sint = 34, MTLPixelFormatB5G6R5Unorm = 40,
    MTLPixelFormatA1BGR5Unorm = 41, MTLPixelFormatABGR4Unorm = 42, MTLPixelFormatBGR5A1Unorm = 43,
    MTLPixelFormatR32Uint = 53, MTLPixelFormatR32Sint = 54, MTLPixelFormatR32Float = 55, MTLPixelFormatRG16Unorm = 60,
    MTLPixelFormatRG16Snorm = 62, MTLPixelFormatRG16Uint = 63, MTLPixelFormatRG16Sint = 64,
    MTLPixelFormatRG16Float = 65, MTLPixelFormatRGBA8Unorm = 70, MTLPixelFormatRGBA8Unorm_sRGB = 71,
    MTLPixelFormatRGBA8Snorm = 72, MTLPixelFormatRGBA8Uint = 73, MTLPixelFormatRGBA8Sint = 74,
    MTLPixelFormatBGRA8Unorm = 80, MTLPixelFormatBGRA8Unorm_sRGB = 81, MTLPixelFormatRGB10A2Unorm = 90,
    MTLPixelFormatRGB10A2Uint = 91, MTLPixelFormatRG11B10Float = 92, MTLPixelFormatRGB9E5Float = 93,
    MTLPixelFormatBGR10A2Unorm = 94, MTLPixelFormatRG32Uint = 103, MTLPixelFormatRG32Sint = 104,
    MTLPixelFormatRG32Float = 105, MTLPixelFormatRGBA16Unorm = 110, MTLPixelFormatRGBA16Snorm = 112,
    MTLPixelFormatRGBA16Uint = 113, MTLPixelFormatRGBA16Sint = 114, MTLPixelFormatRGBA16Float = 115,
    MTLPixelFormatRGBA32Uint = 123, MTLPixelFormatRGBA32Sint = 124, MTLPixelFormatRGBA32Float = 125,
    MTLPixelFormatBC1_RGBA = 130, MTLPixelFormatBC1_RGBA_sRGB = 131, MTLPixelFormatBC2_RGBA = 132,
    MTLPixelFormatBC2_RGBA_sRGB = 133, MTLPixelFormatBC3_RGBA = 134, MTLPixelFormatBC3_RGBA_sRGB = 135,
    MTLPixelFormatBC4_RUnorm = 140, MTLPixelFormatBC4_RSnorm = 141, MTLPixelFormatBC5_RGUnorm = 142,
    MTLPixelFormatBC5_RGSnorm = 143, MTLPixelFormatBC6H_RGBFloat = 150, MTLPixelFormatBC6H_RGBUfloat = 151,
    MTLPixelFormatBC7_RGBAUnorm = 152, MTLPixelFormatBC7_RGBAUnorm_sRGB = 153, MTLPixelFormatPVRTC_RGB_2BPP = 160,
    MTLPixelFormatPVRTC_RGB_2BPP_sRGB = 161, MTLPixelFormatPVRTC_RGB_4BPP = 162,
    MTLPixelFormatPVRTC_RGB_4BPP_sRGB = 163, MTLPixelFormatPVRTC_RGBA_2BPP = 164,
    MTLPixelFormatPVRTC_RGBA_2BPP_sRGB = 165, MTLPixelFormatPVRTC_RGBA_4BPP = 166,
    MTLPixelFormatPVRTC_RGBA_4BPP_sRGB = 167, MTLPixelFormatEAC_R11Unorm = 170, MTLPixelFormatEAC_R11Snorm = 172,
    MTLPixelFormatEAC_RG11Unorm = 174, MTLPixelFormatEAC_RG11Snorm = 176, MTLPixelFormatEAC_RGBA8 = 178,
    MTLPixelFormatEAC_RGBA8_sRGB = 179, MTLPixelFormatETC2_RGB8 = 180, MTLPixelFormatETC2_RGB8_sRGB = 181,
    MTLPixelFormatETC2_RGB8A1 = 182, MTLPixelFormatETC2_RGB8A1_sRGB = 183, MTLPixelFormatASTC_4x4_sRGB = 186,
    MTLPixelFormatASTC_5x4_sRGB = 187, MTLPixelFormatASTC_5x5_sRGB = 188, MTLPixelFormatASTC_6x5_sRGB = 189,
    MTLPixelFormatASTC_6x6_sRGB = 190, MTLPixelFormatASTC_8x5_sRGB = 192, MTLPixelFormatASTC_8x6_sRGB = 193,
    MTLPixelFormatASTC_8x8_sRGB = 194, MTLPixelFormatASTC_10x5_sRGB = 195, MTLPixelFormatASTC_10x6_sRGB = 196,
    MTLPixelFormatASTC_10x8_sRGB = 197, MTLPixelFormatASTC_10x10_sRGB = 198, MTLPixelFormatASTC_12x10_sRGB = 199,
    MTLPixelFormatASTC_12x12_sRGB = 200, MTLPixelFormatASTC_4x4_LDR = 204, MTLPixelFormatASTC_5x4_LDR = 205,
    MTLPixelFormatASTC_5x5_LDR = 206, MTLPixelFormatASTC_6x5_LDR = 207, MTLPixelFormatASTC_6x6_LDR = 208,
    MTLPixelFormatASTC_8x5_LDR = 210, MTLPixelFormatASTC_8x6_LDR = 211, MTLPixelFormatASTC_8x8_LDR = 212,
    MTLPixelFormatASTC_10x5_LDR = 213, MTLPixelFormatASTC_10x6_LDR = 214, MTLPixelFormatASTC_10x8_LDR = 215,
    MTLPixelFormatASTC_10x10_LDR = 216, MTLPixelFormatASTC_12x10_LDR = 217, MTLPixelFormatASTC_12x12_LDR = 218,
    MTLPixelFormatASTC_4x4_HDR = 222, MTLPixelFormatASTC_5x4_HDR = 223, MTLPixelFormatASTC_5x5_HDR = 224,
    MTLPixelFormatASTC_6x5_HDR = 225, MTLPixelFormatASTC_6x6_HDR = 226, MTLPixelFormatASTC_8x5_HDR = 228,
    MTLPixelFormatASTC_8x6_HDR = 229, MTLPixelFormatASTC_8x8_HDR = 230, MTLPixelFormatASTC_10x5_HDR = 231,
    MTLPixelFormatASTC_10x6_HDR = 232, MTLPixelFormatASTC_10x8_HDR = 233, MTLPixelFormatASTC_10x10_HDR = 234,
    MTLPixelFormatASTC_12x10_HDR = 235, MTLPixelFormatASTC_12x12_HDR = 236, MTLPixelFormatGBGR422 = 240,
    MTLPixelFormatBGRG422 = 241, MTLPixelFormatDepth16Unorm = 250, MTLPixelFormatDepth32Float = 252,
    MTLPixelFormatStencil8 = 253, MTLPixelFormatDepth24Unorm_Stencil8 = 255,
    MTLPixelFormatDepth32Float_Stencil8 = 260, MTLPixelFormatX32_Stencil8 = 261, MTLPixelFormatX24_Stencil8 = 262,
    MTLPixelFormatUnspecialized = 263, MTLPixelFormatBGRA10_XR = 552, MTLPixelFormatBGRA10_XR_sRGB = 553,
    MTLPixelFormatBGR10_XR = 554, MTLPixelFormatBGR10_XR_sRGB = 555,
} MTLPixelFormat;

typedef enum MTLPrimitiveTopologyClass : NSUInteger {
    MTLPrimitiveTopologyClassUnspecified = 0, MTLPrimitiveTopologyClassPoint = 1, MTLPrimitiveTopologyClassLine = 2,
    MTLPrimitiveTopologyClassTriangle = 3,
} MTLPrimitiveTopologyClass;

typedef enum MTLPrimitiveType : NSUInteger {
    MTLPrimitiveTypePoint = 0, MTLPrimitiveTypeLine = 1, MTLPrimitiveTypeLineStrip = 2, MTLPrimitiveTypeTriangle = 3,
    MTLPrimitiveTypeTriangleStrip = 4,
} MTLPrimitiveType;

typedef enum MTLPurgeableState : NSUInteger {
    MTLPurgeableStateKeepCurrent = 1, MTLPurgeableStateNonVolatile = 2, MTLPurgeableStateVolatile = 3,
    MTLPurgeableStateEmpty = 4,
} MTLPurgeableState;

typedef enum MTLReadWriteTextureTier : NSUInteger {
    MTLReadWriteTextureTierNone = 0, MTLReadWriteTextureTier1 = 1, MTLReadWriteTextureTier2 = 2,
} MTLReadWriteTextureTier;

typedef enum MTLRenderStages : NSUInteger {
    MTLRenderStageVertex = 1, MTLRenderStageFragment = 2, MTLRenderStageTile = 4, MTLRenderStageObject = 8,
    MTLRenderStageMesh = 16,
} MTLRenderStages;

typedef enum MTLResourceOptions : NSUInteger {
    MTLResourceCPUCacheModeDefaultCache = 0, MTLResourceCPUCacheModeShift = 0,
    MTLResourceHazardTrackingModeDefault = 0, MTLResourceOptionCPUCacheModeDefault = 0,
    MTLResourceStorageModeShared = 0, MTLResourceCPUCacheModeWriteCombined = 1,
    MTLResourceOptionCPUCacheModeWriteCombined = 1, MTLResourceStorageModeShift = 4,
    MTLResourceHazardTrackingModeShift = 8, MTLResourceStorageModeManaged = 16, MTLResourceStorageModePrivate = 32,
    MTLResourceStorageModeMemoryless = 48, MTLResourceHazardTrackingModeUntracked = 256,
    MTLResourceHazardTrackingModeTracked = 512,
} MTLResourceOptions;

typedef enum MTLResourceUsage : NSUInteger {
    MTLResourceUsageRead = 1, MTLResourceUsageWrite = 2, MTLResourceUsageSample = 4,
} MTLResourceUsage;

typedef enum MTLSamplerAddressMode : NSUInteger {
    MTLSamplerAddressModeClampToEdge = 0, MTLSamplerAddressModeMirrorClampToEdge = 1, MTLSamplerAddressModeRepeat = 2,
    MTLSamplerAddressModeMirrorRepeat = 3, MTLSamplerAddressModeClampToZero = 4,
    MTLSamplerAddressModeClampToBorderColor = 5,
} MTLSamplerAddressMode;

typedef enum MTLSamplerBorderColor : NSUInteger {
    MTLSamplerBorderColorTransparentBlack = 0, MTLSamplerBorderColorOpaqueBlack = 1,
    MTLSamplerBorderColorOpaqueWhite = 2,
} MTLSamplerBorderColor;

typedef enum MTLSamplerMinMagFilter : NSUInteger {
    MTLSamplerMinMagFilterNearest = 0, MTLSamplerMinMagFilterLinear = 1,
} MTLSamplerMinMagFilter;

typedef enum MTLSamplerMipFilter : NSUInteger {
    MTLSamplerMipFilterNotMipmapped = 0, MTLSamplerMipFilterNearest = 1, MTLSamplerMipFilterLinear = 2,
} MTLSamplerMipFilter;

typedef enum MTLSamplerReductionMode : NSUInteger {
    MTLSamplerReductionModeWeightedAverage = 0, MTLSamplerReductionModeMinimum = 1,
    MTLSamplerReductionModeMaximum = 2,
} MTLSamplerReductionMode;

typedef enum MTLShaderValidation : NSUInteger {
    MTLShaderValidationDefault = 0, MTLShaderValidationEnabled = 1, MTLShaderValidationDisabled = 2,
} MTLShaderValidation;

typedef enum MTLSparsePageSize : NSUInteger {
    MTLSparsePageSize16 = 101, MTLSparsePageSize64 = 102, MTLSparsePageSize256 = 103,
} MTLSparsePageSize;

typedef enum MTLSparseTextureMappingMode : NSUInteger {
    MTLSparseTextureMappingModeMap = 0, MTLSparseTextureMappingModeUnmap = 1,
} MTLSparseTextureMappingMode;

typedef enum MTLSparseTextureRegionAlignmentMode : NSUInteger {
    MTLSparseTextureRegionAlignmentModeOutward = 0, MTLSparseTextureRegionAlignmentModeInward = 1,
} MTLSparseTextureRegionAlignmentMode;

typedef enum MTLStages : NSUInteger {
    MTLStageVertex = 1, MTLStageFragment = 2, MTLStageTile = 4, MTLStageObject = 8, MTLStageMesh = 16,
    MTLStageResourceState = 67108864, MTLStageDispatch = 134217728, MTLStageBlit = 268435456,
    MTLStageAccelerationStructure = 536870912, MTLStageMachineLearning = 1073741824,
    MTLStageAll = 9223372036854775807ull,
} MTLStages;

typedef enum MTLStencilOperation : NSUInteger {
    MTLStencilOperationKeep = 0, MTLStencilOperationZero = 1, MTLStencilOperationReplace = 2,
    MTLStencilOperationIncrementClamp = 3, MTLStencilOperationDecrementClamp = 4, MTLStencilOperationInvert = 5,
    MTLStencilOperationIncrementWrap = 6, MTLStencilOperationDecrementWrap = 7,
} MTLStencilOperation;

typedef enum MTLStepFunction : NSUInteger {
    MTLStepFunctionConstant = 0, MTLStepFunctionPerVertex = 1, MTLStepFunctionPerInstance = 2,
    MTLStepFunctionPerPatch = 3, MTLStepFunctionPerPatchControlPoint = 4, MTLStepFunctionThreadPositionInGridX = 5,
    MTLStepFunctionThreadPositionInGridY = 6, MTLStepFunctionThreadPositionInGridXIndexed = 7,
    MTLStepFunctionThreadPositionInGridYIndexed = 8,
} MTLStepFunction;

typedef enum MTLStitchedLibraryOptions : NSUInteger {
    MTLStitchedLibraryOptionNone = 0, MTLStitchedLibraryOptionFailOnBinaryArchiveMiss = 1,
    MTLStitchedLibraryOptionStoreLibraryInMetalPipelinesScript = 2,
    MTLStitchedLibraryOptionStoreLibraryInMetalScript = 2,
} MTLStitchedLibraryOptions;

typedef enum MTLStorageMode : NSUInteger {
    MTLStorageModeShared = 0, MTLStorageModeManaged = 1, MTLStorageModePrivate = 2, MTLStorageModeMemoryless = 3,
} MTLStorageMode;

typedef enum MTLStoreAction : NSUInteger {
    MTLStoreActionDontCare = 0, MTLStoreActionOptionNone = 0, MTLStoreActionOptionCustomSamplePositions = 1,
    MTLStoreActionStore = 1, MTLStoreActionMultisampleResolve = 2, MTLStoreActionStoreAndMultisampleResolve = 3,
    MTLStoreActionUnknown = 4, MTLStoreActionCustomSampleDepthStore = 5,
} MTLStoreAction;

typedef enum MTLTensorDataType : NSUInteger {
    MTLTensorDataTypeNone = 0, MTLTensorDataTypeFloat32 = 3, MTLTensorDataTypeFloat16 = 16,
    MTLTensorDataTypeInt32 = 29, MTLTensorDataTypeUInt32 = 33, MTLTensorDataTypeInt16 = 37,
    MTLTensorDataTypeUInt16 = 41, MTLTensorDataTypeInt8 = 45, MTLTensorDataTypeUInt8 = 49,
    MTLTensorDataTypeBFloat16 = 121, MTLTensorDataTypeInt4 = 143, MTLTensorDataTypeUInt4 = 144,
} MTLTensorDataType;

typedef enum MTLTensorError : NSUInteger {
    MTLTensorErrorNone = 0, MTLTensorErrorInternalError = 1, MTLTensorErrorInvalidDescriptor = 2,
} MTLTensorError;

typedef enum MTLTensorUsage : NSUInteger {
    MTLTensorUsageCompute = 1, MTLTensorUsageRender = 2, MTLTensorUsageMachineLearning = 4,
} MTLTensorUsage;

typedef enum MTLTessellationControlPointIndexType : NSUInteger {
    MTLTessellationControlPointIndexTypeNone = 0, MTLTessellationControlPointIndexTypeUInt16 = 1,
    MTLTessellationControlPointIndexTypeUInt32 = 2,
} MTLTessellationControlPointIndexType;

typedef enum MTLTessellationFactorFormat : NSUInteger {
    MTLTessellationFactorFormatHalf = 0,
} MTLTessellationFactorFormat;

typedef enum MTLTessellationFactorStepFunction : NSUInteger {
    MTLTessellationFactorStepFunctionConstant = 0, MTLTessellationFactorStepFunctionPerPatch = 1,
    MTLTessellationFactorStepFunctionPerInstance = 2, MTLTessellationFactorStepFunctionPerPatchAndPerInstance = 3,
} MTLTessellationFactorStepFunction;

typedef enum MTLTessellationPartitionMode : NSUInteger {
    MTLTessellationPartitionModePow2 = 0, MTLTessellationPartitionModeInteger = 1,
    MTLTessellationPartitionModeFractionalOdd = 2, MTLTessellationPartitionModeFractionalEven = 3,
} MTLTessellationPartitionMode;

typedef enum MTLTextureCompressionType : NSUInteger {
    MTLTextureCompressionTypeLossless = 0, MTLTextureCompressionTypeLossy = 1,
} MTLTextureCompressionType;

typedef enum MTLTextureSparseTier : NSUInteger {
    MTLTextureSparseTierNone = 0, MTLTextureSparseTier1 = 1, MTLTextureSparseTier2 = 2,
} MTLTextureSparseTier;

typedef enum MTLTextureSwizzle : NSUInteger {
    MTLTextureSwizzleZero = 0, MTLTextureSwizzleOne = 1, MTLTextureSwizzleRed = 2, MTLTextureSwizzleGreen = 3,
    MTLTextureSwizzleBlue = 4, MTLTextureSwizzleAlpha = 5,
} MTLTextureSwizzle;

typedef enum MTLTextureType : NSUInteger {
    MTLTextureType1D = 0, MTLTextureType1DArray = 1, MTLTextureType2D = 2, MTLTextureType2DArray = 3,
    MTLTextureType2DMultisample = 4, MTLTextureTypeCube = 5, MTLTextureTypeCubeArray = 6, MTLTextureType3D = 7,
    MTLTextureType2DMultisampleArray = 8, MTLTextureTypeTextureBuffer = 9,
} MTLTextureType;

typedef enum MTLTextureUsage : NSUInteger {
    MTLTextureUsageUnknown = 0, MTLTextureUsageShaderRead = 1, MTLTextureUsageShaderWrite = 2,
    MTLTextureUsageRenderTarget = 4, MTLTextureUsagePixelFormatView = 16, MTLTextureUsageShaderAtomic = 32,
} MTLTextureUsage;

typedef enum MTLTransformType : NSUInteger {
    MTLTransformTypePackedFloat4x3 = 0, MTLTransformTypeComponent = 1,
} MTLTransformType;

typedef enum MTLTriangleFillMode : NSUInteger {
    MTLTriangleFillModeFill = 0, MTLTriangleFillModeLines = 1,
} MTLTriangleFillMode;

typedef enum MTLVertexFormat : NSUInteger {
    MTLVertexFormatInvalid = 0, MTLVertexFormatUChar2 = 1, MTLVertexFormatUChar3 = 2, MTLVertexFormatUChar4 = 3,
    MTLVertexFormatChar2 = 4, MTLVertexFormatChar3 = 5, MTLVertexFormatChar4 = 6, MTLVertexFormatUChar2Normalized = 7,
    MTLVertexFormatUChar3Normalized = 8, MTLVertexFormatUChar4Normalized = 9, MTLVertexFormatChar2Normalized = 10,
    MTLVertexFormatChar3Normalized = 11, MTLVertexFormatChar4Normalized = 12, MTLVertexFormatUShort2 = 13,
    MTLVertexFormatUShort3 = 14, MTLVertexFormatUShort4 = 15, MTLVertexFormatShort2 = 16, MTLVertexFormatShort3 = 17,
    MTLVertexFormatShort4 = 18, MTLVertexFormatUShort2Normalized = 19, MTLVertexFormatUShort3Normalized = 20,
    MTLVertexFormatUShort4Normalized = 21, MTLVertexFormatShort2Normalized = 22, MTLVertexFormatShort3Normalized = 23,
    MTLVertexFormatShort4Normalized = 24, MTLVertexFormatHalf2 = 25, MTLVertexFormatHalf3 = 26,
    MTLVertexFormatHalf4 = 27, MTLVertexFormatFloat = 28, MTLVertexFormatFloat2 = 29, MTLVertexFormatFloat3 = 30,
    MTLVertexFormatFloat4 = 31, MTLVertexFormatInt = 32, MTLVertexFormatInt2 = 33, MTLVertexFormatInt3 = 34,
    MTLVertexFormatInt4 = 35, MTLVertexFormatUInt = 36, MTLVertexFormatUInt2 = 37, MTLVertexFormatUInt3 = 38,
    MTLVertexFormatUInt4 = 39, MTLVertexFormatInt1010102Normalized = 40, MTLVertexFormatUInt1010102Normalized = 41,
    MTLVertexFormatUChar4Normalized_BGRA = 42, MTLVertexFormatUChar = 45, MTLVertexFormatChar = 46,
    MTLVertexFormatUCharNormalized = 47, MTLVertexFormatCharNormalized = 48, MTLVertexFormatUShort = 49,
    MTLVertexFormatShort = 50, MTLVertexFormatUShortNormalized = 51, MTLVertexFormatShortNormalized = 52,
    MTLVertexFormatHalf = 53, MTLVertexFormatFloatRG11B10 = 54, MTLVertexFormatFloatRGB9E5 = 55,
} MTLVertexFormat;

typedef enum MTLVertexStepFunction : NSUInteger {
    MTLVertexStepFunctionConstant = 0, MTLVertexStepFunctionPerVertex = 1, MTLVertexStepFunctionPerInstance = 2,
    MTLVertexStepFunctionPerPatch = 3, MTLVertexStepFunctionPerPatchControlPoint = 4,
} MTLVertexStepFunction;

typedef enum MTLVisibilityResultMode : NSUInteger {
    MTLVisibilityResultModeDisabled = 0, MTLVisibilityResultModeBoolean = 1, MTLVisibilityResultModeCounting = 2,
} MTLVisibilityResultMode;

typedef enum MTLVisibilityResultType : NSUInteger {
    MTLVisibilityResultTypeReset = 0, MTLVisibilityResultTypeAccumulate = 1,
} MTLVisibilityResultType;

typedef enum MTLWinding : NSUInteger {
    MTLWindingClockwise = 0, MTLWindingCounterClockwise = 1,
} MTLWinding;

enum {
    MTLMaxBlitPassSampleBuffers = 4, MTLMaxComputePassSampleBuffers = 4, MTLMaxRenderPassSampleBuffers = 4,
    MTLMaxResourceStatePassSampleBuffers = 4, MTLCounterDontSample = 18446744073709551615ull,
    MTLCounterErrorValue = 18446744073709551615ull,
};

#endif

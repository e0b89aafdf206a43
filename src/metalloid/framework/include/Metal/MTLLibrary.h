// Libraries, functions, constants and pipelines.
#ifndef METALLOID_MTLLIBRARY_H
#define METALLOID_MTLLIBRARY_H

#include <Metal/MTLResource.h>

FOUNDATION_EXPORT NSErrorDomain const MTLLibraryErrorDomain, MTLCommandBufferErrorDomain, MTLCaptureErrorDomain;

@interface MTLCompileOptions : NSObject <NSCopying>
@property(readwrite, nonatomic, copy) NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property(readwrite, nonatomic) BOOL fastMathEnabled;
@property(readwrite, nonatomic) MTLMathMode mathMode;
@property(readwrite, nonatomic) MTLMathFloatingPointFunctions mathFloatingPointFunctions;
@property(readwrite, nonatomic) MTLLanguageVersion languageVersion;
@property(readwrite, nonatomic) MTLLibraryType libraryType;
@property(readwrite, nonatomic) MTLLibraryOptimizationLevel optimizationLevel;
@property(readwrite, nonatomic, copy) NSString *installName;
@property(readwrite, nonatomic, copy) NSArray *libraries;
@property(readwrite, nonatomic) BOOL preserveInvariance;
@property(readwrite, nonatomic) BOOL allowReferencingUndefinedSymbols;
@property(readwrite, nonatomic) BOOL enableLogging;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup;
@end

@interface MTLFunctionConstantValues : NSObject <NSCopying> {
    NSMutableDictionary *_values;
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name;
- (void)reset;
@end

@interface MTLFunctionConstant : NSObject {
  @public
    NSString *_name;
    MTLDataType _type;
    NSUInteger _index;
}
@property(readonly) NSString *name;
@property(readonly) MTLDataType type;
@property(readonly) NSUInteger index;
@property(readonly) BOOL required;
@end

@interface MTLFunctionDescriptor : NSObject <NSCopying>
+ (MTLFunctionDescriptor *)functionDescriptor;
@property(nonatomic, copy) NSString *name;
@property(nonatomic, copy) NSString *specializedName;
@property(nonatomic, copy) MTLFunctionConstantValues *constantValues;
@property(nonatomic) NSUInteger options;
@end

@protocol MTLArgumentEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, atomic) NSString *label;
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer startOffset:(NSUInteger)offset arrayElement:(NSUInteger)element;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range;
- (void *)constantDataAtIndex:(NSUInteger)index;
- (id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index;
@end

@interface MTLArgumentDescriptor : NSObject <NSCopying>
+ (MTLArgumentDescriptor *)argumentDescriptor;
@property(nonatomic) MTLDataType dataType;
@property(nonatomic) NSUInteger index;
@property(nonatomic) NSUInteger arrayLength;
@property(nonatomic) MTLBindingAccess access;
@property(nonatomic) MTLTextureType textureType;
@property(nonatomic) NSUInteger constantBlockAlignment;
@end

@protocol MTLFunction <NSObject>
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *name;
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSDictionary<NSString *, MTLFunctionConstant *> *functionConstantsDictionary;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index reflection:(id *)reflection;
@end

@protocol MTLLibrary <NSObject>
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSArray<NSString *> *functionNames;
@property(readonly) MTLLibraryType type;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name constantValues:(MTLFunctionConstantValues *)values error:(NSError **)error;
- (void)newFunctionWithName:(NSString *)name constantValues:(MTLFunctionConstantValues *)values completionHandler:(void (^)(id<MTLFunction>, NSError *))handler;
- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error;
@end

@interface MTLStructMember : NSObject {
  @public
    NSString *_name;
    NSUInteger _offset, _argumentIndex;
    MTLDataType _dataType;
}
@property(readonly) NSString *name;
@property(readonly) NSUInteger offset;
@property(readonly) MTLDataType dataType;
@property(readonly) NSUInteger argumentIndex;
@end

@interface MTLStructType : NSObject {
  @public
    NSMutableArray *_members;
}
@property(readonly) NSArray<MTLStructMember *> *members;
- (MTLStructMember *)memberByName:(NSString *)name;
@end

@protocol MTLBinding <NSObject>
@property(readonly) NSString *name;
@property(readonly) MTLBindingType type;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger index;
@property(readonly, getter=isUsed) BOOL used;
@property(readonly, getter=isArgument) BOOL argument;
@property(readonly) NSUInteger bufferAlignment;
@property(readonly) NSUInteger bufferDataSize;
@property(readonly) MTLDataType bufferDataType;
@property(readonly) MTLStructType *bufferStructType;
@property(readonly) NSUInteger threadgroupMemoryAlignment;
@property(readonly) NSUInteger threadgroupMemoryDataSize;
@end
@protocol MTLBufferBinding <MTLBinding>
@end
@protocol MTLThreadgroupBinding <MTLBinding>
@end

@interface MTLComputePipelineReflection : NSObject {
  @public
    NSArray *_bindings;
}
@property(readonly) NSArray *bindings;
@property(readonly) NSArray *arguments;
@end
typedef MTLComputePipelineReflection *MTLAutoreleasedComputePipelineReflection;

@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property(copy, nonatomic) NSString *label;
@property(readwrite, nonatomic, retain) id<MTLFunction> computeFunction;
@property(readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readwrite, nonatomic) BOOL supportIndirectCommandBuffers;
@property(readwrite, nonatomic, copy) NSArray *binaryArchives;
@property(readwrite, nonatomic, retain) id linkedFunctions;
- (void)reset;
@end

@protocol MTLComputePipelineState <MTLAllocation>
@property(readonly) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@property(readonly) BOOL supportIndirectCommandBuffers;
@property(readonly) MTLComputePipelineReflection *reflection;
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)dimensions;
@end

#endif

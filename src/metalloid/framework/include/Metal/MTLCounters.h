// Counters: timestamps, which encoders take when they begin and end, and between dispatches.
#ifndef METALLOID_MTLCOUNTERS_H
#define METALLOID_MTLCOUNTERS_H

#include <Metal/MTLResource.h>

#define MTLCounterDontSample ((NSUInteger)-1)
#define MTLCounterErrorValue ((uint64_t)-1)
FOUNDATION_EXPORT NSString *const MTLCommonCounterSetTimestamp, *const MTLCommonCounterTimestamp;

typedef struct {
    uint64_t timestamp;
} MTLCounterResultTimestamp;

@protocol MTLCounter <NSObject>
@property(readonly, copy) NSString *name;
@end

@protocol MTLCounterSet <NSObject>
@property(readonly, copy) NSString *name;
@property(readonly, copy) NSArray<id<MTLCounter>> *counters;
@end

@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying>
@property(readwrite, retain) id<MTLCounterSet> counterSet;
@property(readwrite, copy) NSString *label;
@property(readwrite, nonatomic) MTLStorageMode storageMode;
@property(readwrite, nonatomic) NSUInteger sampleCount;
@end

@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *label;
@property(readonly) NSUInteger sampleCount;
- (NSData *)resolveCounterRange:(NSRange)range;
@end

@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying>
@property(nonatomic, retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property(nonatomic) NSUInteger startOfEncoderSampleIndex;
@property(nonatomic) NSUInteger endOfEncoderSampleIndex;
@end
@interface MTLBlitPassSampleBufferAttachmentDescriptor : MTLComputePassSampleBufferAttachmentDescriptor
@end

@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject {
  @public
    NSMutableArray *_all;
}
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index;
- (void)setObject:(MTLComputePassSampleBufferAttachmentDescriptor *)attachment atIndexedSubscript:(NSUInteger)index;
@end
@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : MTLComputePassSampleBufferAttachmentDescriptorArray
@end

#endif

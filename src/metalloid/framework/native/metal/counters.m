// Counter sample buffers, with the one counter set that there is: timestamps, in nanoseconds, without time for compiling.
#include "objects.h"

NSString *const MTLCommonCounterSetTimestamp = @"timestamp", *const MTLCommonCounterTimestamp = @"GPUTimestamp";

@interface _MTLCounter : NSObject <MTLCounter>
@end
@implementation _MTLCounter
- (NSString *)name { return MTLCommonCounterTimestamp; }
@end

@interface _MTLCounterSet : NSObject <MTLCounterSet>
@end
@implementation _MTLCounterSet
- (NSString *)name { return MTLCommonCounterSetTimestamp; }
- (NSArray *)counters { return [NSArray arrayWithObject:[[[_MTLCounter alloc] init] autorelease]]; }
@end

@implementation MTLCounterSampleBufferDescriptor
@synthesize counterSet, label, storageMode, sampleCount;
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (void)dealloc {
    [counterSet release];
    [label release];
    [super dealloc];
}
@end

@interface _MTLCounterSampleBuffer : _MTLObject <MTLCounterSampleBuffer> {
  @public
    NSUInteger count;
    uint64_t *samples;
}
@end
@implementation _MTLCounterSampleBuffer
- (const char *)kind { return "counter sample buffer"; }
- (void)dealloc {
    free(samples);
    [super dealloc];
}
- (NSUInteger)sampleCount { return count; }
- (NSData *)resolveCounterRange:(NSRange)range {
    BOOL inside = range.length <= count && range.location <= count - range.length;
    return inside ? [NSData dataWithBytes:samples + range.location length:8 * range.length] : nil;
}
@end

@implementation MTLComputePassSampleBufferAttachmentDescriptor
@synthesize sampleBuffer, startOfEncoderSampleIndex, endOfEncoderSampleIndex;
- (instancetype)init {
    self.startOfEncoderSampleIndex = self.endOfEncoderSampleIndex = MTLCounterDontSample;
    return self;
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (void)dealloc {
    [sampleBuffer release];
    [super dealloc];
}
@end
@implementation MTLBlitPassSampleBufferAttachmentDescriptor
@end

enum { MOST_ATTACHMENTS = 4 };
@implementation MTLComputePassSampleBufferAttachmentDescriptorArray
- (instancetype)init {
    _all = [[NSMutableArray alloc] init];
    for (int i = 0; i < MOST_ATTACHMENTS; i++)
        [_all addObject:[[[MTLBlitPassSampleBufferAttachmentDescriptor alloc] init] autorelease]];
    return self;
}
- (void)dealloc {
    [_all release];
    [super dealloc];
}
- (id)objectAtIndexedSubscript:(NSUInteger)index {
    REQUIRE(index < MOST_ATTACHMENTS, "attachmentIndex(%lu) must be < %d.", index, MOST_ATTACHMENTS);
    return [_all objectAtIndex:index];
}
- (void)setObject:(MTLComputePassSampleBufferAttachmentDescriptor *)one atIndexedSubscript:(NSUInteger)index {
    MTLComputePassSampleBufferAttachmentDescriptor *to = [self objectAtIndexedSubscript:index];
    to.sampleBuffer = one.sampleBuffer;
    to.startOfEncoderSampleIndex = one ? one.startOfEncoderSampleIndex : MTLCounterDontSample;
    to.endOfEncoderSampleIndex = one ? one.endOfEncoderSampleIndex : MTLCounterDontSample;
}
@end
@implementation MTLBlitPassSampleBufferAttachmentDescriptorArray
@end

void mt_take_sample(_MTLCommandBuffer *buffer, struct command *command) {
    ((_MTLCounterSampleBuffer *)command->object)->samples[command->value] = (uint64_t)(1e9 * (mt_seconds() - buffer->compiled));
}

@implementation _MTLCommandEncoder (Counters)
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)to atSampleIndex:(NSUInteger)index withBarrier:(BOOL)barrier {
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(to, "sampleBuffer must not be nil.");
    REQUIRE(index < to.sampleCount, "sampleIndex(%lu) must be < %lu.", index, to.sampleCount);
    struct command *command = [buffer add:SAMPLE];
    command->object = to;
    command->value = index;
    [buffer keep:to];
}
- (void)sample:(BOOL)end {
    for (MTLComputePassSampleBufferAttachmentDescriptor *one in samples) {
        NSUInteger index = end ? one.endOfEncoderSampleIndex : one.startOfEncoderSampleIndex;
        if (one.sampleBuffer && index != MTLCounterDontSample)
            [self sampleCountersInBuffer:one.sampleBuffer atSampleIndex:index withBarrier:YES];
    }
}
- (void)setSamples:(MTLComputePassSampleBufferAttachmentDescriptorArray *)attachments {
    samples = [attachments->_all copy];
    [self sample:NO];
}
@end

@interface _MTLBlitCommandEncoder : _MTLCommandEncoder <MTLBlitCommandEncoder>
@end
@implementation _MTLBlitCommandEncoder (Counters)
- (void)resolveCounters:(id<MTLCounterSampleBuffer>)from inRange:(NSRange)range destinationBuffer:(id<MTLBuffer>)to destinationOffset:(NSUInteger)offset {
    _MTLCounterSampleBuffer *taken = (_MTLCounterSampleBuffer *)from;
    _MTLBuffer *one = (_MTLBuffer *)to;
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(taken && one, "sampleBuffer and destinationBuffer must not be nil.");
    REQUIRE(range.length <= taken->count && range.location <= taken->count - range.length, "range(%lu, %lu) must lie in the %lu samples.", range.location, range.length, taken->count);
    REQUIRE(8 * range.length <= one->length && offset <= one->length - 8 * range.length, "(destinationOffset(%lu) + %lu) must be <= [buffer length](%lu).", offset, 8 * range.length, one->length);
    struct command *command = [buffer add:COPY];
    command->from = taken->samples + range.location;
    command->to = one->bytes + offset;
    command->size = 8 * range.length;
    [buffer keep:taken];
    [buffer keep:one];
}
@end

@implementation _MTLDevice (Counters)
- (NSArray *)counterSets { return [NSArray arrayWithObject:[[[_MTLCounterSet alloc] init] autorelease]]; }
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point {
    return point == MTLCounterSamplingPointAtStageBoundary || point == MTLCounterSamplingPointAtDispatchBoundary || point == MTLCounterSamplingPointAtBlitBoundary;
}
- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor error:(NSError **)error {
    NSString *why = nil;
    if (![[(id<MTLCounterSet>)descriptor.counterSet name] isEqual:MTLCommonCounterSetTimestamp])
        why = @"the counter set must be one of the device's counterSets";
    else if (!descriptor.sampleCount || descriptor.sampleCount > 4096)
        why = @"sampleCount must be > 0 and <= 4096";
    if (error)
        *error = why ? mt_error(@"MTLCounterErrorDomain", 1, why) : nil;
    if (why)
        return nil;
    _MTLCounterSampleBuffer *made = [[_MTLCounterSampleBuffer alloc] init];
    made->_device = self;
    made->_label = [descriptor.label copy];
    made->count = descriptor.sampleCount;
    made->samples = calloc(made->count, 8);
    return made;
}
@end

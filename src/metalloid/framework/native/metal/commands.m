// Command buffers: commands are recorded into chunks of memory, and run by the queue's thread.
#include "objects.h"

struct chunk {
    struct chunk *next;
    size_t used, size;
    char bytes[];
};

enum { CHUNK = 16384 };

@interface _MTLComputeCommandEncoder : _MTLCommandEncoder <MTLComputeCommandEncoder>
- (void)setDispatchType:(MTLDispatchType)type;
@end
@interface _MTLBlitCommandEncoder : _MTLCommandEncoder <MTLBlitCommandEncoder>
@end

@implementation MTLComputePassDescriptor
@synthesize dispatchType;
+ (MTLComputePassDescriptor *)computePassDescriptor { return [[[self alloc] init] autorelease]; }
- (instancetype)init {
    _samples = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}
- (void)dealloc {
    [_samples release];
    [super dealloc];
}
- (MTLComputePassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments { return _samples; }
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end
@implementation MTLBlitPassDescriptor
+ (MTLBlitPassDescriptor *)blitPassDescriptor { return [[[self alloc] init] autorelease]; }
- (instancetype)init {
    _samples = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
    return self;
}
- (void)dealloc {
    [_samples release];
    [super dealloc];
}
- (MTLBlitPassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments { return _samples; }
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end

@implementation _MTLCommandBuffer
- (instancetype)init {
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&changed, 0);
    end = &commands;
    return self;
}
- (void)forget {  // what the commands needed
    for (size_t i = 0; i < keptCount; i++)
        [kept[i] release];
    free(kept);
    kept = 0;
    keptCount = keptRoom = 0;
    while (chunks) {
        struct chunk *gone = chunks;
        chunks = gone->next;
        free(gone);
    }
    commands = 0;
    end = &commands;
}
- (void)dealloc {
    [self forget];
    [failure release];
    [onScheduled release];
    [onCompleted release];
    pthread_mutex_destroy(&lock);
    pthread_cond_destroy(&changed);
    [queue release];
    [super dealloc];
}
- (void *)room:(size_t)size {
    size = (size + 15) / 16 * 16;
    if (!chunks || chunks->size - chunks->used < size) {
        size_t all = MAX(size, CHUNK);
        struct chunk *made = malloc(sizeof *made + all);
        *made = (struct chunk){chunks, 0, all};
        chunks = made;
    }
    void *room = chunks->bytes + chunks->used;
    chunks->used += size;
    return room;
}
- (struct command *)add:(int)kind {
    struct command *made = [self room:sizeof *made];
    *made = (struct command){.kind = kind};
    *end = made;
    end = &made->next;
    return made;
}
- (void)keep:(id)object {
    if (!object || (keptCount && kept[keptCount - 1] == object))
        return;
    if (keptCount == keptRoom) {
        keptRoom = keptRoom ? 2 * keptRoom : 16;
        kept = realloc(kept, keptRoom * sizeof *kept);
    }
    kept[keptCount++] = [object retain];
}

- (id<MTLCommandQueue>)commandQueue { return queue; }
- (BOOL)retainedReferences { return retains; }
- (MTLCommandBufferErrorOption)errorOptions { return MTLCommandBufferErrorOptionNone; }
- (MTLCommandBufferStatus)status { return __atomic_load_n(&state, __ATOMIC_ACQUIRE); }
- (NSError *)error {
    pthread_mutex_lock(&lock);
    NSError *found = [[failure retain] autorelease];
    pthread_mutex_unlock(&lock);
    return found;
}
- (CFTimeInterval)GPUStartTime { return begun; }
- (CFTimeInterval)GPUEndTime { return ended; }
- (CFTimeInterval)kernelStartTime { return scheduled; }
- (CFTimeInterval)kernelEndTime { return begun; }
- (id)logs { return nil; }
- (void)useResidencySet:(id<MTLResidencySet>)set {}
- (void)useResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {}

- (void)open:(SEL)method {
    if (state >= MTLCommandBufferStatusCommitted)
        mt_failed_assertion(self, method, "encoding to a command buffer that has been committed already");
    if (encoder)
        mt_failed_assertion(self, method, "A command encoder is already encoding to this command buffer");
}
- (id)encoderOf:(Class)kind method:(SEL)method {
    [self open:method];
    encoder = [[[kind alloc] initFor:self] autorelease];
    TRACE("encoder", [encoder kind], "%s", self.words.UTF8String);
    return encoder;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder { return [self encoderOf:[_MTLComputeCommandEncoder class] method:_cmd]; }
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor {
    id<MTLComputeCommandEncoder> made = [self computeCommandEncoderWithDispatchType:descriptor.dispatchType];
    [(_MTLCommandEncoder *)made setSamples:descriptor.sampleBufferAttachments];
    return made;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
    _MTLComputeCommandEncoder *made = [self encoderOf:[_MTLComputeCommandEncoder class] method:_cmd];
    [made setDispatchType:type];
    return made;
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder { return [self encoderOf:[_MTLBlitCommandEncoder class] method:_cmd]; }
- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor {
    id<MTLBlitCommandEncoder> made = [self blitCommandEncoder];
    [(_MTLCommandEncoder *)made setSamples:descriptor.sampleBufferAttachments];
    return made;
}
- (void)event:(id<MTLEvent>)event value:(uint64_t)value kind:(int)kind method:(SEL)method {
    [self open:method];
    if (!event)
        mt_failed_assertion(self, method, "event must not be nil.");
    struct command *command = [self add:kind];
    command->event = (_MTLEvent *)event;
    command->value = value;
    [self keep:event];
    TRACE(kind == WAIT ? "wait" : "signal", self.words.UTF8String, "event %p, value %llu", (void *)event, (unsigned long long)value);
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value { [self event:event value:value kind:WAIT method:_cmd]; }
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value timeoutMS:(uint32_t)milliseconds {
    struct command **at = end;
    [self event:event value:value kind:WAIT method:_cmd];
    (*at)->size = milliseconds;
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value { [self event:event value:value kind:SIGNAL method:_cmd]; }

- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
    REQUIRE(state < MTLCommandBufferStatusCommitted, "Scheduled handler provided after commit call");
    onScheduled = onScheduled ? onScheduled : [[NSMutableArray alloc] init];
    id copied = Block_copy(block);
    [onScheduled addObject:copied];
    [copied release];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
    REQUIRE(state < MTLCommandBufferStatusCommitted, "Completed handler provided after commit call");
    onCompleted = onCompleted ? onCompleted : [[NSMutableArray alloc] init];
    id copied = Block_copy(block);
    [onCompleted addObject:copied];
    [copied release];
}
- (void)enqueue {
    REQUIRE(state < MTLCommandBufferStatusCommitted, "enqueue a command buffer that has been committed already");
    if (state == MTLCommandBufferStatusNotEnqueued) {
        state = MTLCommandBufferStatusEnqueued;
        [queue reserve:self];
    }
}
- (void)commit {
    REQUIRE(state < MTLCommandBufferStatusCommitted, "commit an already committed command buffer");
    REQUIRE(!encoder, "commit command buffer with uncommitted encoder");
    TRACE("commit", self.words.UTF8String, "of %s", queue.words.UTF8String);
    [self enqueue];
    _MTLCommandQueue *to = [queue retain];  // it may run and be gone before this returns
    pthread_mutex_lock(&to->lock);
    __atomic_store_n(&state, MTLCommandBufferStatusCommitted, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&to->lock);
    [to wake];
    [to release];
}
- (void)waitFor:(MTLCommandBufferStatus)status method:(SEL)method {
    if (self.status < MTLCommandBufferStatusCommitted)
        mt_failed_assertion(self, method, "%s called on a command buffer that has not been committed", sel_getName(method));
    if (self.status >= status)
        return;
    void *gil = mt_wait_begins();
    pthread_mutex_lock(&lock);
    while (state < status)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    mt_wait_ends(gil);
}
- (void)waitUntilScheduled { [self waitFor:MTLCommandBufferStatusScheduled method:_cmd]; }
- (void)waitUntilCompleted { [self waitFor:MTLCommandBufferStatusCompleted method:_cmd]; }

- (void)become:(MTLCommandBufferStatus)status error:(NSError *)error call:(NSMutableArray *)handlers {
    pthread_mutex_lock(&lock);
    failure = [error retain];
    __atomic_store_n(&state, status, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (MTLCommandBufferHandler handler in handlers)
        dispatch_async(queue->handlers, ^{ handler(self); });
    [handlers removeAllObjects];
}
- (void)execute {
    scheduled = mt_seconds();
    [self become:MTLCommandBufferStatusScheduled error:nil call:onScheduled];
    TRACE("schedule", self.words.UTF8String, "on its queue's thread");
    begun = mt_seconds();
    NSInteger code = 0;
    NSString *words = mt_run(self, &code);
    ended = mt_seconds() - compiled;  // a GPU does not compile
    TRACE("complete", self.words.UTF8String, "%s, %.3f ms", words ? words.UTF8String : "no error", 1e3 * (ended - begun));
    [self forget];
    NSError *error = words ? mt_error(MTLCommandBufferErrorDomain, code, words) : nil;
    [self become:error ? MTLCommandBufferStatusError : MTLCommandBufferStatusCompleted error:error call:onCompleted];
}
@end

@implementation _MTLCommandEncoder
- (instancetype)initFor:(_MTLCommandBuffer *)commands {
    buffer = [commands retain];
    _device = commands->_device;
    return self;
}
- (void)dealloc {
    if (!ended)
        mt_failed_assertion(self, @selector(dealloc), "Command encoder released without endEncoding");
    [samples release];
    [buffer release];
    [super dealloc];
}
- (void)endEncoding {
    REQUIRE(!ended, "endEncoding has already been called");
    [self sample:YES];
    ended = YES;
    buffer->encoder = nil;
    TRACE("end", self.kind, "%s", _label ? _label.UTF8String : "");
}
- (void)updateFence:(id<MTLFence>)fence {}  // one command after the other: fences and barriers hold by themselves
- (void)waitForFence:(id<MTLFence>)fence {}
@end

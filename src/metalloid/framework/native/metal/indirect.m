// Indirect command buffers: dispatches that are encoded once; what they hold counts at the time when they run.
#include "objects.h"

@implementation MTLIndirectCommandBufferDescriptor
@synthesize commandTypes, inheritPipelineState, inheritBuffers, maxVertexBufferBindCount, maxFragmentBufferBindCount;
@synthesize maxKernelBufferBindCount, maxKernelThreadgroupMemoryBindCount, supportRayTracing, supportDynamicAttributeStride;
- (instancetype)init {
    self.inheritPipelineState = self.inheritBuffers = YES;
    self.maxKernelBufferBindCount = self.maxKernelThreadgroupMemoryBindCount = MOST_BUFFERS;
    return self;
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end

@class _MTLIndirectComputeCommand;
@interface _MTLIndirectCommandBuffer : _MTLObject <MTLIndirectCommandBuffer> {
  @public
    NSMutableArray *all;
    BOOL inheritPipeline, inheritBuffers;
    NSUInteger most;  // buffers of a command
}
@end

@interface _MTLIndirectComputeCommand : _MTLObject <MTLIndirectComputeCommand> {
  @public
    _MTLIndirectCommandBuffer *of;  // which holds it
    _MTLComputePipelineState *pipeline;
    _MTLBuffer *buffers[MOST_BUFFERS];
    NSUInteger offsets[MOST_BUFFERS], local[MOST_BUFFERS];
    MTLSize grid, threads;  // no threads: it does nothing
}
@end

@implementation _MTLIndirectComputeCommand
- (void)reset {
    [pipeline release];
    pipeline = nil;
    for (int i = 0; i < MOST_BUFFERS; i++) {
        [buffers[i] release];
        buffers[i] = nil;
        offsets[i] = local[i] = 0;
    }
    grid = threads = MTLSizeMake(0, 0, 0);
}
- (void)dealloc {
    [self reset];
    [super dealloc];
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    REQUIRE(state, "pipelineState must not be nil.");
    REQUIRE(!of->inheritPipeline, "setComputePipelineState: inheritPipelineState is set: the command has the encoder's pipeline");
    REQUIRE(state.supportIndirectCommandBuffers, "the pipeline was made without supportIndirectCommandBuffers");
    [state retain];
    [pipeline release];
    pipeline = (_MTLComputePipelineState *)state;
}
- (void)setKernelBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    _MTLBuffer *one = (_MTLBuffer *)to;
    REQUIRE(!of->inheritBuffers, "setKernelBuffer: inheritBuffers is set: the command has the encoder's buffers");
    REQUIRE(index < of->most, "index(%lu) must be < maxKernelBufferBindCount(%lu).", index, of->most);
    REQUIRE(!one || offset <= one->length, "offset(%lu) must be <= [buffer length](%lu).", offset, one->length);
    [one retain];
    [buffers[index] release];
    buffers[index] = one;
    offsets[index] = offset;
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    REQUIRE(index < MOST_BUFFERS, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    REQUIRE(length % 16 == 0, "length(%lu) must be a multiple of 16 bytes.", length);
    REQUIRE(length <= mt_bridge.most_local, "length(%lu) must be <= %lu.", length, mt_bridge.most_local);
    local[index] = length;
}
- (void)concurrentDispatchThreads:(MTLSize)size threadsPerThreadgroup:(MTLSize)group {
    REQUIRE(group.width && group.height && group.depth, "threadsPerThreadgroup(%lu, %lu, %lu) must be > 0 in every dimension.", group.width, group.height, group.depth);
    if (pipeline)
        mt_check_threads(self, _cmd, pipeline, group);
    grid = size;
    threads = group;
}
- (void)concurrentDispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)group {
    [self concurrentDispatchThreads:MTLSizeMake(groups.width * group.width, groups.height * group.height, groups.depth * group.depth) threadsPerThreadgroup:group];
}
- (void)setBarrier {}  // one command after the other
- (void)clearBarrier {}
@end

@implementation _MTLIndirectCommandBuffer
- (const char *)kind { return "indirect command buffer"; }
- (void)dealloc {
    [all release];
    [super dealloc];
}
- (NSUInteger)size { return all.count; }
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)index {
    REQUIRE(index < all.count, "commandIndex(%lu) must be < %lu.", index, all.count);
    return [all objectAtIndex:index];
}
- (void)resetWithRange:(NSRange)range {
    REQUIRE(range.length <= all.count && range.location <= all.count - range.length, "range(%lu, %lu) must lie in the %lu commands.", range.location, range.length, all.count);
    for (NSUInteger i = 0; i < range.length; i++)
        [[all objectAtIndex:range.location + i] reset];
}
@end

void mt_reset_commands(struct command *command) {
    [(_MTLIndirectCommandBuffer *)command->object resetWithRange:NSMakeRange(command->value, command->size)];
}

static struct command *recorded(_MTLCommandBuffer *buffer, _MTLIndirectComputeCommand *one, struct command *execute) {
    struct bindings now = *execute->inherited;
    if (!one->of->inheritPipeline)
        now.pipeline = one->pipeline;
    if (!now.pipeline)
        mt_failed_assertion(one, @selector(concurrentDispatchThreads:threadsPerThreadgroup:), "an indirect command is run without a compute pipeline state");
    mt_check_threads(one, @selector(concurrentDispatchThreads:threadsPerThreadgroup:), now.pipeline, one->threads);
    for (NSUInteger i = 0; i < MOST_BUFFERS; i++) {
        if (!one->of->inheritBuffers) {
            _MTLBuffer *bound = one->buffers[i];
            now.bound[i].buffer = bound;
            now.bound[i].base = bound ? bound->bytes : 0;
            now.bound[i].offset = one->offsets[i];
            now.bound[i].length = bound ? bound->length : 0;
        }
        if (one->local[i]) {
            now.local[i] = one->local[i];
            now.locals = MAX(now.locals, i + 1);
        }
    }
    [buffer keep:now.pipeline];
    return mt_record(buffer, &now, execute->during, one->grid, one->threads);
}

// Called on the queue's thread: the dispatches take the place behind this command.
void mt_expand(_MTLCommandBuffer *buffer, struct command *execute) {
    _MTLIndirectCommandBuffer *commands = execute->object;
    NSUInteger first = execute->value, count = execute->size;
    if (execute->indirect) {  // a range that a kernel before this one may have written
        first = MIN(execute->indirect[0], commands->all.count);
        count = MIN(execute->indirect[1], commands->all.count - first);
    }
    struct command **at = &execute->next, *rest = execute->next;
    for (NSUInteger i = first; i < first + count; i++) {
        _MTLIndirectComputeCommand *one = [commands->all objectAtIndex:i];
        if (!one->threads.width || !one->grid.width || !one->grid.height || !one->grid.depth)
            continue;
        *at = recorded(buffer, one, execute);
        at = &(*at)->next;
    }
    *at = rest;
}

@implementation _MTLDevice (IndirectCommands)
- (id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor maxCommandCount:(NSUInteger)count options:(MTLResourceOptions)options {
    REQUIRE(descriptor, "descriptor must not be nil.");
    REQUIRE(count && count <= 16384, "maxCommandCount(%lu) must be > 0 and <= 16384.", count);
    REQUIRE(!(descriptor.commandTypes & ~(MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads)), "commandTypes(%lu): metalloid has the commands of compute", (unsigned long)descriptor.commandTypes);
    _MTLIndirectCommandBuffer *made = [[_MTLIndirectCommandBuffer alloc] init];
    made->_device = self;
    made->inheritPipeline = descriptor.inheritPipelineState;
    made->inheritBuffers = descriptor.inheritBuffers;
    made->most = MIN(descriptor.maxKernelBufferBindCount, MOST_BUFFERS);
    made->all = [[NSMutableArray alloc] init];
    for (NSUInteger i = 0; i < count; i++) {
        _MTLIndirectComputeCommand *one = [[_MTLIndirectComputeCommand alloc] init];
        one->of = made;
        [made->all addObject:one];
        [one release];
    }
    return made;
}
@end

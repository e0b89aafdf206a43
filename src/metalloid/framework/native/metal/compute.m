// The compute encoder: bindings stay from dispatch to dispatch; each dispatch is recorded (bindings.m).
#include "objects.h"

@interface _MTLComputeCommandEncoder : _MTLCommandEncoder <MTLComputeCommandEncoder> {
    MTLDispatchType _type;
    struct bindings _now;
    size_t _resourceRoom;
}
@end

@implementation _MTLComputeCommandEncoder
- (const char *)kind { return "compute encoder"; }
- (MTLDispatchType)dispatchType { return _type; }
- (void)setDispatchType:(MTLDispatchType)type { _type = type; }
- (void)dealloc {
    free(_now.resources);
    [super dealloc];
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(state, "Set Compute Pipeline State Validation\ncomputePipelineState must not be nil.");
    _now.pipeline = (_MTLComputePipelineState *)state;
    [buffer keep:state];
    TRACE("pipeline", "compute encoder", "%s", _now.pipeline->name.UTF8String);
}
- (void)bind:(_MTLBuffer *)one base:(char *)base offset:(NSUInteger)offset length:(NSUInteger)length at:(NSUInteger)index method:(SEL)method {
    if (ended)
        mt_failed_assertion(self, method, "encoding after endEncoding");
    if (index >= MOST_BUFFERS)
        mt_failed_assertion(self, method, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    _now.bound[index].buffer = one;
    _now.bound[index].base = base;
    _now.bound[index].offset = offset;
    _now.bound[index].length = length;
    if (base)
        TRACE("bind", "compute encoder", "index %lu, %s of %lu bytes from %lu", index, one ? one.words.UTF8String : "values", length, offset);
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
    REQUIRE(bytes, "Set Bytes Validation\nbytes must not be nil.");
    REQUIRE(length && length <= MOST_BYTES, "Set Bytes Validation\nlength(%lu) must be > 0 and <= %d.", length, MOST_BYTES);
    char *copy = [buffer room:length];
    memcpy(copy, bytes, length);
    [self bind:nil base:copy offset:0 length:length at:index method:_cmd];
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length attributeStride:(NSUInteger)stride atIndex:(NSUInteger)index {
    [self setBytes:bytes length:length atIndex:index];
}
- (void)setBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    _MTLBuffer *one = (_MTLBuffer *)to;
    REQUIRE(!one || offset <= one->length, "Set Buffer Validation\noffset(%lu) must be <= [buffer length](%lu).", offset, one->length);
    [self bind:one base:one ? one->bytes : 0 offset:offset length:one ? one->length : 0 at:index method:_cmd];
    [buffer keep:one];
}
- (void)setBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset attributeStride:(NSUInteger)stride atIndex:(NSUInteger)index {
    [self setBuffer:to offset:offset atIndex:index];
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
    REQUIRE(index < MOST_BUFFERS, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    REQUIRE(_now.bound[index].buffer, "Set Buffer Offset Validation\nbuffer at index(%lu) must be set before its offset.", index);
    REQUIRE(offset <= _now.bound[index].length, "Set Buffer Offset Validation\noffset(%lu) must be <= [buffer length](%lu).", offset, _now.bound[index].length);
    _now.bound[index].offset = offset;
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    REQUIRE(index < MOST_BUFFERS, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    REQUIRE(length % 16 == 0, "length(%lu) must be a multiple of 16 bytes.", length);
    REQUIRE(length <= mt_bridge.most_local, "length(%lu) must be <= %lu.", length, mt_bridge.most_local);
    _now.local[index] = length;
    _now.locals = MAX(_now.locals, index + 1);
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
    _MTLBuffer *one = (_MTLBuffer *)resource;
    REQUIRE(one, "resource must not be nil.");
    if (_now.resourceCount == _resourceRoom) {
        _resourceRoom = _resourceRoom ? 2 * _resourceRoom : 16;
        _now.resources = realloc(_now.resources, 3 * _resourceRoom * sizeof *_now.resources);
    }
    const char *label = one.label.UTF8String;
    uint64_t *to = _now.resources + 3 * _now.resourceCount++;
    to[0] = (uint64_t)one->bytes;
    to[1] = one->length;
    to[2] = label && *label ? (uint64_t)strcpy([buffer room:strlen(label) + 1], label) : 0;
    TRACE("use", "compute encoder", "%s of %lu bytes", one.words.UTF8String, one->length);
    [buffer keep:one];
}
- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
    for (NSUInteger i = 0; i < count; i++)
        [self useResource:resources[i] usage:usage];
}
- (void)useHeap:(id<MTLHeap>)heap {  // all of it: buffers that are made later lie in it too
    _MTLBuffer *all = ((_MTLHeap *)heap)->all;
    if (heap.label && !all.label)
        all.label = heap.label;
    [self useResource:all usage:MTLResourceUsageRead];
}
- (void)useHeaps:(const id<MTLHeap>[])heaps count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        [self useHeap:heaps[i]];
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {}
- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count {}

- (void)check:(MTLSize)threads method:(SEL)method {
    if (ended)
        mt_failed_assertion(self, method, "encoding after endEncoding");
    if (!_now.pipeline)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\na compute pipeline state must be set before a dispatch.");
    mt_check_threads(self, method, _now.pipeline, threads);
}
- (struct command *)record:(MTLSize)grid threads:(MTLSize)threads {
    TRACE("dispatch", "compute encoder", "%s, (%lu, %lu, %lu) in threadgroups of (%lu, %lu, %lu)", _now.pipeline->name.UTF8String, grid.width, grid.height, grid.depth, threads.width, threads.height, threads.depth);
    struct command *made = mt_record(buffer, &_now, [self labels], grid, threads);
    *buffer->end = made;
    buffer->end = &made->next;
    return made;
}
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
    [self check:threads method:_cmd];
    [self record:grid threads:threads];
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
    [self check:threads method:_cmd];
    MTLSize grid = {groups.width * threads.width, groups.height * threads.height, groups.depth * threads.depth};
    [self record:grid threads:threads];
}
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)from indirectBufferOffset:(NSUInteger)offset threadsPerThreadgroup:(MTLSize)threads {
    _MTLBuffer *one = (_MTLBuffer *)from;
    [self check:threads method:_cmd];
    REQUIRE(one, "indirectBuffer must not be nil.");
    REQUIRE(offset % 4 == 0, "indirectBufferOffset(%lu) must be a multiple of 4.", offset);
    REQUIRE(offset <= one->length && one->length - offset >= 12, "(indirectBufferOffset(%lu) + 12) must be <= [buffer length](%lu).", offset, one->length);
    [self record:MTLSizeMake(0, 0, 0) threads:threads]->indirect = (const uint32_t *)(one->bytes + offset);
    [buffer keep:one];
}
- (struct command *)execute:(id<MTLIndirectCommandBuffer>)commands method:(SEL)method {
    if (ended)
        mt_failed_assertion(self, method, "encoding after endEncoding");
    if (!commands)
        mt_failed_assertion(self, method, "indirectCommandBuffer must not be nil.");
    struct command *command = [buffer add:EXECUTE];
    command->inherited = [buffer room:sizeof _now];
    *command->inherited = _now;
    size_t size = 3 * _now.resourceCount * sizeof *_now.resources;
    command->inherited->resources = memcpy([buffer room:size], _now.resources, size);
    command->object = commands;
    command->during = [self labels];
    [buffer keep:commands];
    TRACE("execute", "compute encoder", "%s", [(_MTLObject *)commands words].UTF8String);
    return command;
}
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {
    struct command *command = [self execute:commands method:_cmd];
    REQUIRE(range.length <= commands.size && range.location <= commands.size - range.length, "executionRange(%lu, %lu) must lie in the %lu commands.", range.location, range.length, commands.size);
    command->value = range.location;
    command->size = range.length;
}
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands indirectBuffer:(id<MTLBuffer>)from indirectBufferOffset:(NSUInteger)offset {
    _MTLBuffer *one = (_MTLBuffer *)from;
    struct command *command = [self execute:commands method:_cmd];
    REQUIRE(one, "indirectRangeBuffer must not be nil.");
    REQUIRE(offset % 4 == 0, "indirectBufferOffset(%lu) must be a multiple of 4.", offset);
    REQUIRE(offset <= one->length && one->length - offset >= 8, "(indirectBufferOffset(%lu) + 8) must be <= [buffer length](%lu).", offset, one->length);
    command->indirect = (const uint32_t *)(one->bytes + offset);
    [buffer keep:one];
}
@end

// The compute encoder: bindings stay from dispatch to dispatch; each dispatch is recorded as words for Python.
#include "objects.h"

@interface _MTLComputeCommandEncoder : _MTLCommandEncoder <MTLComputeCommandEncoder> {
    MTLDispatchType _type;
    _MTLComputePipelineState *_pipeline;
    struct {
        _MTLBuffer *buffer;
        char *base;
        NSUInteger offset, length;
    } _bound[MOST_BUFFERS];
    NSUInteger _local[MOST_BUFFERS];
    NSUInteger _locals;
    uint64_t *_resources;  // address, length
    size_t _resourceCount, _resourceRoom;
}
@end

@implementation _MTLComputeCommandEncoder
- (MTLDispatchType)dispatchType { return _type; }
- (void)setDispatchType:(MTLDispatchType)type { _type = type; }
- (void)dealloc {
    free(_resources);
    [super dealloc];
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(state, "Set Compute Pipeline State Validation\ncomputePipelineState must not be nil.");
    _pipeline = (_MTLComputePipelineState *)state;
    [buffer keep:state];
}
- (void)bind:(_MTLBuffer *)one base:(char *)base offset:(NSUInteger)offset length:(NSUInteger)length at:(NSUInteger)index method:(SEL)method {
    if (ended)
        mt_failed_assertion(self, method, "encoding after endEncoding");
    if (index >= MOST_BUFFERS)
        mt_failed_assertion(self, method, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    _bound[index].buffer = one;
    _bound[index].base = base;
    _bound[index].offset = offset;
    _bound[index].length = length;
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
    REQUIRE(_bound[index].buffer, "Set Buffer Offset Validation\nbuffer at index(%lu) must be set before its offset.", index);
    REQUIRE(offset <= _bound[index].length, "Set Buffer Offset Validation\noffset(%lu) must be <= [buffer length](%lu).", offset, _bound[index].length);
    _bound[index].offset = offset;
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    REQUIRE(index < MOST_BUFFERS, "index(%lu) must be < %d.", index, MOST_BUFFERS);
    REQUIRE(length % 16 == 0, "length(%lu) must be a multiple of 16 bytes.", length);
    REQUIRE(length <= mt_bridge.most_local, "length(%lu) must be <= %lu.", length, mt_bridge.most_local);
    _local[index] = length;
    _locals = MAX(_locals, index + 1);
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
    _MTLBuffer *one = (_MTLBuffer *)resource;
    REQUIRE(one, "resource must not be nil.");
    if (_resourceCount == _resourceRoom) {
        _resourceRoom = _resourceRoom ? 2 * _resourceRoom : 16;
        _resources = realloc(_resources, 2 * _resourceRoom * sizeof *_resources);
    }
    _resources[2 * _resourceCount] = (uint64_t)one->bytes;
    _resources[2 * _resourceCount++ + 1] = one->length;
    [buffer keep:one];
}
- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
    for (NSUInteger i = 0; i < count; i++)
        [self useResource:resources[i] usage:usage];
}
- (void)useHeap:(id<MTLHeap>)heap { [self useResource:((_MTLHeap *)heap)->all usage:MTLResourceUsageRead]; }
- (void)useHeaps:(const id<MTLHeap>[])heaps count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        [self useHeap:heaps[i]];
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {}
- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count {}

- (void)check:(MTLSize)threads method:(SEL)method {
    NSUInteger all = threads.width * threads.height * threads.depth;
    if (ended)
        mt_failed_assertion(self, method, "encoding after endEncoding");
    if (!_pipeline)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\na compute pipeline state must be set before a dispatch.");
    if (!threads.width || !threads.height || !threads.depth)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\nthreadsPerThreadgroup(%lu, %lu, %lu) must be > 0 in every dimension.", threads.width, threads.height, threads.depth);
    NSUInteger most = mt_bridge.most_threads;
    if (threads.width > most || threads.height > most || threads.depth > most || all > most)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\n(threadsPerThreadgroup.width(%lu) * threadsPerThreadgroup.height(%lu) * threadsPerThreadgroup.depth(%lu))(%lu) must be <= %lu. (device threadgroup size limit)", threads.width, threads.height, threads.depth, all, most);
    if (all > _pipeline->limit)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\n(threadsPerThreadgroup.width(%lu) * threadsPerThreadgroup.height(%lu) * threadsPerThreadgroup.depth(%lu))(%lu) must be <= %lu. (kernel threadgroup size limit)", threads.width, threads.height, threads.depth, all, _pipeline->limit);
}

// handle, grid (3), threadgroup (3), locals, buffers, resources; then locals (1 each), buffers (address, bytes from
// there on, bytes of the allocation below), resources (address, bytes). Python reads the same in dispatch.py.
- (struct command *)record:(MTLSize)grid threads:(MTLSize)threads {
    NSUInteger buffers = _pipeline->description.buffers;
    size_t words = 10 + _locals + 3 * buffers + 2 * _resourceCount;
    uint64_t *to = [buffer room:words * sizeof *to];
    struct command *command = [buffer add:DISPATCH];
    command->words = to;
    command->pipeline = _pipeline;
    uint64_t head[] = {(uint64_t)_pipeline->handle, grid.width, grid.height, grid.depth, threads.width, threads.height,
                       threads.depth, _locals, buffers, _resourceCount};
    memcpy(to, head, sizeof head);
    to += 10;
    for (NSUInteger i = 0; i < _locals; i++)
        *to++ = _local[i];
    for (NSUInteger i = 0; i < buffers; i++) {
        BOOL used = _pipeline->description.buffer_mask >> i & 1 && _bound[i].base;
        *to++ = used ? (uint64_t)(_bound[i].base + _bound[i].offset) : 0;
        *to++ = used ? _bound[i].length - _bound[i].offset : 0;
        *to++ = used ? _bound[i].offset : 0;
    }
    memcpy(to, _resources, 2 * _resourceCount * sizeof *to);
    return command;
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
@end

// Argument encoders: buffers and values are written into the struct that a kernel takes as an argument buffer.
#include "objects.h"

struct member {
    NSUInteger index, offset, size;
    BOOL pointer;
};

@interface _MTLArgumentEncoder : _MTLObject <MTLArgumentEncoder> {
  @public
    NSUInteger length, alignment, count;
    struct member *members;
    _MTLBuffer *target;
    NSUInteger start;
}
@end

@implementation _MTLArgumentEncoder
- (const char *)kind { return "argument encoder"; }
- (void)dealloc {
    free(members);
    [target release];
    [super dealloc];
}
- (NSUInteger)encodedLength { return length; }
- (NSUInteger)alignment { return alignment; }
- (void)setArgumentBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset {
    _MTLBuffer *one = (_MTLBuffer *)to;
    REQUIRE(!one || (length <= one->length && offset <= one->length - length), "(offset(%lu) + encodedLength(%lu)) must be <= [buffer length](%lu).", offset, length, one->length);
    [one retain];
    [target release];
    target = one;
    start = offset;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)to startOffset:(NSUInteger)offset arrayElement:(NSUInteger)element {
    [self setArgumentBuffer:to offset:offset + element * length];
}
- (struct member *)member:(NSUInteger)index method:(SEL)method {
    if (!target)
        mt_failed_assertion(self, method, "an argument buffer must be set before its contents.");
    for (NSUInteger i = 0; i < count; i++)
        if (members[i].index == index)
            return &members[i];
    mt_failed_assertion(self, method, "index(%lu): the argument buffer has no such member.", index);
}
- (void)setBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    _MTLBuffer *one = (_MTLBuffer *)to;
    struct member *member = [self member:index method:_cmd];
    REQUIRE(member->pointer, "index(%lu) is no buffer; use constantDataAtIndex: for values.", index);
    REQUIRE(!one || offset <= one->length, "offset(%lu) must be <= [buffer length](%lu).", offset, one->length);
    uint64_t address = one ? (uint64_t)one->bytes + offset : 0;
    memcpy(target->bytes + start + member->offset, &address, 8);
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void *)constantDataAtIndex:(NSUInteger)index { return target->bytes + start + [self member:index method:_cmd]->offset; }
@end

static _MTLArgumentEncoder *encoder_of(_MTLDevice *device, NSUInteger length, NSUInteger alignment) {
    _MTLArgumentEncoder *made = [[_MTLArgumentEncoder alloc] init];
    made->_device = device;
    made->length = length;
    made->alignment = alignment;
    return made;
}

static void add(_MTLArgumentEncoder *to, struct member member) {
    to->members = realloc(to->members, (to->count + 1) * sizeof member);
    to->members[to->count++] = member;
}

@implementation _MTLFunction (Arguments)
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index {
    char *words = calloc(1, ERROR_ROOM), *lines = calloc(1, ERROR_ROOM);
    int blocked = mt_python_enters();
    BOOL found = mt_bridge.arguments(handle, (int64_t)index, lines, ERROR_ROOM, words) != 0;
    mt_python_leaves(blocked);
    REQUIRE(found, "bufferIndex(%lu): %s", index, words);
    unsigned long length = 0, alignment = 0;
    sscanf(lines, "%lu %lu", &length, &alignment);
    _MTLArgumentEncoder *made = encoder_of((_MTLDevice *)_device, length, alignment);
    for (const char *line = strchr(lines, '\n'); line; line = strchr(line + 1, '\n')) {
        unsigned long n, offset, size;
        int pointer;
        if (sscanf(line, "%lu %lu %lu %d", &n, &offset, &size, &pointer) == 4)
            add(made, (struct member){n, offset, size, pointer != 0});
    }
    free(words);
    free(lines);
    return made;
}
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index reflection:(id *)reflection {
    if (reflection)
        *reflection = nil;
    return [self newArgumentEncoderWithBufferIndex:index];
}
@end

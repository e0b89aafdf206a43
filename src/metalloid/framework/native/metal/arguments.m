// Argument encoders: buffers and values are written into the struct that a kernel takes as an argument buffer.
#include "objects.h"

struct member {
    NSUInteger index, offset, size;
    BOOL pointer;
    id inside;  // an encoder for the struct that it leads to
};

@interface _MTLArgumentEncoder : _MTLObject <MTLArgumentEncoder> {
  @public
    NSUInteger length, alignment, count;
    struct member *members;
    _MTLBuffer *target;
    NSUInteger start;
}
@end

static id copy_of(_MTLArgumentEncoder *one);

@implementation _MTLArgumentEncoder
- (const char *)kind { return "argument encoder"; }
- (void)dealloc {
    for (NSUInteger i = 0; i < count; i++)
        [members[i].inside release];
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
    for (NSUInteger i = 0; i < count; i++)
        if (members[i].index == index)
            return &members[i];
    mt_failed_assertion(self, method, "index(%lu): the argument buffer has no such member.", index);
}
- (void)setBuffer:(id<MTLBuffer>)to offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    _MTLBuffer *one = (_MTLBuffer *)to;
    struct member *member = [self member:index method:_cmd];
    REQUIRE(target, "an argument buffer must be set before its contents.");
    REQUIRE(member->pointer, "index(%lu) is no buffer; use constantDataAtIndex: for values.", index);
    REQUIRE(!one || offset <= one->length, "offset(%lu) must be <= [buffer length](%lu).", offset, one->length);
    uint64_t address = one ? (uint64_t)one->bytes + offset : 0;
    memcpy(target->bytes + start + member->offset, &address, 8);
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void *)constantDataAtIndex:(NSUInteger)index {
    struct member *member = [self member:index method:_cmd];
    REQUIRE(target, "an argument buffer must be set before its contents.");
    return target->bytes + start + member->offset;
}
- (id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index {
    struct member *member = [self member:index method:_cmd];
    REQUIRE(member->inside, "index(%lu) is no pointer to a struct.", index);
    return copy_of(member->inside);
}
@end

static _MTLArgumentEncoder *encoder_of(id device, NSUInteger length, NSUInteger alignment) {
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

static id copy_of(_MTLArgumentEncoder *one) {  // with a buffer of its own
    _MTLArgumentEncoder *made = encoder_of(one->_device, one->length, one->alignment);
    for (NSUInteger i = 0; i < one->count; i++) {
        [one->members[i].inside retain];
        add(made, one->members[i]);
    }
    return made;
}

// Lines that framework/describing.py writes, up to an empty one; behind a pointer to a struct come those of that struct.
static _MTLArgumentEncoder *read_encoder(id device, const char **at) {
    unsigned long length = 0, alignment = 0, n, offset, size;
    int kind;
    sscanf(*at, "%lu %lu", &length, &alignment);
    _MTLArgumentEncoder *made = encoder_of(device, length, alignment);
    for (;;) {
        const char *end = strchr(*at, '\n');
        *at = end ? end + 1 : *at + strlen(*at);
        if (!**at || **at == '\n' || sscanf(*at, "%lu %lu %lu %d", &n, &offset, &size, &kind) != 4)
            return made;
        struct member member = {n, offset, size, kind != 0, nil};
        if (kind == 2) {
            const char *next = strchr(*at, '\n');
            *at = next ? next + 1 : *at + strlen(*at);
            member.inside = read_encoder(device, at);
        }
        add(made, member);
    }
}

@implementation MTLArgumentDescriptor
@synthesize dataType, index, arrayLength, access, textureType, constantBlockAlignment;
+ (MTLArgumentDescriptor *)argumentDescriptor { return [[[self alloc] init] autorelease]; }
- (id)copyWithZone:(NSZone *)zone {
    MTLArgumentDescriptor *made = [[MTLArgumentDescriptor alloc] init];
    made.dataType = self.dataType;
    made.index = self.index;
    made.arrayLength = self.arrayLength;
    made.access = self.access;
    made.textureType = self.textureType;
    made.constantBlockAlignment = self.constantBlockAlignment;
    return made;
}
@end

@implementation _MTLDevice (Arguments)
- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments {
    REQUIRE(arguments, "arguments must not be nil.");
    NSMutableString *members = [NSMutableString string];
    for (MTLArgumentDescriptor *one in arguments)
        [members appendFormat:@"%lu %lu %lu %lu\n", (unsigned long)one.dataType, (unsigned long)one.index, (unsigned long)one.arrayLength, (unsigned long)one.constantBlockAlignment];
    char *words = calloc(1, ERROR_ROOM), *lines = calloc(1, ERROR_ROOM);
    int blocked = mt_python_enters();
    BOOL found = mt_bridge.described(members.UTF8String, lines, ERROR_ROOM, words) != 0;
    mt_python_leaves(blocked);
    REQUIRE(found, "arguments: %s", words);
    const char *at = lines;
    _MTLArgumentEncoder *made = read_encoder(self, &at);
    free(words);
    free(lines);
    return made;
}
@end

@implementation _MTLFunction (Arguments)
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index {
    char *words = calloc(1, ERROR_ROOM), *lines = calloc(1, ERROR_ROOM);
    int blocked = mt_python_enters();
    BOOL found = mt_bridge.arguments(handle, (int64_t)index, lines, ERROR_ROOM, words) != 0;
    mt_python_leaves(blocked);
    REQUIRE(found, "bufferIndex(%lu): %s", index, words);
    const char *at = lines;
    _MTLArgumentEncoder *made = read_encoder(_device, &at);
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

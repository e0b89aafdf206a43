// The blit encoder: copies and fills, checked when they are encoded.
#include "objects.h"

@interface _MTLBlitCommandEncoder : _MTLCommandEncoder <MTLBlitCommandEncoder>
@end

@implementation _MTLBlitCommandEncoder
- (const char *)kind { return "blit encoder"; }
- (void)copyFromBuffer:(id<MTLBuffer>)source sourceOffset:(NSUInteger)from toBuffer:(id<MTLBuffer>)target destinationOffset:(NSUInteger)to size:(NSUInteger)size {
    _MTLBuffer *a = (_MTLBuffer *)source, *b = (_MTLBuffer *)target;
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(a, "Copy From Buffer Validation\nsourceBuffer must not be nil.");
    REQUIRE(b, "Copy From Buffer Validation\ndestinationBuffer must not be nil.");
    REQUIRE(size <= a->length && from <= a->length - size, "Copy From Buffer Validation\n(sourceOffset(%lu) + size(%lu))(%lu) must be <= %lu.", from, size, from + size, a->length);
    REQUIRE(size <= b->length && to <= b->length - size, "Copy From Buffer Validation\n(destinationOffset(%lu) + size(%lu))(%lu) must be <= %lu.", to, size, to + size, b->length);
    struct command *command = [buffer add:COPY];
    command->to = b->bytes + to;
    command->from = a->bytes + from;
    command->size = size;
    [buffer keep:a];
    [buffer keep:b];
    TRACE("copy", "blit encoder", "%lu bytes from %s at %lu to %s at %lu", size, a.words.UTF8String, from, b.words.UTF8String, to);
}
- (void)fillBuffer:(id<MTLBuffer>)target range:(NSRange)range value:(uint8_t)value {
    _MTLBuffer *b = (_MTLBuffer *)target;
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(b, "Fill Buffer Validation\nbuffer must not be nil.");
    REQUIRE(range.length <= b->length && range.location <= b->length - range.length, "Fill Buffer Validation\n(range.location(%lu) + range.length(%lu))(%lu) must be <= [buffer length](%lu).", range.location, range.length, NSMaxRange(range), b->length);
    struct command *command = [buffer add:FILL];
    command->to = b->bytes + range.location;
    command->size = range.length;
    command->value = value;
    [buffer keep:b];
    TRACE("fill", "blit encoder", "%lu bytes of %s at %lu with %d", range.length, b.words.UTF8String, range.location, value);
}
- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {
    REQUIRE(!ended, "encoding after endEncoding");
    REQUIRE(commands, "buffer must not be nil.");
    REQUIRE(range.length <= commands.size && range.location <= commands.size - range.length, "range(%lu, %lu) must lie in the %lu commands.", range.location, range.length, commands.size);
    struct command *command = [buffer add:RESET];
    command->object = commands;
    command->value = range.location;
    command->size = range.length;
    [buffer keep:commands];
}
- (void)optimizeIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)commands withRange:(NSRange)range {}
- (void)synchronizeResource:(id<MTLResource>)resource {}
@end

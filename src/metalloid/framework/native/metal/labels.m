// Labels and debug groups: findings say where in the program a dispatch stood; traces tell every step.
#include "objects.h"

void mt_trace(const char *kind, const char *subject, const char *format, ...) {
    char text[4096];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    int blocked = mt_python_enters();
    mt_bridge.tell(kind, subject, text, "ok");
    mt_python_leaves(blocked);
}

@implementation _MTLObject (Labels)
- (NSString *)label {
    objc_sync_enter(self);
    NSString *found = [[_label retain] autorelease];
    objc_sync_exit(self);
    return found;
}
- (void)setLabel:(NSString *)label {
    objc_sync_enter(self);
    NSString *had = _label;
    _label = [label copy];
    changes++;
    objc_sync_exit(self);
    [had release];
}
- (const char *)kind { return "object"; }
- (const char *)role { return self.kind; }
- (NSString *)words {
    NSString *label = self.label;
    return label.length ? mt_text("%s '%s'", self.kind, label.UTF8String) : [NSString stringWithUTF8String:self.kind];
}
- (void)pushDebugGroup:(NSString *)string {
    REQUIRE(string, "string must not be nil.");
    objc_sync_enter(self);
    if (!groups)
        groups = [[NSMutableArray alloc] init];
    [groups addObject:string];
    changes++;
    objc_sync_exit(self);
    TRACE("push group", self.kind, "%s", string.UTF8String);
}
- (void)popDebugGroup {
    objc_sync_enter(self);
    NSString *last = [[groups.lastObject retain] autorelease];
    if (last)
        [groups removeObjectAtIndex:groups.count - 1];
    changes++;
    objc_sync_exit(self);
    REQUIRE(last, "popDebugGroup without a pushDebugGroup:");
    TRACE("pop group", self.kind, "%s", last.UTF8String);
}
- (void)addLabelsTo:(NSMutableString *)text {
    objc_sync_enter(self);
    if (_label.length)
        [text appendFormat:@"%s '%@', ", self.role, _label];
    for (NSString *group in groups)
        [text appendFormat:@"group '%@', ", group];
    objc_sync_exit(self);
}
@end

@implementation _MTLCommandBuffer (Labels)
- (const char *)kind { return "command buffer"; }
@end
@implementation _MTLCommandQueue (Labels)
- (const char *)kind { return "command queue"; }
@end
@implementation _MTLBuffer (Labels)
- (const char *)kind { return "buffer"; }
@end
@implementation _MTLHeap (Labels)
- (const char *)kind { return "heap"; }
@end

@implementation _MTLCommandEncoder (Labels)
- (const char *)role { return "encoder"; }
- (const char *)labels {
    uint64_t now = (uint64_t)buffer->changes << 32 | changes;
    if (now != said) {
        NSMutableString *text = [NSMutableString string];
        [buffer addLabelsTo:text];
        [self addLabelsTo:text];
        said = now;
        during = 0;
        if (text.length) {
            size_t size = strlen(text.UTF8String) - 2;  // without the last comma
            char *copy = [buffer room:size + 1];
            memcpy(copy, text.UTF8String, size);
            copy[size] = 0;
            during = copy;
        }
    }
    return during;
}
- (void)insertDebugSignpost:(NSString *)string {
    REQUIRE(!ended, "encoding after endEncoding");
    if (!mt_bridge.tracing)
        return;
    struct command *command = [buffer add:SIGNPOST];
    const char *text = string.UTF8String;
    command->during = strcpy([buffer room:strlen(text) + 1], text);
}
@end

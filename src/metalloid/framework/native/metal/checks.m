// Objects of Metal have a label and a device; mistakes end the program with Metal's words.
#include "objects.h"
#include <time.h>

void mt_failed_assertion(id self, SEL method, const char *format, ...) {
    char text[2048];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    Class cls = object_getClass(self);
    mt_die("%c[%s %s]: failed assertion `%s'", class_isMetaClass(cls) ? '+' : '-', class_getName(cls), sel_getName(method), text);
}

double mt_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

@implementation _MTLObject
@synthesize device = _device;
@dynamic label;  // labels.m
- (void)dealloc {
    [_label release];
    [groups release];
    [super dealloc];
}
- (NSUInteger)allocatedSize { return 0; }
- (NSString *)description {
    return mt_text("<%s: %p>%s%s", class_getName(isa), (void *)self, _label ? "\n    label = " : "", _label ? _label.UTF8String : "");
}
@end

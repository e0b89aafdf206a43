// The few types of CoreFoundation that the headers of metal-cpp and of programs name.
#ifndef METALLOID_COREFOUNDATION_H
#define METALLOID_COREFOUNDATION_H

#include <Availability.h>
#include <TargetConditionals.h>
#include <objc/objc.h>
#include <stddef.h>
#include <stdint.h>

typedef double CFTimeInterval;
typedef CFTimeInterval CFAbsoluteTime;
typedef double CGFloat;
typedef long CFIndex;
typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;
typedef const struct __CFAllocator *CFAllocatorRef;
typedef const struct __CFDictionary *CFDictionaryRef;
typedef struct CGSize {
    CGFloat width, height;
} CGSize;
typedef struct CGColorSpace *CGColorSpaceRef;

OBJC_EXPORT CFTypeRef CFRetain(CFTypeRef object);
OBJC_EXPORT void CFRelease(CFTypeRef object);
OBJC_EXPORT CFAbsoluteTime CFAbsoluteTimeGetCurrent(void);

#endif

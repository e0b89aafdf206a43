// Words that every header of Foundation uses.
#ifndef METALLOID_NSOBJCRUNTIME_H
#define METALLOID_NSOBJCRUNTIME_H

#include <Availability.h>
#include <CoreFoundation/CoreFoundation.h>
#include <TargetConditionals.h>
#include <limits.h>
#include <math.h>
#include <objc/message.h>
#include <objc/objc.h>
#include <objc/runtime.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef long NSInteger;
typedef unsigned long NSUInteger;
#define NSIntegerMax LONG_MAX
#define NSIntegerMin LONG_MIN
#define NSUIntegerMax ULONG_MAX
static const NSInteger NSNotFound = NSIntegerMax;
typedef double NSTimeInterval;
typedef unsigned short unichar;

#define NS_ENUM(type, name)                                                                                            \
    enum name : type name;                                                                                             \
    enum name : type
#define NS_OPTIONS(type, name)                                                                                         \
    enum name : type name;                                                                                             \
    enum name : type
#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#define NS_FORMAT_FUNCTION(f, a)
#define NS_SWIFT_NAME(...)
#define NS_RETURNS_RETAINED __attribute__((ns_returns_retained))
#define NS_REQUIRES_NIL_TERMINATION __attribute__((sentinel))
#define NS_AVAILABLE(...)
#define NS_DESIGNATED_INITIALIZER
#define NS_UNAVAILABLE __attribute__((unavailable))
#define NS_INLINE static inline
#define FOUNDATION_EXPORT OBJC_EXPORT
#define FOUNDATION_EXTERN OBJC_EXPORT

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

typedef enum NSComparisonResult : NSInteger {
    NSOrderedAscending = -1,
    NSOrderedSame = 0,
    NSOrderedDescending = 1
} NSComparisonResult;

typedef struct _NSRange {
    NSUInteger location, length;
} NSRange;

static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length) {
    NSRange range = {location, length};
    return range;
}

static inline NSUInteger NSMaxRange(NSRange range) { return range.location + range.length; }

#ifdef __OBJC__
@class NSString;
FOUNDATION_EXPORT void NSLog(NSString *format, ...);
FOUNDATION_EXPORT NSString *NSStringFromClass(Class cls);
FOUNDATION_EXPORT Class NSClassFromString(NSString *name);
FOUNDATION_EXPORT NSString *NSStringFromSelector(SEL selector);
FOUNDATION_EXPORT SEL NSSelectorFromString(NSString *name);
#define NSAssert(condition, text, ...)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            NSLog(text, ##__VA_ARGS__);                                                                                \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#define NSCAssert NSAssert
#define NSParameterAssert(condition) NSAssert(condition, @"Invalid parameter not satisfying: " #condition)
#endif

#endif

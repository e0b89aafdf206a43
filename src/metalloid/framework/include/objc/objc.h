// The words of the Objective-C runtime: objects, classes, selectors.
#ifndef METALLOID_OBJC_OBJC_H
#define METALLOID_OBJC_OBJC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OBJC_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define OBJC_EXPORT extern __attribute__((visibility("default")))
#endif

#ifndef __OBJC__
typedef struct objc_class *Class;
struct objc_object {
    Class isa;
};
typedef struct objc_object *id;
#endif

typedef struct objc_selector *SEL;
#ifdef __OBJC__
typedef id (*IMP)(id, SEL, ...);
#else
typedef id (*IMP)(id, SEL, ...);
#endif
typedef bool BOOL;
#define OBJC_BOOL_IS_BOOL 1
#define OBJC_BOOL_DEFINED

#ifdef __OBJC__
#define YES __objc_yes
#define NO __objc_no
#else
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#endif

#ifndef nil
#ifdef __cplusplus
#define nil nullptr
#else
#define nil ((void *)0)
#endif
#endif
#ifndef Nil
#define Nil nil
#endif

OBJC_EXPORT const char *sel_getName(SEL selector);
OBJC_EXPORT SEL sel_registerName(const char *name);
OBJC_EXPORT const char *object_getClassName(id object);

#endif

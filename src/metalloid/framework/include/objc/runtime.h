// What programs ask the Objective-C runtime about classes, methods and protocols.
#ifndef METALLOID_OBJC_RUNTIME_H
#define METALLOID_OBJC_RUNTIME_H

#include <objc/objc.h>

typedef struct objc_method *Method;
typedef struct objc_ivar *Ivar;
typedef struct objc_property *objc_property_t;
#ifdef __OBJC__
@class Protocol;
#else
typedef struct objc_object Protocol;
#endif
typedef uintptr_t objc_AssociationPolicy;
enum {
    OBJC_ASSOCIATION_ASSIGN = 0,
    OBJC_ASSOCIATION_RETAIN_NONATOMIC = 1,
    OBJC_ASSOCIATION_COPY_NONATOMIC = 3,
    OBJC_ASSOCIATION_RETAIN = 01401,
    OBJC_ASSOCIATION_COPY = 01403
};

OBJC_EXPORT Class objc_lookUpClass(const char *name);
OBJC_EXPORT Class objc_getClass(const char *name);
OBJC_EXPORT Class objc_getRequiredClass(const char *name);
OBJC_EXPORT Class objc_getMetaClass(const char *name);
OBJC_EXPORT Protocol *objc_getProtocol(const char *name);
OBJC_EXPORT Class objc_allocateClassPair(Class superclass, const char *name, size_t extra);
OBJC_EXPORT void objc_registerClassPair(Class cls);

OBJC_EXPORT Class object_getClass(id object);
OBJC_EXPORT Class object_setClass(id object, Class cls);
OBJC_EXPORT const char *class_getName(Class cls);
OBJC_EXPORT Class class_getSuperclass(Class cls);
OBJC_EXPORT BOOL class_isMetaClass(Class cls);
OBJC_EXPORT size_t class_getInstanceSize(Class cls);
OBJC_EXPORT BOOL class_respondsToSelector(Class cls, SEL selector);
OBJC_EXPORT BOOL class_conformsToProtocol(Class cls, Protocol *protocol);
OBJC_EXPORT BOOL class_addMethod(Class cls, SEL selector, IMP implementation, const char *types);
OBJC_EXPORT BOOL class_addIvar(Class cls, const char *name, size_t size, uint8_t alignment, const char *types);
OBJC_EXPORT Method class_getInstanceMethod(Class cls, SEL selector);
OBJC_EXPORT Method class_getClassMethod(Class cls, SEL selector);
OBJC_EXPORT IMP class_getMethodImplementation(Class cls, SEL selector);
OBJC_EXPORT IMP method_getImplementation(Method method);
OBJC_EXPORT SEL method_getName(Method method);
OBJC_EXPORT const char *method_getTypeEncoding(Method method);
OBJC_EXPORT const char *protocol_getName(Protocol *protocol);
OBJC_EXPORT id class_createInstance(Class cls, size_t extra);
OBJC_EXPORT id object_dispose(id object);
OBJC_EXPORT BOOL sel_isEqual(SEL one, SEL other);
OBJC_EXPORT SEL sel_getUid(const char *name);

OBJC_EXPORT void objc_setAssociatedObject(id object, const void *key, id value, objc_AssociationPolicy policy);
OBJC_EXPORT id objc_getAssociatedObject(id object, const void *key);
OBJC_EXPORT void objc_removeAssociatedObjects(id object);

OBJC_EXPORT int objc_sync_enter(id object);
OBJC_EXPORT int objc_sync_exit(id object);
OBJC_EXPORT id objc_retain(id object);
OBJC_EXPORT void objc_release(id object);
OBJC_EXPORT id objc_autorelease(id object);
OBJC_EXPORT void *objc_autoreleasePoolPush(void);
OBJC_EXPORT void objc_autoreleasePoolPop(void *pool);

#endif

// NSObject, pools, protocols and exceptions.
#include "common.h"

__attribute__((objc_root_class))
@interface NSZombie {
    Class isa;
}
@end
@implementation NSZombie
@end

@implementation NSObject
+ (void)load {}
+ (void)initialize {}
+ (instancetype)new { return [[self alloc] init]; }
+ (instancetype)alloc { return class_createInstance(self, 0); }
+ (instancetype)allocWithZone:(NSZone *)zone { return [self alloc]; }
+ (Class)class { return self; }
+ (Class)superclass { return class_getSuperclass(self); }
+ (NSString *)description { return mt_text("%s", class_getName(self)); }
+ (BOOL)instancesRespondToSelector:(SEL)selector { return class_respondsToSelector(self, selector); }
+ (BOOL)respondsToSelector:(SEL)selector { return class_respondsToSelector(object_getClass(self), selector); }
+ (BOOL)isSubclassOfClass:(Class)cls {
    for (Class c = self; c; c = class_getSuperclass(c))
        if (c == cls)
            return YES;
    return NO;
}
+ (BOOL)conformsToProtocol:(Protocol *)protocol {
    for (Class c = self; c; c = class_getSuperclass(c))
        if (class_conformsToProtocol(c, protocol))
            return YES;
    return NO;
}
+ (id)retain { return self; }
+ (oneway void)release {}
+ (id)autorelease { return self; }
+ (NSUInteger)retainCount { return NSUIntegerMax; }
+ (NSUInteger)hash { return (NSUInteger)self >> 4; }
+ (BOOL)isEqual:(id)object { return self == object; }
+ (id)self { return self; }
+ (id)copy { return self; }
+ (id)copyWithZone:(NSZone *)zone { return self; }
+ (BOOL)isKindOfClass:(Class)cls { return object_getClass(self) == cls || cls == [NSObject class]; }

- (instancetype)init { return self; }
- (void)dealloc { object_dispose(self); }
- (id)copy { return [(id)self copyWithZone:0]; }
- (id)mutableCopy { return [(id)self mutableCopyWithZone:0]; }
- (instancetype)retain {
    mt_retain(self);
    return self;
}
- (oneway void)release {
    if (mt_release(self))
        [self dealloc];
}
- (instancetype)autorelease {
    mt_autorelease(self);
    return self;
}
- (NSUInteger)retainCount { return (NSUInteger)mt_references(self); }
- (Class)class { return isa; }
- (Class)superclass { return class_getSuperclass(isa); }
- (instancetype)self { return self; }
- (BOOL)isEqual:(id)object { return self == object; }
- (NSUInteger)hash { return (NSUInteger)self >> 4; }
- (BOOL)isKindOfClass:(Class)cls { return [isa isSubclassOfClass:cls]; }
- (BOOL)isMemberOfClass:(Class)cls { return isa == cls; }
- (BOOL)conformsToProtocol:(Protocol *)protocol { return [isa conformsToProtocol:protocol]; }
- (BOOL)respondsToSelector:(SEL)selector { return class_respondsToSelector(isa, selector); }
- (IMP)methodForSelector:(SEL)selector { return class_getMethodImplementation(isa, selector); }
- (NSMethodSignature *)methodSignatureForSelector:(SEL)selector { return nil; }
- (id)performSelector:(SEL)selector { return objc_msgSend(self, selector); }
- (id)performSelector:(SEL)selector withObject:(id)object {
    return ((id(*)(id, SEL, id))objc_msgSend)(self, selector, object);
}
- (void)doesNotRecognizeSelector:(SEL)selector {
    mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '-[%s %s]: unrecognized"
           " selector sent to instance %p'", class_getName(isa), sel_getName(selector), (void *)self);
}
- (NSString *)description { return mt_text("<%s: %p>", class_getName(isa), (void *)self); }
- (NSString *)debugDescription { return [self description]; }
@end

@implementation Protocol
- (id)retain { return self; }
- (oneway void)release {}
- (id)autorelease { return self; }
- (NSString *)description { return mt_text("%s", protocol_getName(self)); }
@end

@implementation NSAutoreleasePool
+ (void)addObject:(id)object { mt_autorelease(object); }
- (instancetype)init {
    _pool = objc_autoreleasePoolPush();
    return self;
}
- (void)addObject:(id)object { mt_autorelease(object); }
- (void)drain { [self release]; }
- (id)autorelease { mt_die("*** -[NSAutoreleasePool autorelease]: a pool cannot be autoreleased"); }
- (void)dealloc {
    objc_autoreleasePoolPop(_pool);
    [super dealloc];
}
+ (void)showPools {}
@end

@implementation NSException
@synthesize name = _name, reason = _reason;
+ (NSException *)exceptionWithName:(NSString *)name reason:(NSString *)reason userInfo:(id)info {
    NSException *made = [[[self alloc] init] autorelease];
    made->_name = [name copy];
    made->_reason = [reason copy];
    return made;
}
+ (void)raise:(NSString *)name format:(NSString *)format, ... {
    va_list rest;
    va_start(rest, format);
    NSString *reason = [[[NSString alloc] initWithFormat:format arguments:rest] autorelease];
    va_end(rest);
    [[self exceptionWithName:name reason:reason userInfo:nil] raise];
}
- (void)raise {
    mt_die("*** Terminating app due to uncaught exception '%s', reason: '%s'", _name.UTF8String, _reason.UTF8String);
}
- (NSString *)description { return _reason; }
- (void)dealloc {
    [_name release];
    [_reason release];
    [super dealloc];
}
@end

NSString *NSStringFromClass(Class cls) { return cls ? mt_text("%s", class_getName(cls)) : nil; }
Class NSClassFromString(NSString *name) { return objc_lookUpClass(name.UTF8String); }
NSString *NSStringFromSelector(SEL selector) { return selector ? mt_text("%s", sel_getName(selector)) : nil; }
SEL NSSelectorFromString(NSString *name) { return sel_registerName(name.UTF8String); }
CFTypeRef CFRetain(CFTypeRef object) { return objc_retain((id)object); }
void CFRelease(CFTypeRef object) { objc_release((id)object); }

// NSObject and the protocols that most classes follow.
#ifndef METALLOID_NSOBJECT_H
#define METALLOID_NSOBJECT_H

#include <Foundation/NSObjCRuntime.h>

typedef struct _NSZone NSZone;
@class NSString, Protocol, NSMethodSignature;

@protocol NSObject
- (BOOL)isEqual:(id)object;
@property(readonly) NSUInteger hash;
@property(readonly) Class superclass;
- (Class)class;
- (instancetype)self;
- (BOOL)isKindOfClass:(Class)cls;
- (BOOL)isMemberOfClass:(Class)cls;
- (BOOL)conformsToProtocol:(Protocol *)protocol;
- (BOOL)respondsToSelector:(SEL)selector;
- (id)performSelector:(SEL)selector;
- (id)performSelector:(SEL)selector withObject:(id)object;
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
- (NSUInteger)retainCount;
@property(readonly, copy) NSString *description;
@optional
@property(readonly, copy) NSString *debugDescription;
@end

__attribute__((objc_root_class))
@interface NSObject <NSObject> {
    Class isa;
}
+ (void)load;
+ (void)initialize;
+ (instancetype)new;
+ (instancetype)alloc;
+ (instancetype)allocWithZone:(NSZone *)zone;
+ (Class)class;
+ (Class)superclass;
+ (NSString *)description;
+ (BOOL)instancesRespondToSelector:(SEL)selector;
+ (BOOL)conformsToProtocol:(Protocol *)protocol;
+ (BOOL)isSubclassOfClass:(Class)cls;
- (instancetype)init;
- (void)dealloc;
- (id)copy;
- (id)mutableCopy;
- (IMP)methodForSelector:(SEL)selector;
- (NSMethodSignature *)methodSignatureForSelector:(SEL)selector;
- (void)doesNotRecognizeSelector:(SEL)selector;
@end

@protocol NSCopying
- (id)copyWithZone:(NSZone *)zone;
@end

@protocol NSMutableCopying
- (id)mutableCopyWithZone:(NSZone *)zone;
@end

@protocol NSCoding
@end
@protocol NSSecureCoding <NSCoding>
@end
@protocol NSLocking
- (void)lock;
- (void)unlock;
@end

typedef struct {
    unsigned long state;
    id __unsafe_unretained *itemsPtr;
    unsigned long *mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained[])objects
                                    count:(NSUInteger)count;
@end

@interface Protocol : NSObject
@end

@interface NSAutoreleasePool : NSObject {
    void *_pool;
}
+ (void)addObject:(id)object;
- (void)addObject:(id)object;
- (void)drain;
@end

@interface NSException : NSObject {
    NSString *_name, *_reason;
}
@property(readonly) NSString *name;
@property(readonly) NSString *reason;
+ (NSException *)exceptionWithName:(NSString *)name reason:(NSString *)reason userInfo:(id)info;
+ (void)raise:(NSString *)name format:(NSString *)format, ...;
- (void)raise;
@end

#endif

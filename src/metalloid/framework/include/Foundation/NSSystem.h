// The process, its bundle, files, locks and threads.
#ifndef METALLOID_NSSYSTEM_H
#define METALLOID_NSSYSTEM_H

#include <Foundation/NSObject.h>
#include <Foundation/NSValues.h>
#include <pthread.h>

typedef struct {
    NSInteger majorVersion, minorVersion, patchVersion;
} NSOperatingSystemVersion;

@interface NSProcessInfo : NSObject
+ (NSProcessInfo *)processInfo;
@property(readonly, copy) NSArray<NSString *> *arguments;
@property(readonly, copy) NSDictionary<NSString *, NSString *> *environment;
@property(readonly, copy) NSString *processName;
@property(readonly, copy) NSString *hostName;
@property(readonly, copy) NSString *globallyUniqueString;
@property(readonly, copy) NSString *operatingSystemVersionString;
// Of the macOS whose interfaces these are: programs ask before they use what came late.
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@property(readonly) int processIdentifier;
@property(readonly) NSUInteger processorCount;
@property(readonly) NSUInteger activeProcessorCount;
@property(readonly) unsigned long long physicalMemory;
@property(readonly) NSTimeInterval systemUptime;
@end

@interface NSBundle : NSObject {
    NSString *_path;
}
+ (NSBundle *)mainBundle;
+ (NSBundle *)bundleForClass:(Class)cls;
+ (NSBundle *)bundleWithPath:(NSString *)path;
+ (NSBundle *)bundleWithURL:(NSURL *)url;
- (instancetype)initWithPath:(NSString *)path;
@property(readonly, copy) NSString *bundlePath;
@property(readonly, copy) NSURL *bundleURL;
@property(readonly, copy) NSString *resourcePath;
@property(readonly, copy) NSURL *resourceURL;
@property(readonly, copy) NSString *executablePath;
@property(readonly, copy) NSString *bundleIdentifier;
- (NSString *)pathForResource:(NSString *)name ofType:(NSString *)extension;
- (NSURL *)URLForResource:(NSString *)name withExtension:(NSString *)extension;
@end

typedef NSString *NSFileAttributeKey;
FOUNDATION_EXPORT NSFileAttributeKey const NSFileType, NSFileSize, NSFileModificationDate;
FOUNDATION_EXPORT NSString *const NSFileTypeDirectory, *const NSFileTypeRegular, *const NSFileTypeSymbolicLink;

@interface NSFileManager : NSObject
+ (NSFileManager *)defaultManager;
- (BOOL)fileExistsAtPath:(NSString *)path;
- (BOOL)fileExistsAtPath:(NSString *)path isDirectory:(BOOL *)directory;
- (BOOL)isReadableFileAtPath:(NSString *)path;
- (NSDictionary *)attributesOfItemAtPath:(NSString *)path error:(NSError **)error;
- (NSString *)destinationOfSymbolicLinkAtPath:(NSString *)path error:(NSError **)error;
- (NSArray *)contentsOfDirectoryAtPath:(NSString *)path error:(NSError **)error;
- (BOOL)createDirectoryAtPath:(NSString *)path withIntermediateDirectories:(BOOL)all attributes:(NSDictionary *)attributes error:(NSError **)error;
- (BOOL)removeItemAtPath:(NSString *)path error:(NSError **)error;
- (NSData *)contentsAtPath:(NSString *)path;
@property(readonly, copy) NSString *currentDirectoryPath;
@end
FOUNDATION_EXPORT NSString *NSTemporaryDirectory(void);
FOUNDATION_EXPORT NSString *NSHomeDirectory(void);

@interface NSLock : NSObject <NSLocking> {
  @protected
    pthread_mutex_t _mutex;
    NSString *_name;
}
@property(copy) NSString *name;
- (BOOL)tryLock;
@end

@interface NSRecursiveLock : NSLock
@end

@interface NSCondition : NSLock {
    pthread_cond_t _changed;
}
- (void)wait;
- (BOOL)waitUntilDate:(NSDate *)date;
- (void)signal;
- (void)broadcast;
@end

@interface NSThread : NSObject
+ (BOOL)isMainThread;
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds;
+ (NSThread *)currentThread;
@end

@interface NSUUID : NSObject {
    unsigned char _bytes[16];
}
+ (instancetype)UUID;
@property(readonly, copy) NSString *UUIDString;
@end

typedef NSString *NSNotificationName;
@interface NSNotification : NSObject
@end
@interface NSNotificationCenter : NSObject
+ (NSNotificationCenter *)defaultCenter;
- (id)addObserverForName:(NSNotificationName)name object:(id)object queue:(id)queue usingBlock:(void (^)(NSNotification *))block;
- (void)removeObserver:(id)observer;
@end

#endif

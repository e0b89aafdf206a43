// The process, its bundle and files.
#include "common.h"
#include <dirent.h>
#include <errno.h>
#include <mach/mach_time.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

extern char **environ;
NSFileAttributeKey const NSFileType = @"NSFileType", NSFileSize = @"NSFileSize", NSFileModificationDate = @"NSFileModificationDate";
NSString *const NSFileTypeDirectory = @"NSFileTypeDirectory", *const NSFileTypeRegular = @"NSFileTypeRegular";
NSString *const NSFileTypeSymbolicLink = @"NSFileTypeSymbolicLink";

static NSString *executable(void) {
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    return size > 0 ? mt_text("%.*s", (int)size, path) : @"";
}

@implementation NSProcessInfo
+ (NSProcessInfo *)processInfo {
    static NSProcessInfo *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] init]; });
    return one;
}
- (NSArray *)arguments {
    NSMutableArray *made = [NSMutableArray array];
    FILE *file = fopen("/proc/self/cmdline", "rb");
    char *one = 0;
    size_t room = 0;
    while (file && getdelim(&one, &room, 0, file) > 0)
        [made addObject:[NSString stringWithUTF8String:one]];
    if (file)
        fclose(file);
    free(one);
    return made;
}
- (NSDictionary *)environment {
    NSMutableDictionary *made = [NSMutableDictionary dictionary];
    for (char **one = environ; *one; one++) {
        char *equals = strchr(*one, '=');
        if (equals)
            [made setObject:[NSString stringWithUTF8String:equals + 1] forKey:mt_text("%.*s", (int)(equals - *one), *one)];
    }
    return made;
}
- (NSString *)processName { return executable().lastPathComponent; }
- (NSString *)hostName {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return [NSString stringWithUTF8String:name];
}
- (NSString *)globallyUniqueString { return [NSUUID UUID].UUIDString; }
- (NSString *)operatingSystemVersionString { return @"Linux"; }
- (NSOperatingSystemVersion)operatingSystemVersion { return (NSOperatingSystemVersion){15, 0, 0}; }
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version {
    return version.majorVersion < 15 || (version.majorVersion == 15 && !version.minorVersion && !version.patchVersion);
}
- (int)processIdentifier { return getpid(); }
- (NSUInteger)processorCount { return (NSUInteger)sysconf(_SC_NPROCESSORS_CONF); }
- (NSUInteger)activeProcessorCount { return (NSUInteger)sysconf(_SC_NPROCESSORS_ONLN); }
- (unsigned long long)physicalMemory {
    return (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE);
}
- (NSTimeInterval)systemUptime { return 1e-9 * (double)mach_absolute_time(); }
@end

uint64_t mach_absolute_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

kern_return_t mach_timebase_info(mach_timebase_info_t info) {
    info->numer = info->denom = 1;
    return KERN_SUCCESS;
}

@implementation NSBundle
+ (NSBundle *)mainBundle {
    static NSBundle *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] initWithPath:executable().stringByDeletingLastPathComponent]; });
    return one;
}
+ (NSBundle *)bundleForClass:(Class)cls { return [self mainBundle]; }
+ (NSBundle *)bundleWithPath:(NSString *)path { return [[[self alloc] initWithPath:path] autorelease]; }
+ (NSBundle *)bundleWithURL:(NSURL *)url { return [self bundleWithPath:url.path]; }
- (instancetype)initWithPath:(NSString *)path {
    _path = [path copy];
    return self;
}
- (void)dealloc {
    [_path release];
    [super dealloc];
}
- (NSString *)bundlePath { return _path; }
- (NSURL *)bundleURL { return [NSURL fileURLWithPath:_path]; }
- (NSString *)resourcePath { return _path; }
- (NSURL *)resourceURL { return self.bundleURL; }
- (NSString *)executablePath { return executable(); }
- (NSString *)bundleIdentifier { return nil; }
- (NSString *)pathForResource:(NSString *)name ofType:(NSString *)extension {
    NSString *file = extension.length ? [name stringByAppendingPathExtension:extension] : name;
    for (NSString *folder in @[ _path, [_path stringByAppendingPathComponent:@"Resources"] ]) {
        NSString *path = [folder stringByAppendingPathComponent:file];
        if ([[NSFileManager defaultManager] fileExistsAtPath:path])
            return path;
    }
    return nil;
}
- (NSURL *)URLForResource:(NSString *)name withExtension:(NSString *)extension {
    NSString *path = [self pathForResource:name ofType:extension];
    return path ? [NSURL fileURLWithPath:path] : nil;
}
@end

static void tell(NSError **error, NSString *path) {
    if (error)
        *error = mt_error(NSPOSIXErrorDomain, errno, mt_text("%s: %s", path.UTF8String, strerror(errno)));
}

@implementation NSFileManager
+ (NSFileManager *)defaultManager {
    static NSFileManager *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] init]; });
    return one;
}
- (BOOL)fileExistsAtPath:(NSString *)path { return path && !access(path.UTF8String, F_OK); }
- (BOOL)fileExistsAtPath:(NSString *)path isDirectory:(BOOL *)directory {
    struct stat status;
    if (!path || stat(path.UTF8String, &status))
        return NO;
    if (directory)
        *directory = S_ISDIR(status.st_mode);
    return YES;
}
- (BOOL)isReadableFileAtPath:(NSString *)path { return path && !access(path.UTF8String, R_OK); }
- (NSDictionary *)attributesOfItemAtPath:(NSString *)path error:(NSError **)error {
    struct stat status;
    if (lstat(path.UTF8String, &status)) {
        tell(error, path);
        return nil;
    }
    NSString *kind = S_ISDIR(status.st_mode) ? NSFileTypeDirectory : S_ISLNK(status.st_mode) ? NSFileTypeSymbolicLink : NSFileTypeRegular;
    return @{NSFileType : kind, NSFileSize : @((unsigned long long)status.st_size),
             NSFileModificationDate : [NSDate dateWithTimeIntervalSince1970:(double)status.st_mtime]};
}
- (NSString *)destinationOfSymbolicLinkAtPath:(NSString *)path error:(NSError **)error {
    char target[4096];
    ssize_t size = readlink(path.UTF8String, target, sizeof target);
    if (size < 0)
        tell(error, path);
    return size < 0 ? nil : mt_text("%.*s", (int)size, target);
}
- (NSArray *)contentsOfDirectoryAtPath:(NSString *)path error:(NSError **)error {
    DIR *folder = opendir(path.UTF8String);
    if (!folder) {
        tell(error, path);
        return nil;
    }
    NSMutableArray *made = [NSMutableArray array];
    for (struct dirent *one; (one = readdir(folder));)
        if (strcmp(one->d_name, ".") && strcmp(one->d_name, ".."))
            [made addObject:[NSString stringWithUTF8String:one->d_name]];
    closedir(folder);
    return made;
}
- (BOOL)createDirectoryAtPath:(NSString *)path withIntermediateDirectories:(BOOL)all attributes:(NSDictionary *)attributes error:(NSError **)error {
    if (all && ![self fileExistsAtPath:path.stringByDeletingLastPathComponent] && path.stringByDeletingLastPathComponent.length)
        [self createDirectoryAtPath:path.stringByDeletingLastPathComponent withIntermediateDirectories:YES attributes:nil error:error];
    if (!mkdir(path.UTF8String, 0777) || (all && errno == EEXIST))
        return YES;
    tell(error, path);
    return NO;
}
- (BOOL)removeItemAtPath:(NSString *)path error:(NSError **)error {
    if (!remove(path.UTF8String))
        return YES;
    tell(error, path);
    return NO;
}
- (NSData *)contentsAtPath:(NSString *)path { return [NSData dataWithContentsOfFile:path]; }
- (NSString *)currentDirectoryPath {
    char path[4096];
    return getcwd(path, sizeof path) ? [NSString stringWithUTF8String:path] : @"";
}
@end

NSString *NSTemporaryDirectory(void) {
    const char *folder = getenv("TMPDIR");
    return [NSString stringWithUTF8String:folder ? folder : "/tmp/"];
}

NSString *NSHomeDirectory(void) {
    const char *folder = getenv("HOME");
    return [NSString stringWithUTF8String:folder ? folder : "/"];
}

@implementation NSUUID
+ (instancetype)UUID { return [[[self alloc] init] autorelease]; }
- (instancetype)init {
    if (getrandom(_bytes, sizeof _bytes, 0) != sizeof _bytes)
        mt_die("NSUUID: no random numbers: %s", strerror(errno));
    _bytes[6] = (_bytes[6] & 0x0F) | 0x40;
    _bytes[8] = (_bytes[8] & 0x3F) | 0x80;
    return self;
}
- (NSString *)UUIDString {
    char text[40], *to = text;
    for (int i = 0; i < 16; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02X" : "%02X", _bytes[i]);
    return [NSString stringWithUTF8String:text];
}
@end

@implementation NSNotification
@end
@implementation NSNotificationCenter  // nothing that this framework does is announced
+ (NSNotificationCenter *)defaultCenter {
    static NSNotificationCenter *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] init]; });
    return one;
}
- (id)addObserverForName:(NSNotificationName)name object:(id)object queue:(id)queue usingBlock:(void (^)(NSNotification *))block {
    return [[[NSObject alloc] init] autorelease];
}
- (void)removeObserver:(id)observer {}
@end

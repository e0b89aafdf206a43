// Bytes, dates, URLs and errors.
#include "common.h"
#include <errno.h>
#include <time.h>

NSErrorDomain const NSCocoaErrorDomain = @"NSCocoaErrorDomain", NSPOSIXErrorDomain = @"NSPOSIXErrorDomain";
NSErrorDomain const NSOSStatusErrorDomain = @"NSOSStatusErrorDomain", NSMachErrorDomain = @"NSMachErrorDomain";
NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSLocalizedFailureReasonErrorKey = @"NSLocalizedFailureReason";
NSErrorUserInfoKey const NSLocalizedRecoverySuggestionErrorKey = @"NSLocalizedRecoverySuggestion";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError", NSFilePathErrorKey = @"NSFilePath";

@implementation NSData
+ (instancetype)data { return [[[self alloc] init] autorelease]; }
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)length { return [[[self alloc] initWithBytes:bytes length:length] autorelease]; }
+ (instancetype)dataWithBytesNoCopy:(void *)bytes length:(NSUInteger)length { return [self dataWithBytesNoCopy:bytes length:length freeWhenDone:YES]; }
+ (instancetype)dataWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)frees {
    return [[[self alloc] initWithBytesNoCopy:bytes length:length freeWhenDone:frees] autorelease];
}
+ (instancetype)dataWithContentsOfFile:(NSString *)path { return [self dataWithContentsOfFile:path options:0 error:0]; }
+ (instancetype)dataWithContentsOfURL:(NSURL *)url { return [self dataWithContentsOfFile:url.path]; }
+ (instancetype)dataWithContentsOfFile:(NSString *)path options:(NSUInteger)options error:(id *)error {
    FILE *file = fopen(path ? path.UTF8String : "", "rb");
    if (!file) {
        if (error)
            *error = mt_error(NSCocoaErrorDomain, errno == ENOENT ? 260 : 256,
                              mt_text("The file \u201c%s\u201d couldn\u2019t be opened: %s.", path.lastPathComponent.UTF8String, strerror(errno)));
        return nil;
    }
    NSMutableData *made = [[NSMutableData alloc] init];
    char piece[65536];
    for (size_t had; (had = fread(piece, 1, sizeof piece, file));)
        [made appendBytes:piece length:had];
    fclose(file);
    id result = [self dataWithBytes:made.bytes length:made.length];
    [made release];
    return result;
}
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length {
    _bytes = malloc(length ? length : 1);
    memcpy(_bytes, bytes ? bytes : "", length);
    _length = _room = length;
    _frees = YES;
    return self;
}
- (instancetype)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)frees {
    _bytes = bytes;
    _length = _room = length;
    _frees = frees;
    return self;
}
- (instancetype)initWithContentsOfFile:(NSString *)path {
    [self release];
    return [[object_getClass(self) dataWithContentsOfFile:path] retain];
}
- (void)dealloc {
    if (_frees)
        free(_bytes);
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (id)mutableCopyWithZone:(NSZone *)zone { return [[NSMutableData alloc] initWithBytes:_bytes length:_length]; }
- (NSUInteger)length { return _length; }
- (const void *)bytes { return _bytes; }
- (void *)mutableBytes { return _bytes; }
- (void)getBytes:(void *)buffer length:(NSUInteger)length { memcpy(buffer, _bytes, MIN(length, _length)); }
- (void)getBytes:(void *)buffer range:(NSRange)range { memcpy(buffer, [self subdataWithRange:range].bytes, range.length); }
- (NSData *)subdataWithRange:(NSRange)range {
    if (range.location > _length || range.length > _length - range.location)
        mt_die("*** Terminating app due to uncaught exception 'NSRangeException', reason: '-[NSData subdataWithRange:]: range"
               " {%lu, %lu} exceeds data length %lu'", range.location, range.length, _length);
    return [NSData dataWithBytes:(char *)_bytes + range.location length:range.length];
}
- (NSUInteger)hash { return _length; }
- (BOOL)isEqualToData:(NSData *)data { return data && _length == data->_length && !memcmp(_bytes, data->_bytes, _length); }
- (BOOL)isEqual:(id)object { return [object isKindOfClass:[NSData class]] && [self isEqualToData:object]; }
- (BOOL)writeToFile:(NSString *)path atomically:(BOOL)atomically {
    FILE *file = fopen(path.UTF8String, "wb");
    if (!file)
        return NO;
    BOOL all = fwrite(_bytes, 1, _length, file) == _length;
    return !fclose(file) && all;
}
@end

@implementation NSMutableData
@dynamic length, mutableBytes;
+ (instancetype)dataWithLength:(NSUInteger)length { return [[[self alloc] initWithLength:length] autorelease]; }
+ (instancetype)dataWithCapacity:(NSUInteger)capacity { return [self data]; }
- (instancetype)init { return [self initWithLength:0]; }
- (instancetype)initWithLength:(NSUInteger)length {
    self = [self initWithBytes:"" length:0];
    [self setLength:length];
    return self;
}
- (id)copyWithZone:(NSZone *)zone { return [[NSData alloc] initWithBytes:_bytes length:_length]; }
- (void)setLength:(NSUInteger)length {
    if (length > _room) {
        _room = MAX(length, 2 * _room);
        _bytes = realloc(_bytes, _room);
    }
    if (length > _length)
        memset((char *)_bytes + _length, 0, length - _length);
    _length = length;
}
- (void)appendBytes:(const void *)bytes length:(NSUInteger)length {
    NSUInteger at = _length;
    [self setLength:_length + length];
    memcpy((char *)_bytes + at, bytes, length);
}
- (void)appendData:(NSData *)data { [self appendBytes:data.bytes length:data.length]; }
@end

@implementation NSDate
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
+ (instancetype)date { return [self dateWithTimeIntervalSinceNow:0]; }
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds { return [self dateWithTimeIntervalSince1970:now() + seconds]; }
+ (instancetype)dateWithTimeIntervalSince1970:(NSTimeInterval)seconds {
    NSDate *made = [[[self alloc] init] autorelease];
    made->_since1970 = seconds;
    return made;
}
- (instancetype)init {
    _since1970 = now();
    return self;
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (NSTimeInterval)timeIntervalSince1970 { return _since1970; }
- (NSTimeInterval)timeIntervalSinceNow { return _since1970 - now(); }
- (NSTimeInterval)timeIntervalSinceReferenceDate { return _since1970 - 978307200.0; }
- (NSTimeInterval)timeIntervalSinceDate:(NSDate *)date { return _since1970 - date->_since1970; }
@end

CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) { return now() - 978307200.0; }

@implementation NSURL
+ (instancetype)fileURLWithPath:(NSString *)path { return [[[self alloc] initFileURLWithPath:path] autorelease]; }
+ (instancetype)fileURLWithPath:(NSString *)path isDirectory:(BOOL)directory { return [self fileURLWithPath:path]; }
+ (instancetype)URLWithString:(NSString *)string { return [[[self alloc] initWithString:string] autorelease]; }
- (instancetype)initWithString:(NSString *)string {
    if ([string hasPrefix:@"file://"])
        return [self initFileURLWithPath:[string substringFromIndex:7]];
    _string = [string copy];
    return self;
}
- (instancetype)initFileURLWithPath:(NSString *)path {
    if (!path)
        mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '*** -[NSURL"
               " initFileURLWithPath:]: nil string parameter'");
    _string = [path copy];
    _file = YES;
    return self;
}
- (void)dealloc {
    [_string release];
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (BOOL)isFileURL { return _file; }
- (NSString *)path {
    const char *rest = _file ? 0 : strstr(_string.UTF8String, "://"), *slash = rest ? strchr(rest + 3, '/') : 0;
    return slash ? [NSString stringWithUTF8String:slash] : _string;
}
- (NSString *)absoluteString { return _file ? mt_text("file://%s", _string.UTF8String) : _string; }
- (NSString *)lastPathComponent { return self.path.lastPathComponent; }
- (NSString *)pathExtension { return self.path.pathExtension; }
- (const char *)fileSystemRepresentation { return self.path.UTF8String; }
- (NSString *)description { return self.absoluteString; }
- (NSURL *)URLByAppendingPathComponent:(NSString *)component { return [NSURL fileURLWithPath:[self.path stringByAppendingPathComponent:component]]; }
- (NSURL *)URLByDeletingLastPathComponent { return [NSURL fileURLWithPath:self.path.stringByDeletingLastPathComponent]; }
- (BOOL)isEqual:(id)object { return [object isKindOfClass:[NSURL class]] && [self.absoluteString isEqualToString:[object absoluteString]]; }
- (NSUInteger)hash { return self.absoluteString.hash; }
@end

NSError *mt_error(NSString *domain, NSInteger code, NSString *words) {
    return [NSError errorWithDomain:domain code:code userInfo:@{NSLocalizedDescriptionKey : words}];
}

@implementation NSError
+ (instancetype)errorWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary *)info {
    return [[[self alloc] initWithDomain:domain code:code userInfo:info] autorelease];
}
- (instancetype)initWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary *)info {
    _domain = [domain copy];
    _code = code;
    _userInfo = info ? [info copy] : [[NSDictionary alloc] init];
    return self;
}
- (void)dealloc {
    [_domain release];
    [_userInfo release];
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (NSInteger)code { return _code; }
- (NSErrorDomain)domain { return _domain; }
- (NSDictionary *)userInfo { return _userInfo; }
- (NSString *)localizedDescription {
    NSString *words = _userInfo[NSLocalizedDescriptionKey];
    return words ? words : mt_text("The operation couldn\u2019t be completed. (%s error %ld.)", _domain.UTF8String, _code);
}
- (NSString *)localizedFailureReason { return _userInfo[NSLocalizedFailureReasonErrorKey]; }
- (NSString *)localizedRecoverySuggestion { return _userInfo[NSLocalizedRecoverySuggestionErrorKey]; }
- (NSArray *)localizedRecoveryOptions { return nil; }
- (NSString *)description {
    return mt_text("Error Domain=%s Code=%ld \"%s\"", _domain.UTF8String, _code, self.localizedDescription.UTF8String);
}
@end

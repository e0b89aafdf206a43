// Numbers, values, data, dates, URLs and errors.
#ifndef METALLOID_NSVALUES_H
#define METALLOID_NSVALUES_H

#include <Foundation/NSObject.h>

@class NSString, NSArray, NSDictionary, NSURL;

@interface NSValue : NSObject <NSCopying, NSSecureCoding> {
    void *_bytes;
    char *_type;
}
+ (NSValue *)valueWithBytes:(const void *)bytes objCType:(const char *)type;
+ (NSValue *)valueWithPointer:(const void *)pointer;
+ (NSValue *)valueWithRange:(NSRange)range;
- (instancetype)initWithBytes:(const void *)bytes objCType:(const char *)type;
- (void)getValue:(void *)value;
- (void)getValue:(void *)value size:(NSUInteger)size;
@property(readonly) const char *objCType;
@property(readonly) void *pointerValue;
@property(readonly) NSRange rangeValue;
@end

@interface NSNumber : NSValue {
    long long _whole;
    double _real;
    char _code[2];
}
+ (NSNumber *)numberWithChar:(char)value;
+ (NSNumber *)numberWithUnsignedChar:(unsigned char)value;
+ (NSNumber *)numberWithShort:(short)value;
+ (NSNumber *)numberWithUnsignedShort:(unsigned short)value;
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithUnsignedInt:(unsigned int)value;
+ (NSNumber *)numberWithLong:(long)value;
+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value;
+ (NSNumber *)numberWithLongLong:(long long)value;
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value;
+ (NSNumber *)numberWithFloat:(float)value;
+ (NSNumber *)numberWithDouble:(double)value;
+ (NSNumber *)numberWithBool:(BOOL)value;
+ (NSNumber *)numberWithInteger:(NSInteger)value;
+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value;
- (instancetype)initWithInt:(int)value;
- (instancetype)initWithInteger:(NSInteger)value;
- (instancetype)initWithUnsignedInteger:(NSUInteger)value;
- (instancetype)initWithDouble:(double)value;
- (instancetype)initWithFloat:(float)value;
- (instancetype)initWithBool:(BOOL)value;
@property(readonly) char charValue;
@property(readonly) unsigned char unsignedCharValue;
@property(readonly) short shortValue;
@property(readonly) unsigned short unsignedShortValue;
@property(readonly) int intValue;
@property(readonly) unsigned int unsignedIntValue;
@property(readonly) long longValue;
@property(readonly) unsigned long unsignedLongValue;
@property(readonly) long long longLongValue;
@property(readonly) unsigned long long unsignedLongLongValue;
@property(readonly) float floatValue;
@property(readonly) double doubleValue;
@property(readonly) BOOL boolValue;
@property(readonly) NSInteger integerValue;
@property(readonly) NSUInteger unsignedIntegerValue;
@property(readonly, copy) NSString *stringValue;
- (NSComparisonResult)compare:(NSNumber *)number;
- (BOOL)isEqualToNumber:(NSNumber *)number;
- (NSString *)descriptionWithLocale:(id)locale;
@end

@interface NSNull : NSObject <NSCopying>
+ (NSNull *)null;
@end

@interface NSData : NSObject <NSCopying, NSMutableCopying, NSSecureCoding> {
  @protected
    void *_bytes;
    NSUInteger _length, _room;
    BOOL _frees;
    void (^_deallocator)(void *bytes, NSUInteger length);
}
+ (instancetype)data;
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)length;
+ (instancetype)dataWithBytesNoCopy:(void *)bytes length:(NSUInteger)length;
+ (instancetype)dataWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)frees;
+ (instancetype)dataWithContentsOfFile:(NSString *)path;
+ (instancetype)dataWithContentsOfURL:(NSURL *)url;
+ (instancetype)dataWithContentsOfFile:(NSString *)path options:(NSUInteger)options error:(id *)error;
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length;
- (instancetype)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)frees;
- (instancetype)initWithContentsOfFile:(NSString *)path;
@property(readonly) NSUInteger length;
@property(readonly) const void *bytes;
- (void)getBytes:(void *)buffer length:(NSUInteger)length;
- (void)getBytes:(void *)buffer range:(NSRange)range;
- (NSData *)subdataWithRange:(NSRange)range;
- (BOOL)isEqualToData:(NSData *)data;
- (BOOL)writeToFile:(NSString *)path atomically:(BOOL)atomically;
@end

@interface NSMutableData : NSData
+ (instancetype)dataWithLength:(NSUInteger)length;
+ (instancetype)dataWithCapacity:(NSUInteger)capacity;
- (instancetype)initWithLength:(NSUInteger)length;
@property(readonly) void *mutableBytes;
@property NSUInteger length;
- (void)appendBytes:(const void *)bytes length:(NSUInteger)length;
- (void)appendData:(NSData *)data;
@end

@interface NSDate : NSObject <NSCopying> {
    NSTimeInterval _since1970;
}
+ (instancetype)date;
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds;
+ (instancetype)dateWithTimeIntervalSince1970:(NSTimeInterval)seconds;
@property(readonly) NSTimeInterval timeIntervalSince1970;
@property(readonly) NSTimeInterval timeIntervalSinceNow;
@property(readonly) NSTimeInterval timeIntervalSinceReferenceDate;
- (NSTimeInterval)timeIntervalSinceDate:(NSDate *)date;
@end

@interface NSURL : NSObject <NSCopying, NSSecureCoding> {
    NSString *_string;
    BOOL _file;
}
+ (instancetype)fileURLWithPath:(NSString *)path;
+ (instancetype)fileURLWithPath:(NSString *)path isDirectory:(BOOL)directory;
+ (instancetype)URLWithString:(NSString *)string;
- (instancetype)initWithString:(NSString *)string;
- (instancetype)initFileURLWithPath:(NSString *)path;
@property(readonly, copy) NSString *path;
@property(readonly, copy) NSString *absoluteString;
@property(readonly, copy) NSString *lastPathComponent;
@property(readonly, copy) NSString *pathExtension;
@property(readonly, getter=isFileURL) BOOL fileURL;
@property(readonly) const char *fileSystemRepresentation;
- (NSURL *)URLByAppendingPathComponent:(NSString *)component;
- (NSURL *)URLByDeletingLastPathComponent;
@end

typedef NSString *NSErrorDomain;
typedef NSString *NSErrorUserInfoKey;
FOUNDATION_EXPORT NSErrorDomain const NSCocoaErrorDomain, NSPOSIXErrorDomain, NSOSStatusErrorDomain, NSMachErrorDomain;
FOUNDATION_EXPORT NSErrorUserInfoKey const NSLocalizedDescriptionKey, NSLocalizedFailureReasonErrorKey,
    NSLocalizedRecoverySuggestionErrorKey, NSUnderlyingErrorKey, NSFilePathErrorKey;

@interface NSError : NSObject <NSCopying, NSSecureCoding> {
    NSErrorDomain _domain;
    NSInteger _code;
    NSDictionary *_userInfo;
}
+ (instancetype)errorWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary *)info;
- (instancetype)initWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary *)info;
@property(readonly) NSInteger code;
@property(readonly, copy) NSErrorDomain domain;
@property(readonly, copy) NSDictionary *userInfo;
@property(readonly, copy) NSString *localizedDescription;
@property(readonly, copy) NSString *localizedFailureReason;
@property(readonly, copy) NSString *localizedRecoverySuggestion;
@property(readonly, copy) NSArray *localizedRecoveryOptions;
@end

#endif

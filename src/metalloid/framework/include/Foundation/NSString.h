// Strings, scanners and sets of characters.
#ifndef METALLOID_NSSTRING_H
#define METALLOID_NSSTRING_H

#include <Foundation/NSObject.h>

@class NSArray, NSData, NSError, NSURL, NSCharacterSet;

typedef NSUInteger NSStringEncoding;
enum {
    NSASCIIStringEncoding = 1,
    NSUTF8StringEncoding = 4,
    NSISOLatin1StringEncoding = 5,
    NSUnicodeStringEncoding = 10,
    NSUTF16StringEncoding = NSUnicodeStringEncoding
};
typedef enum NSStringCompareOptions : NSUInteger {
    NSCaseInsensitiveSearch = 1,
    NSLiteralSearch = 2,
    NSBackwardsSearch = 4,
    NSAnchoredSearch = 8,
    NSNumericSearch = 64
} NSStringCompareOptions;

@interface NSString : NSObject <NSCopying, NSMutableCopying, NSSecureCoding> {
  @protected
    const char *_text;  // UTF-8, with a zero behind it
    unsigned int _size;  // bytes
    unsigned int _flags;
}
+ (instancetype)string;
+ (instancetype)stringWithString:(NSString *)string;
+ (instancetype)stringWithUTF8String:(const char *)text;
+ (instancetype)stringWithCString:(const char *)text encoding:(NSStringEncoding)encoding;
+ (instancetype)stringWithFormat:(NSString *)format, ...;
+ (instancetype)stringWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error;
+ (instancetype)stringWithContentsOfURL:(NSURL *)url encoding:(NSStringEncoding)encoding error:(NSError **)error;
+ (NSString *)pathWithComponents:(NSArray *)components;
- (instancetype)initWithString:(NSString *)string;
- (instancetype)initWithUTF8String:(const char *)text;
- (instancetype)initWithCString:(const char *)text encoding:(NSStringEncoding)encoding;
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding;
- (instancetype)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding freeWhenDone:(BOOL)frees;
- (instancetype)initWithData:(NSData *)data encoding:(NSStringEncoding)encoding;
- (instancetype)initWithCharacters:(const unichar *)characters length:(NSUInteger)length;
- (instancetype)initWithFormat:(NSString *)format, ...;
- (instancetype)initWithFormat:(NSString *)format arguments:(va_list)arguments;
- (instancetype)initWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error;
@property(readonly) NSUInteger length;
@property(readonly) const char *UTF8String;
@property(readonly) const char *fileSystemRepresentation;
- (unichar)characterAtIndex:(NSUInteger)index;
- (const char *)cStringUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)getCString:(char *)buffer maxLength:(NSUInteger)length encoding:(NSStringEncoding)encoding;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (NSUInteger)maximumLengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (NSData *)dataUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)isEqualToString:(NSString *)string;
- (NSComparisonResult)compare:(NSString *)string;
- (NSComparisonResult)caseInsensitiveCompare:(NSString *)string;
- (BOOL)hasPrefix:(NSString *)string;
- (BOOL)hasSuffix:(NSString *)string;
- (BOOL)containsString:(NSString *)string;
- (NSRange)rangeOfString:(NSString *)string;
- (NSRange)rangeOfString:(NSString *)string options:(NSStringCompareOptions)options;
- (NSString *)substringFromIndex:(NSUInteger)index;
- (NSString *)substringToIndex:(NSUInteger)index;
- (NSString *)substringWithRange:(NSRange)range;
- (NSString *)stringByAppendingString:(NSString *)string;
- (NSString *)stringByAppendingFormat:(NSString *)format, ...;
- (NSString *)stringByReplacingOccurrencesOfString:(NSString *)string withString:(NSString *)other;
- (NSString *)stringByTrimmingCharactersInSet:(NSCharacterSet *)set;
- (NSArray *)componentsSeparatedByString:(NSString *)string;
- (BOOL)writeToFile:(NSString *)path atomically:(BOOL)atomically encoding:(NSStringEncoding)encoding error:(NSError **)error;
@property(readonly, copy) NSString *uppercaseString;
@property(readonly, copy) NSString *lowercaseString;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) long long longLongValue;
@property(readonly) double doubleValue;
@property(readonly) float floatValue;
@property(readonly) BOOL boolValue;
@property(readonly, copy) NSString *lastPathComponent;
@property(readonly, copy) NSString *stringByDeletingLastPathComponent;
@property(readonly, copy) NSString *pathExtension;
@property(readonly, copy) NSString *stringByDeletingPathExtension;
@property(readonly, copy) NSString *stringByStandardizingPath;
@property(readonly, copy) NSString *stringByExpandingTildeInPath;
@property(readonly, copy) NSArray *pathComponents;
- (NSString *)stringByAppendingPathComponent:(NSString *)component;
- (NSString *)stringByAppendingPathExtension:(NSString *)extension;
@property(readonly, getter=isAbsolutePath) BOOL absolutePath;
@end

@interface NSConstantString : NSString
@end

@interface NSMutableString : NSString {
    NSUInteger _room;
}
+ (instancetype)stringWithCapacity:(NSUInteger)capacity;
- (instancetype)initWithCapacity:(NSUInteger)capacity;
- (void)appendString:(NSString *)string;
- (void)appendFormat:(NSString *)format, ...;
- (void)setString:(NSString *)string;
- (void)insertString:(NSString *)string atIndex:(NSUInteger)index;
- (void)deleteCharactersInRange:(NSRange)range;
- (NSUInteger)replaceOccurrencesOfString:(NSString *)string withString:(NSString *)other options:(NSStringCompareOptions)options range:(NSRange)range;
@end

@interface NSCharacterSet : NSObject {
    unsigned char _bits[32];
}
+ (instancetype)whitespaceCharacterSet;
+ (instancetype)whitespaceAndNewlineCharacterSet;
+ (instancetype)newlineCharacterSet;
+ (instancetype)decimalDigitCharacterSet;
+ (instancetype)characterSetWithCharactersInString:(NSString *)string;
- (BOOL)characterIsMember:(unichar)character;
@end

@interface NSScanner : NSObject {
    NSString *_string;
    NSCharacterSet *_skipped;
    NSUInteger _at;
}
+ (instancetype)scannerWithString:(NSString *)string;
- (instancetype)initWithString:(NSString *)string;
@property(copy) NSCharacterSet *charactersToBeSkipped;
@property NSUInteger scanLocation;
@property(readonly, getter=isAtEnd) BOOL atEnd;
- (BOOL)scanString:(NSString *)string intoString:(NSString **)result;
- (BOOL)scanUpToString:(NSString *)string intoString:(NSString **)result;
- (BOOL)scanInt:(int *)result;
@end

#endif

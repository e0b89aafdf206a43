// Sets of characters (of one byte) and scanners.
#include "common.h"

@implementation NSCharacterSet
+ (instancetype)characterSetWithCharactersInString:(NSString *)string {
    NSCharacterSet *made = [[[self alloc] init] autorelease];
    for (const unsigned char *c = (const unsigned char *)string.UTF8String; *c; c++)
        made->_bits[*c / 8] |= (unsigned char)(1 << *c % 8);
    return made;
}
+ (instancetype)whitespaceCharacterSet { return [self characterSetWithCharactersInString:@" \t"]; }
+ (instancetype)whitespaceAndNewlineCharacterSet { return [self characterSetWithCharactersInString:@" \t\n\r\f\v"]; }
+ (instancetype)newlineCharacterSet { return [self characterSetWithCharactersInString:@"\n\r\f\v"]; }
+ (instancetype)decimalDigitCharacterSet { return [self characterSetWithCharactersInString:@"0123456789"]; }
- (BOOL)characterIsMember:(unichar)c { return c < 256 && _bits[c / 8] >> c % 8 & 1; }
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end

@implementation NSScanner
+ (instancetype)scannerWithString:(NSString *)string { return [[[self alloc] initWithString:string] autorelease]; }
- (instancetype)initWithString:(NSString *)string {
    _string = [string copy];
    _skipped = [[NSCharacterSet whitespaceAndNewlineCharacterSet] retain];
    return self;
}
- (void)dealloc {
    [_string release];
    [_skipped release];
    [super dealloc];
}
- (NSCharacterSet *)charactersToBeSkipped { return _skipped; }
- (void)setCharactersToBeSkipped:(NSCharacterSet *)set {
    [set retain];
    [_skipped release];
    _skipped = set;
}
- (NSUInteger)scanLocation { return _at; }
- (void)setScanLocation:(NSUInteger)at { _at = at; }
- (const char *)rest {  // bytes; _at counts them
    const char *text = _string.UTF8String;
    while (text[_at] && [_skipped characterIsMember:(unsigned char)text[_at]])
        _at++;
    return text + _at;
}
- (BOOL)isAtEnd { return !*[self rest]; }
- (BOOL)scanString:(NSString *)string intoString:(NSString **)result {
    NSUInteger was = _at;
    size_t size = strlen(string.UTF8String);
    if (strncmp([self rest], string.UTF8String, size)) {
        _at = was;
        return NO;
    }
    _at += size;
    if (result)
        *result = string;
    return YES;
}
- (BOOL)scanUpToString:(NSString *)string intoString:(NSString **)result {
    const char *from = [self rest], *to = strstr(from, string.UTF8String);
    size_t size = to ? (size_t)(to - from) : strlen(from);
    if (!size)
        return NO;
    _at += size;
    if (result)
        *result = mt_text("%.*s", (int)size, from);
    return YES;
}
- (BOOL)scanInt:(int *)result {
    char *end;
    const char *from = [self rest];
    long value = strtol(from, &end, 10);
    if (end == from)
        return NO;
    _at += (NSUInteger)(end - from);
    if (result)
        *result = (int)value;
    return YES;
}
@end

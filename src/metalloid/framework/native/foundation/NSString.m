// Strings are UTF-8 inside. Lengths and indices count UTF-16 units, as Foundation's do.
#include "common.h"
#include <ctype.h>

static const char *copied(const char *bytes, size_t size) {
    char *made = malloc(size + 1);
    memcpy(made, bytes, size);
    made[size] = 0;
    return made;
}

// How many bytes the first `units` UTF-16 units take; half a pair counts as none of it.
static size_t bytes_of(const char *text, size_t size, NSUInteger units) {
    size_t at = 0;
    for (NSUInteger n = 0; n < units && at < size;) {
        unsigned char c = (unsigned char)text[at];
        size_t step = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        n += 1 + (step == 4);
        if (n > units)
            break;
        at += step;
    }
    return at < size ? at : size;
}

static NSUInteger units_of(const char *text, size_t size) {
    NSUInteger units = 0;
    for (size_t at = 0; at < size; at++) {
        unsigned char c = (unsigned char)text[at];
        units += (c & 0xC0) != 0x80;
        units += c >= 0xF0;
    }
    return units;
}

NSString *mt_text(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    char *text = 0;
    int size = vasprintf(&text, format, rest);
    va_end(rest);
    return [[[NSString alloc] initWithBytesNoCopy:text length:(NSUInteger)size encoding:NSUTF8StringEncoding freeWhenDone:YES] autorelease];
}

@implementation NSString
@dynamic lastPathComponent, stringByDeletingLastPathComponent, pathExtension, stringByDeletingPathExtension;  // NSPaths.m
@dynamic stringByStandardizingPath, stringByExpandingTildeInPath, pathComponents, absolutePath;
+ (instancetype)string { return [[[self alloc] init] autorelease]; }
+ (instancetype)stringWithString:(NSString *)string { return [[[self alloc] initWithString:string] autorelease]; }
+ (instancetype)stringWithUTF8String:(const char *)text { return [[[self alloc] initWithUTF8String:text] autorelease]; }
+ (instancetype)stringWithCString:(const char *)text encoding:(NSStringEncoding)encoding {
    return [[[self alloc] initWithCString:text encoding:encoding] autorelease];
}
+ (instancetype)stringWithFormat:(NSString *)format, ... {
    va_list rest;
    va_start(rest, format);
    id made = [[[self alloc] initWithFormat:format arguments:rest] autorelease];
    va_end(rest);
    return made;
}
+ (instancetype)stringWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error {
    return [[[self alloc] initWithContentsOfFile:path encoding:encoding error:error] autorelease];
}
+ (instancetype)stringWithContentsOfURL:(NSURL *)url encoding:(NSStringEncoding)encoding error:(NSError **)error {
    return [self stringWithContentsOfFile:url.path encoding:encoding error:error];
}
+ (NSString *)pathWithComponents:(NSArray *)components {
    NSString *made = @"";
    for (NSString *part in components)
        made = made.length ? [made stringByAppendingPathComponent:part] : part;
    return made;
}

- (instancetype)init { return [self initWithBytes:"" length:0 encoding:NSUTF8StringEncoding]; }
- (instancetype)initWithString:(NSString *)string {
    return [self initWithBytes:string->_text length:string->_size encoding:NSUTF8StringEncoding];
}
- (instancetype)initWithUTF8String:(const char *)text {
    if (!text)
        mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '*** +[NSString"
               " stringWithUTF8String:]: NULL cString'");
    return [self initWithBytes:text length:strlen(text) encoding:NSUTF8StringEncoding];
}
- (instancetype)initWithCString:(const char *)text encoding:(NSStringEncoding)encoding {
    return [self initWithBytes:text ? text : "" length:text ? strlen(text) : 0 encoding:encoding];
}
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding {
    if (encoding == NSUnicodeStringEncoding)
        return [self initWithCharacters:bytes length:length / 2];
    _text = copied(bytes ? bytes : "", length);
    _size = (unsigned)length;
    return self;
}
- (instancetype)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding freeWhenDone:(BOOL)frees {
    self = [self initWithBytes:bytes length:length encoding:encoding];
    if (frees)
        free(bytes);
    return self;
}
- (instancetype)initWithData:(NSData *)data encoding:(NSStringEncoding)encoding {
    return [self initWithBytes:data.bytes length:data.length encoding:encoding];
}
- (instancetype)initWithCharacters:(const unichar *)characters length:(NSUInteger)length {
    char *made = malloc(4 * length + 1), *to = made;
    for (NSUInteger i = 0; i < length; i++) {
        unsigned c = characters[i];
        if (c >= 0xD800 && c < 0xDC00 && i + 1 < length)
            c = 0x10000 + ((c - 0xD800) << 10) + (characters[++i] - 0xDC00u);
        if (c < 0x80)
            *to++ = (char)c;
        else {
            int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
            *to++ = (char)((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | c >> 6 * more);
            while (more--)
                *to++ = (char)(0x80 | (c >> 6 * more & 0x3F));
        }
    }
    *to = 0;
    _text = made;
    _size = (unsigned)(to - made);
    return self;
}
- (instancetype)initWithFormat:(NSString *)format, ... {
    va_list rest;
    va_start(rest, format);
    self = [self initWithFormat:format arguments:rest];
    va_end(rest);
    return self;
}
- (instancetype)initWithFormat:(NSString *)format arguments:(va_list)arguments {
    va_list rest;
    va_copy(rest, arguments);
    char *text = mt_formatted(format->_text, &rest);
    va_end(rest);
    return [self initWithBytesNoCopy:text length:strlen(text) encoding:NSUTF8StringEncoding freeWhenDone:YES];
}
- (instancetype)initWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error {
    NSData *data = [NSData dataWithContentsOfFile:path options:0 error:error];
    if (!data) {
        [self release];
        return nil;
    }
    return [self initWithData:data encoding:encoding];
}
- (void)dealloc {
    free((char *)_text);
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (id)mutableCopyWithZone:(NSZone *)zone { return [[NSMutableString alloc] initWithString:self]; }
- (NSString *)description { return self; }
- (NSUInteger)hash {
    NSUInteger hash = 14695981039346656037ull;
    for (unsigned i = 0; i < _size; i++)
        hash = (hash ^ (unsigned char)_text[i]) * 1099511628211ull;
    return hash;
}
- (BOOL)isEqual:(id)object { return self == object || ([object isKindOfClass:[NSString class]] && [self isEqualToString:object]); }
- (BOOL)isEqualToString:(NSString *)string {
    return string && _size == string->_size && !memcmp(_text, string->_text, _size);
}

- (NSUInteger)length { return units_of(_text, _size); }
- (const char *)UTF8String { return _text; }
- (const char *)fileSystemRepresentation { return _text; }
- (const char *)cStringUsingEncoding:(NSStringEncoding)encoding { return _text; }
- (BOOL)getCString:(char *)buffer maxLength:(NSUInteger)length encoding:(NSStringEncoding)encoding {
    if (length <= _size)
        return NO;
    memcpy(buffer, _text, _size + 1);
    return YES;
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
    return encoding == NSUnicodeStringEncoding ? 2 * self.length : _size;
}
- (NSUInteger)maximumLengthOfBytesUsingEncoding:(NSStringEncoding)encoding { return 3 * self.length; }
- (NSData *)dataUsingEncoding:(NSStringEncoding)encoding { return [NSData dataWithBytes:_text length:_size]; }
- (unichar)characterAtIndex:(NSUInteger)index {
    if (index >= self.length)
        mt_die("*** Terminating app due to uncaught exception 'NSRangeException', reason: '-[NSString characterAtIndex:]:"
               " Range or index out of bounds: %lu of %lu'", index, self.length);
    size_t at = bytes_of(_text, _size, index);
    unsigned char c = (unsigned char)_text[at];
    if (c < 0x80)
        return c;
    int more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    unsigned code = c & (0x3Fu >> more);
    for (int i = 1; i <= more; i++)
        code = code << 6 | ((unsigned char)_text[at + (size_t)i] & 0x3F);
    if (code < 0x10000)
        return (unichar)code;
    BOOL second = units_of(_text, at) < index;  // of a pair
    return (unichar)(second ? 0xDC00 + (code & 0x3FF) : 0xD7C0 + (code >> 10));
}

- (NSComparisonResult)compare:(NSString *)string {
    int order = strcmp(_text, string->_text);
    return order < 0 ? NSOrderedAscending : order > 0 ? NSOrderedDescending : NSOrderedSame;
}
- (NSComparisonResult)caseInsensitiveCompare:(NSString *)string {
    int order = strcasecmp(_text, string->_text);
    return order < 0 ? NSOrderedAscending : order > 0 ? NSOrderedDescending : NSOrderedSame;
}
- (BOOL)hasPrefix:(NSString *)string { return string->_size <= _size && !memcmp(_text, string->_text, string->_size); }
- (BOOL)hasSuffix:(NSString *)string {
    return string->_size <= _size && !memcmp(_text + _size - string->_size, string->_text, string->_size);
}
- (BOOL)containsString:(NSString *)string { return strstr(_text, string->_text) != 0; }
- (NSRange)rangeOfString:(NSString *)string { return [self rangeOfString:string options:0]; }
- (NSRange)rangeOfString:(NSString *)string options:(NSStringCompareOptions)options {
    const char *found = 0, *at = _text;
    BOOL back = (options & NSBackwardsSearch) != 0, any = (options & NSCaseInsensitiveSearch) != 0;
    while (string->_size && (at = any ? strcasestr(at, string->_text) : strstr(at, string->_text))) {
        found = at++;
        if (!back)
            break;
    }
    return found ? NSMakeRange(units_of(_text, (size_t)(found - _text)), string.length) : NSMakeRange((NSUInteger)NSNotFound, 0);
}
- (NSString *)substringFromIndex:(NSUInteger)index {
    NSUInteger length = self.length;
    return [self substringWithRange:NSMakeRange(index, index <= length ? length - index : 0)];
}
- (NSString *)substringToIndex:(NSUInteger)index { return [self substringWithRange:NSMakeRange(0, index)]; }
- (NSString *)substringWithRange:(NSRange)range {
    if (range.location > self.length || range.length > self.length - range.location)
        mt_die("*** Terminating app due to uncaught exception 'NSRangeException', reason: '-[NSString"
               " substringWithRange:]: Range {%lu, %lu} out of bounds; string length %lu'", range.location, range.length, self.length);
    size_t from = bytes_of(_text, _size, range.location), to = bytes_of(_text, _size, NSMaxRange(range));
    return [[[NSString alloc] initWithBytes:_text + from length:to - from encoding:NSUTF8StringEncoding] autorelease];
}
- (NSString *)stringByAppendingString:(NSString *)string { return mt_text("%s%s", _text, string->_text); }
- (NSString *)stringByAppendingFormat:(NSString *)format, ... {
    va_list rest;
    va_start(rest, format);
    NSString *more = [[[NSString alloc] initWithFormat:format arguments:rest] autorelease];
    va_end(rest);
    return [self stringByAppendingString:more];
}
- (NSString *)stringByReplacingOccurrencesOfString:(NSString *)string withString:(NSString *)other {
    return [[self componentsSeparatedByString:string] componentsJoinedByString:other];
}
- (NSString *)stringByTrimmingCharactersInSet:(NSCharacterSet *)set {
    const char *from = _text, *to = _text + _size;
    while (from < to && [set characterIsMember:(unsigned char)*from])
        from++;
    while (to > from && [set characterIsMember:(unsigned char)to[-1]])
        to--;
    return [[[NSString alloc] initWithBytes:from length:(NSUInteger)(to - from) encoding:NSUTF8StringEncoding] autorelease];
}
- (NSArray *)componentsSeparatedByString:(NSString *)string {
    NSMutableArray *parts = [NSMutableArray array];
    const char *from = _text, *to;
    while (string->_size && (to = strstr(from, string->_text))) {
        NSString *part = [[NSString alloc] initWithBytes:from length:(NSUInteger)(to - from) encoding:NSUTF8StringEncoding];
        [parts addObject:part];
        [part release];
        from = to + string->_size;
    }
    [parts addObject:[NSString stringWithUTF8String:from]];
    return parts;
}
- (BOOL)writeToFile:(NSString *)path atomically:(BOOL)atomically encoding:(NSStringEncoding)encoding error:(NSError **)error {
    BOOL done = [[self dataUsingEncoding:encoding] writeToFile:path atomically:atomically];
    if (!done && error)
        *error = mt_error(NSCocoaErrorDomain, 512, mt_text("The file %s cannot be written.", path.UTF8String));
    return done;
}
- (NSString *)changedBy:(int (*)(int))change {
    NSMutableString *made = [[self mutableCopy] autorelease];
    for (char *c = (char *)made.UTF8String; *c; c++)
        if (!(*c & 0x80))
            *c = (char)change(*c);
    return made;
}
- (NSString *)uppercaseString { return [self changedBy:toupper]; }
- (NSString *)lowercaseString { return [self changedBy:tolower]; }
- (int)intValue { return (int)strtol(_text, 0, 10); }
- (NSInteger)integerValue { return strtol(_text, 0, 10); }
- (long long)longLongValue { return strtoll(_text, 0, 10); }
- (double)doubleValue { return strtod(_text, 0); }
- (float)floatValue { return strtof(_text, 0); }
- (BOOL)boolValue { return strchr("yYtT123456789", *_text) != 0 && *_text; }
@end

@implementation NSConstantString
- (id)retain { return self; }
- (oneway void)release {}
- (id)autorelease { return self; }
- (NSUInteger)retainCount { return NSUIntegerMax; }
- (void)dealloc {
    if (0)
        [super dealloc];
}
@end

@implementation NSMutableString
+ (instancetype)stringWithCapacity:(NSUInteger)capacity { return [self string]; }
- (instancetype)initWithCapacity:(NSUInteger)capacity { return [self init]; }
- (id)copyWithZone:(NSZone *)zone { return [[NSString alloc] initWithString:self]; }
- (void)append:(const char *)text size:(size_t)size {
    NSUInteger need = _size + size + 1;
    if (need > _room) {
        _room = need * 2;
        _text = realloc((char *)_text, _room);
    }
    memmove((char *)_text + _size, text, size);
    _size += (unsigned)size;
    ((char *)_text)[_size] = 0;
}
- (void)appendString:(NSString *)string { [self append:string.UTF8String size:strlen(string.UTF8String)]; }
- (void)appendFormat:(NSString *)format, ... {
    va_list rest;
    va_start(rest, format);
    char *text = mt_formatted(format.UTF8String, &rest);
    va_end(rest);
    [self append:text size:strlen(text)];
    free(text);
}
- (void)setString:(NSString *)string {
    const char *made = copied(string.UTF8String, strlen(string.UTF8String));
    free((char *)_text);
    _text = made;
    _size = (unsigned)strlen(made);
    _room = _size + 1;
}
- (void)insertString:(NSString *)string atIndex:(NSUInteger)index {
    [self setString:mt_text("%s%s%s", [self substringToIndex:index].UTF8String, string.UTF8String, [self substringFromIndex:index].UTF8String)];
}
- (void)deleteCharactersInRange:(NSRange)range {
    [self setString:mt_text("%s%s", [self substringToIndex:range.location].UTF8String, [self substringFromIndex:NSMaxRange(range)].UTF8String)];
}
- (NSUInteger)replaceOccurrencesOfString:(NSString *)string withString:(NSString *)other options:(NSStringCompareOptions)options range:(NSRange)range {
    NSArray *parts = [[self substringWithRange:range] componentsSeparatedByString:string];
    NSString *head = [self substringToIndex:range.location], *tail = [self substringFromIndex:NSMaxRange(range)];
    [self setString:mt_text("%s%s%s", head.UTF8String, [parts componentsJoinedByString:other].UTF8String, tail.UTF8String)];
    return parts.count - 1;
}
@end

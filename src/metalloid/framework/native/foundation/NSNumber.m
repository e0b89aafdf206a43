// Values and numbers. A number keeps a whole and a real; its code says which it was made of.
#include "common.h"

@implementation NSValue
+ (NSValue *)valueWithBytes:(const void *)bytes objCType:(const char *)type { return [[[self alloc] initWithBytes:bytes objCType:type] autorelease]; }
+ (NSValue *)valueWithPointer:(const void *)pointer { return [self valueWithBytes:&pointer objCType:"^v"]; }
+ (NSValue *)valueWithRange:(NSRange)range { return [self valueWithBytes:&range objCType:@encode(NSRange)]; }
static size_t size_of(const char *type) {  // scalars, pointers, and structures of them
    size_t size = 0, step;
    if (*type == '{') {
        for (type = strchr(type, '=') + 1; *type && *type != '}'; type += strcspn(type + 1, "}cCsSiIlLqQfdB^@:{") + 1) {
            step = size_of(type);
            size = (size + step - 1) / step * step + step;
        }
        return (size + 7) / 8 * 8;
    }
    return strchr("cCB", *type) ? 1 : strchr("sS", *type) ? 2 : strchr("iIf", *type) ? 4 : 8;
}
- (instancetype)initWithBytes:(const void *)bytes objCType:(const char *)type {
    size_t size = size_of(type);
    _bytes = malloc(size);
    memcpy(_bytes, bytes, size);
    _type = strdup(type);
    return self;
}
- (void)dealloc {
    free(_bytes);
    free(_type);
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (void)getValue:(void *)value { memcpy(value, _bytes, size_of(_type)); }
- (void)getValue:(void *)value size:(NSUInteger)size { memcpy(value, _bytes, size); }
- (const char *)objCType { return _type; }
- (void *)pointerValue { return *(void **)_bytes; }
- (NSRange)rangeValue { return *(NSRange *)_bytes; }
@end

#define WAYS(Name, name, type, letter)                                                                                 \
    +(NSNumber *)numberWith##Name : (type)value { return [[[self alloc] initWithCode:letter whole:(long long)value real:(double)value] autorelease]; } \
    -(instancetype)initWith##Name : (type)value { return [self initWithCode:letter whole:(long long)value real:(double)value]; } \
    -(type)name##Value { return *_code == 'd' || *_code == 'f' ? (type)_real : (type)_whole; }

@implementation NSNumber
- (instancetype)initWithCode:(char)code whole:(long long)whole real:(double)real {
    _code[0] = code;
    _whole = whole;
    _real = real;
    return self;
}
WAYS(Char, char, char, 'c')
WAYS(UnsignedChar, unsignedChar, unsigned char, 'C')
WAYS(Short, short, short, 's')
WAYS(UnsignedShort, unsignedShort, unsigned short, 'S')
WAYS(Int, int, int, 'i')
WAYS(UnsignedInt, unsignedInt, unsigned int, 'I')
WAYS(Long, long, long, 'l')
WAYS(UnsignedLong, unsignedLong, unsigned long, 'L')
WAYS(LongLong, longLong, long long, 'q')
WAYS(UnsignedLongLong, unsignedLongLong, unsigned long long, 'Q')
WAYS(Integer, integer, NSInteger, 'l')
WAYS(UnsignedInteger, unsignedInteger, NSUInteger, 'L')
WAYS(Float, float, float, 'f')
WAYS(Double, double, double, 'd')
WAYS(Bool, bool, BOOL, 'B')
- (const char *)objCType { return _code; }
- (void)getValue:(void *)value { [self getValue:value size:size_of(_code)]; }
- (void)getValue:(void *)value size:(NSUInteger)size {
    float small = (float)_real;
    memcpy(value, *_code == 'f' ? (void *)&small : *_code == 'd' ? (void *)&_real : (void *)&_whole, size);
}
- (BOOL)real { return *_code == 'd' || *_code == 'f'; }
- (NSUInteger)hash { return _real == (double)(long long)_real ? (NSUInteger)(long long)_real * 2654435761u : (NSUInteger)(_real * 1e6); }
- (BOOL)isEqualToNumber:(NSNumber *)number { return [self compare:number] == NSOrderedSame; }
- (BOOL)isEqual:(id)object { return [object isKindOfClass:[NSNumber class]] && [self isEqualToNumber:object]; }
- (NSComparisonResult)compare:(NSNumber *)number {
    if ([self real] || [number real])
        return _real < number->_real ? NSOrderedAscending : _real > number->_real ? NSOrderedDescending : NSOrderedSame;
    return _whole < number->_whole ? NSOrderedAscending : _whole > number->_whole ? NSOrderedDescending : NSOrderedSame;
}
- (NSString *)stringValue {
    if (*_code == 'f')
        return mt_text("%.7g", _real);
    return [self real] ? mt_text("%.16g", _real) : *_code == 'Q' || *_code == 'L' ? mt_text("%llu", (unsigned long long)_whole) : mt_text("%lld", _whole);
}
- (NSString *)description { return self.stringValue; }
- (NSString *)descriptionWithLocale:(id)locale { return self.stringValue; }
@end

@implementation NSNull
+ (NSNull *)null {
    static NSNull *one;
    if (!one)
        one = [[self alloc] init];
    return one;
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (NSString *)description { return @"<null>"; }
@end

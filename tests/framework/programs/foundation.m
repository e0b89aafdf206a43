// What the Objective-C runtime, Foundation, blocks and GCD promise; prints each check that fails, and how many there were.
#import <Foundation/Foundation.h>
#import <objc/runtime.h>

static int checks, failures;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("line %d: %s\n", __LINE__, #condition);                                                            \
        }                                                                                                              \
    } while (0)

static int alive;

@protocol Named
- (NSString *)name;
@end

@interface Base : NSObject <Named> {
    int _number;
}
@property(nonatomic, copy) NSString *title;
@property(retain) id other;
@property(nonatomic) struct { double x, y, z, w; } place;
- (int)number;
@end
@implementation Base
@synthesize title, other, place;
- (instancetype)init {
    self = [super init];
    _number = 7;
    alive++;
    return self;
}
- (NSString *)name { return @"base"; }
- (int)number { return _number; }
- (double)half:(double)value with:(float)more { return value / 2 + more; }
- (void)dealloc {
    alive--;
    [title release];
    [other release];
    [super dealloc];
}
@end

@interface Derived : Base {
    int _more;
}
@end
@implementation Derived
- (int)number { return [super number] + (_more = 1); }
@end

@interface Base (Extra)
- (int)twice;
@end
@implementation Base (Extra)
- (int)twice { return 2 * [self number]; }
@end

typedef struct { double x, y, z, w; } Four;
@interface Base (Structures)
- (Four)four;
- (NSRange)range;
@end
@implementation Base (Structures)
- (Four)four { return (Four){1, 2, 3, 4}; }
- (NSRange)range { return NSMakeRange(3, 9); }
@end

static void runtime(void) {
    Base *base = [[Base alloc] init];
    Derived *derived = [Derived new];
    CHECK([base number] == 7 && [derived number] == 8 && [derived twice] == 16);
    CHECK([derived isKindOfClass:[Base class]] && ![base isKindOfClass:[Derived class]]);
    CHECK([base conformsToProtocol:@protocol(Named)] && [Derived conformsToProtocol:@protocol(Named)]);
    CHECK([base respondsToSelector:@selector(twice)] && ![base respondsToSelector:@selector(nothing)]);
    CHECK([base half:3.0 with:0.25f] == 1.75);
    CHECK([base four].w == 4 && [base range].length == 9);
    id none = nil;
    CHECK([none number] == 0 && [none half:1 with:1] == 0 && [none four].z == 0 && [none range].location == 0);
    NSMutableString *title = [NSMutableString stringWithUTF8String:"a"];
    base.title = title;
    [title appendString:@"b"];
    CHECK([base.title isEqualToString:@"a"] && [title isEqualToString:@"ab"]);
    base.other = derived;
    CHECK(derived.retainCount == 2);
    @autoreleasepool {
        CHECK(base.other == derived);
    }
    CHECK(NSClassFromString(@"Derived") == [Derived class] && objc_lookUpClass("Nobody") == Nil);
    CHECK([NSStringFromSelector(@selector(half:with:)) isEqual:@"half:with:"]);
    objc_setAssociatedObject(base, &alive, @"kept", OBJC_ASSOCIATION_RETAIN);
    CHECK([objc_getAssociatedObject(base, &alive) isEqual:@"kept"]);
    [derived release];
    CHECK(alive == 2);
    [base release];
    CHECK(alive == 0);
    @autoreleasepool {
        [[[Base alloc] init] autorelease];
        CHECK(alive == 1);
    }
    CHECK(alive == 0);
    @synchronized(@"x") {
        CHECK(1);
    }
}

static void strings(void) {
    NSString *text = [NSString stringWithFormat:@"%@ %d %5.2f %s %lu %c %%", @"words", -3, 2.5, "c", 12345678901ul, 'x'];
    CHECK([text isEqualToString:@"words -3  2.50 c 12345678901 x %"]);
    CHECK([@"h\u00e9llo\U0001F600" length] == 7 && [@"h\u00e9llo" characterAtIndex:1] == 0xE9);
    CHECK([@"\U0001F600" characterAtIndex:0] == 0xD83D && [@"\U0001F600" characterAtIndex:1] == 0xDE00);
    CHECK([[@"/a/b/c.metal" lastPathComponent] isEqual:@"c.metal"] && [[@"/a/b/c.metal" pathExtension] isEqual:@"metal"]);
    CHECK([[@"/a/b/c.metal" stringByDeletingLastPathComponent] isEqual:@"/a/b"]);
    CHECK([[@"/a" stringByAppendingPathComponent:@"b"] isEqual:@"/a/b"] && [@"abc" hasPrefix:@"ab"] && [@"abc" hasSuffix:@"bc"]);
    CHECK([@"a,b,,c" componentsSeparatedByString:@","].count == 4 && [@"abcabc" rangeOfString:@"ca"].location == 2);
    CHECK([[@"  x " stringByTrimmingCharactersInSet:[NSCharacterSet whitespaceCharacterSet]] isEqual:@"x"]);
    CHECK([@"b" compare:@"a"] == NSOrderedDescending && [@"12" intValue] == 12 && [@"2.5" doubleValue] == 2.5);
    CHECK([[@"aXbX" stringByReplacingOccurrencesOfString:@"X" withString:@"--"] isEqual:@"a--b--"]);
    NSScanner *scanner = [NSScanner scannerWithString:@"# include \"f.h\""];
    NSString *name = nil;
    CHECK([scanner scanString:@"#" intoString:NULL] && [scanner scanString:@"include" intoString:NULL] && [scanner scanString:@"\"" intoString:NULL]);
    CHECK([scanner scanUpToString:@"\"" intoString:&name] && [name isEqual:@"f.h"]);
}

static void collections(void) {
    NSArray *array = @[ @1, @2.5, @"three", @YES ];
    int seen = 0;
    for (id one in array)
        seen += one != nil;
    CHECK(seen == 4 && [array[1] doubleValue] == 2.5 && [array indexOfObject:@"three"] == 2 && [array[3] boolValue]);
    NSMutableDictionary *dictionary = [@{@"a" : @1, @"b" : @2} mutableCopy];
    for (int i = 0; i < 1000; i++)
        dictionary[[NSString stringWithFormat:@"key %d", i]] = @(i);
    [dictionary removeObjectForKey:@"a"];
    CHECK(dictionary.count == 1001 && [dictionary[@"key 777"] intValue] == 777 && !dictionary[@"a"] && [dictionary[@"b"] intValue] == 2);
    [dictionary release];
    NSMutableSet *set = [NSMutableSet setWithArray:@[ @"x", @"y", @"x" ]];
    CHECK(set.count == 2 && [set containsObject:@"y"]);
    NSArray *sorted = [@[ @3, @1, @2 ] sortedArrayUsingSelector:@selector(compare:)];
    CHECK([sorted isEqual:(@[ @1, @2, @3 ])]);
    NSArray *letters = @[ @"a", @"b" ];
    CHECK([[letters componentsJoinedByString:@"-"] isEqual:@"a-b"]);
    NSData *data = [@"bytes" dataUsingEncoding:NSUTF8StringEncoding];
    CHECK(data.length == 5 && [[[[NSString alloc] initWithData:data encoding:NSUTF8StringEncoding] autorelease] isEqual:@"bytes"]);
    NSError *error = nil;
    CHECK(![NSString stringWithContentsOfFile:@"/no/such/file" encoding:NSUTF8StringEncoding error:&error] && error.code == 260);
    CHECK([NSURL fileURLWithPath:@"/x/y"].isFileURL && [[NSURL fileURLWithPath:@"/x/y"].path isEqual:@"/x/y"]);
    CHECK([[NSProcessInfo processInfo].arguments[0] length] > 0 && [NSProcessInfo processInfo].environment[@"PATH"] != nil);
}

static void blocks(void) {
    __block int count = 0;
    Base *held = [[Base alloc] init];
    void (^add)(int) = Block_copy(^(int n) {
        count += n;
        (void)[held number];
    });
    [held release];
    CHECK(alive == 1);
    add(3);
    add(4);
    CHECK(count == 7);
    Block_release(add);
    CHECK(alive == 0);

    dispatch_queue_t serial = dispatch_queue_create("test", DISPATCH_QUEUE_SERIAL);
    __block int order = 0, right = 1;
    for (int i = 0; i < 100; i++)
        dispatch_async(serial, ^{ right &= order++ == i; });
    dispatch_sync(serial, ^{ right &= order++ == 100; });
    CHECK(right && order == 101);
    dispatch_group_t group = dispatch_group_create();
    __block _Atomic int sum = 0;
    for (int i = 0; i < 50; i++)
        dispatch_group_async(group, dispatch_get_global_queue(0, 0), ^{ sum += i; });
    CHECK(!dispatch_group_wait(group, DISPATCH_TIME_FOREVER) && sum == 1225);
    dispatch_apply(10, dispatch_get_global_queue(0, 0), ^(size_t i) { sum += (int)i; });
    CHECK(sum == 1270);
    dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    dispatch_group_notify(group, serial, ^{ dispatch_semaphore_signal(semaphore); });
    CHECK(!dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 5 * (int64_t)NSEC_PER_SEC)));
    CHECK(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 1000000)) != 0);
    static dispatch_once_t once;
    for (int i = 0; i < 3; i++)
        dispatch_once(&once, ^{ sum = 1; });
    CHECK(sum == 1);
    dispatch_data_t data = dispatch_data_create("abc", 3, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    CHECK(dispatch_data_get_size(data) == 3);
    dispatch_release(data);
    dispatch_release(semaphore);
    dispatch_release(group);
    dispatch_release(serial);
}

int main(void) {
    @autoreleasepool {
        runtime();
        strings();
        collections();
        blocks();
    }
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}

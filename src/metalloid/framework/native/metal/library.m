// Libraries, functions and pipelines: Python compiles, these objects remember what it said.
#include "objects.h"

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";

@implementation MTLCompileOptions
@synthesize preprocessorMacros, mathMode, mathFloatingPointFunctions, languageVersion, libraryType, optimizationLevel;
@synthesize installName, libraries, preserveInvariance, allowReferencingUndefinedSymbols, enableLogging;
@synthesize maxTotalThreadsPerThreadgroup, requiredThreadsPerThreadgroup;
- (instancetype)init {
    self.mathMode = MTLMathModeFast;
    return self;
}
- (BOOL)fastMathEnabled { return self.mathMode == MTLMathModeFast; }
- (void)setFastMathEnabled:(BOOL)fast { self.mathMode = fast ? MTLMathModeFast : MTLMathModeSafe; }
- (void)dealloc {
    [preprocessorMacros release];
    [installName release];
    [libraries release];
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLCompileOptions *made = [[MTLCompileOptions alloc] init];
    made.preprocessorMacros = self.preprocessorMacros;
    made.mathMode = self.mathMode;
    made.languageVersion = self.languageVersion;
    return made;
}
// A line for each setting; macros as `define NAME VALUE`.
- (NSString *)lines {
    static const char *const modes[] = {"safe", "relaxed", "fast"};
    NSMutableString *made = [NSMutableString stringWithFormat:@"math %s\n", modes[MIN((NSUInteger)self.mathMode, 2)]];
    if (self.languageVersion)
        [made appendFormat:@"version %d.%d\n", (int)(self.languageVersion >> 16), (int)(self.languageVersion & 0xFFFF)];
    for (NSString *name in self.preprocessorMacros)
        [made appendFormat:@"define %@ %@\n", name, [self.preprocessorMacros objectForKey:name]];
    return made;
}
@end

@implementation MTLFunctionConstantValues
- (instancetype)init {
    _values = [[NSMutableDictionary alloc] init];
    return self;
}
- (void)dealloc {
    [_values release];
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionConstantValues *made = [[MTLFunctionConstantValues alloc] init];
    [made->_values addEntriesFromDictionary:_values];
    return made;
}
static size_t size_of(MTLDataType type) {  // of a scalar, or of a vector of two to four, which follow it
    static const struct { MTLDataType first; size_t size; } scalars[] = {
        {MTLDataTypeFloat, 4}, {MTLDataTypeHalf, 2}, {MTLDataTypeInt, 4}, {MTLDataTypeUInt, 4}, {MTLDataTypeShort, 2},
        {MTLDataTypeUShort, 2}, {MTLDataTypeChar, 1}, {MTLDataTypeUChar, 1}, {MTLDataTypeBool, 1}, {MTLDataTypeLong, 8},
        {MTLDataTypeULong, 8}, {MTLDataTypeBFloat, 2},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (type >= scalars[i].first && type <= scalars[i].first + 3)
            return scalars[i].size * (size_t[]){1, 2, 4, 4}[type - scalars[i].first];
    return 0;
}
- (void)set:(const void *)value type:(MTLDataType)type key:(id)key method:(SEL)method {
    size_t size = size_of(type);
    if (!size)
        mt_failed_assertion(self, method, "type %lu is no scalar and no vector; others are no function constants", (unsigned long)type);
    if (!value)
        mt_failed_assertion(self, method, "value must not be nil.");
    struct mt_constant one = {.type = type};
    memcpy(one.value, value, size);
    [_values setObject:[NSData dataWithBytes:&one length:sizeof one] forKey:key];
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index {
    [self set:value type:type key:@(index) method:_cmd];
}
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self set:(const char *)values + i * size_of(type) type:type key:@(range.location + i) method:_cmd];
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name {
    REQUIRE(name, "name must not be nil.");
    [self set:value type:type key:name method:_cmd];
}
- (void)reset { [_values removeAllObjects]; }
- (NSData *)packed {
    NSMutableData *made = [NSMutableData data];
    for (id key in _values) {
        struct mt_constant one;
        memcpy(&one, [[_values objectForKey:key] bytes], sizeof one);
        if ([key isKindOfClass:[NSString class]])
            one.name = [key UTF8String];
        else
            one.index = [key unsignedIntegerValue];
        [made appendBytes:&one length:sizeof one];
    }
    return made;
}
@end

@implementation MTLFunctionConstant
- (void)dealloc {
    [_name release];
    [super dealloc];
}
- (NSString *)name { return _name; }
- (MTLDataType)type { return _type; }
- (NSUInteger)index { return _index; }
- (BOOL)required { return YES; }
@end

@implementation MTLFunctionDescriptor
@synthesize name, specializedName, constantValues, options;
+ (MTLFunctionDescriptor *)functionDescriptor { return [[[self alloc] init] autorelease]; }
- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionDescriptor *made = [[MTLFunctionDescriptor alloc] init];
    made.name = self.name;
    made.specializedName = self.specializedName;
    made.constantValues = self.constantValues;
    return made;
}
- (void)dealloc {
    [name release];
    [specializedName release];
    [constantValues release];
    [super dealloc];
}
@end

static void tell(NSError **error, NSInteger code, const char *words) {
    if (error)
        *error = mt_error(MTLLibraryErrorDomain, code, [NSString stringWithUTF8String:words]);
}

static _MTLLibrary *library_of(_MTLDevice *device, int64_t handle) {
    _MTLLibrary *made = [[_MTLLibrary alloc] init];
    made->_device = device;
    made->handle = handle;
    return made;
}

@implementation _MTLLibrary
- (void)dealloc {
    mt_bridge.release(handle);
    [names release];
    [super dealloc];
}
- (MTLLibraryType)type { return MTLLibraryTypeExecutable; }
- (NSString *)installName { return nil; }
- (NSArray *)functionNames {
    objc_sync_enter(self);
    if (!names) {
        size_t room = (size_t)mt_bridge.names(handle, 0, 0) + 1;
        char *text = calloc(1, room);
        mt_bridge.names(handle, text, room);
        NSMutableArray *found = [[NSMutableArray alloc] init];
        for (NSString *name in [[NSString stringWithUTF8String:text] componentsSeparatedByString:@"\n"])
            if (name.length)
                [found addObject:name];
        names = found;
        free(text);
    }
    objc_sync_exit(self);
    return names;
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name {
    REQUIRE(name, "functionName must not be nil.");
    return [self newFunctionWithName:name constantValues:nil error:nil];
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name constantValues:(MTLFunctionConstantValues *)values error:(NSError **)error {
    REQUIRE(name, "functionName must not be nil.");
    char *words = calloc(1, ERROR_ROOM);
    NSData *packed = [(id)values packed];
    _MTLFunction *made = nil;
    int blocked = mt_python_enters();
    int64_t found = mt_bridge.kernel(handle, name.UTF8String, packed.bytes, packed.length / sizeof(struct mt_constant), words);
    mt_python_leaves(blocked);
    if (found) {
        made = [[_MTLFunction alloc] init];
        made->_device = _device;
        made->handle = found;
        made->name = [name copy];
    } else
        tell(error, MTLLibraryErrorFunctionNotFound, words);
    free(words);
    return made;
}
- (void)newFunctionWithName:(NSString *)name constantValues:(MTLFunctionConstantValues *)values completionHandler:(void (^)(id<MTLFunction>, NSError *))handler {
    dispatch_async((id)dispatch_get_global_queue(0, 0), ^{
        NSError *error = nil;
        handler([[self newFunctionWithName:name constantValues:values error:&error] autorelease], error);
    });
}
- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error {
    return [self newFunctionWithName:descriptor.name constantValues:descriptor.constantValues error:error];
}
@end

@implementation _MTLFunction
- (void)dealloc {
    mt_bridge.release(handle);
    [name release];
    [super dealloc];
}
- (NSString *)name { return name; }
- (MTLFunctionType)functionType { return MTLFunctionTypeKernel; }
- (NSDictionary *)functionConstantsDictionary {  // those that it needs and has no value for
    NSMutableDictionary *made = [NSMutableDictionary dictionary];
    char *lines = calloc(1, ERROR_ROOM);
    int blocked = mt_python_enters();
    mt_bridge.constants(handle, lines, ERROR_ROOM);
    mt_python_leaves(blocked);
    for (NSString *line in [[NSString stringWithUTF8String:lines] componentsSeparatedByString:@"\n"]) {
        long type, index;
        char text[256];
        if (sscanf(line.UTF8String, "%ld %ld %255s", &type, &index, text) != 3)
            continue;
        MTLFunctionConstant *one = [[[MTLFunctionConstant alloc] init] autorelease];
        one->_name = [[NSString alloc] initWithUTF8String:text];
        one->_type = (MTLDataType)type;
        one->_index = (NSUInteger)index;
        [made setObject:one forKey:one->_name];
    }
    free(lines);
    return made;
}
@end

@implementation _MTLDevice (Libraries)
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error {
    REQUIRE(source, "source must not be nil.");
    char *words = calloc(1, ERROR_ROOM);
    const char *text = source.UTF8String, *lines = [(id)(options ? options : [[[MTLCompileOptions alloc] init] autorelease]) lines].UTF8String;
    int blocked = mt_python_enters();
    int64_t handle = mt_bridge.library(text, strlen(text), lines, words);
    mt_python_leaves(blocked);
    if (!handle)
        tell(error, MTLLibraryErrorCompileFailure, words);
    free(words);
    return handle ? library_of(self, handle) : nil;
}
- (void)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options completionHandler:(MTLNewLibraryCompletionHandler)handler {
    dispatch_async((id)dispatch_get_global_queue(0, 0), ^{
        NSError *error = nil;
        handler([[self newLibraryWithSource:source options:options error:&error] autorelease], error);
    });
}
- (id<MTLLibrary>)libraryWith:(NSData *)data name:(NSString *)name error:(NSError **)error {
    char *words = calloc(1, ERROR_ROOM);
    int blocked = mt_python_enters();
    int64_t handle = mt_bridge.binary(data.bytes, data.length, name.UTF8String, words);
    mt_python_leaves(blocked);
    if (!handle)
        tell(error, MTLLibraryErrorUnsupported, words);
    free(words);
    return handle ? library_of(self, handle) : nil;
}
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error {
    REQUIRE(data, "data must not be nil.");
    return [self libraryWith:(NSData *)data name:@"library.metallib" error:error];
}
- (id<MTLLibrary>)newLibraryWithFile:(NSString *)path error:(NSError **)error {
    NSError *why = nil;
    NSData *data = [NSData dataWithContentsOfFile:path options:0 error:&why];
    if (!data) {
        tell(error, MTLLibraryErrorFileNotFound, why.localizedDescription.UTF8String);
        return nil;
    }
    return [self libraryWith:data name:path error:error];
}
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error { return [self newLibraryWithFile:url.path error:error]; }
- (id<MTLLibrary>)newDefaultLibrary { return [self newDefaultLibraryWithBundle:[NSBundle mainBundle] error:nil]; }
- (id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error {
    NSString *path = [bundle pathForResource:@"default" ofType:@"metallib"];
    if (!path)
        tell(error, MTLLibraryErrorFileNotFound, mt_text("no default library was found: there is no default.metallib in %s", bundle.bundlePath.UTF8String).UTF8String);
    return path ? [self newLibraryWithFile:path error:error] : nil;
}
@end

// Pipelines: what a kernel allows, and what it takes.
#include "objects.h"

@interface _MTLBinding : NSObject <MTLBinding> {
  @public
    NSString *name;
    NSUInteger index, size, alignment;
    MTLBindingType type;
    MTLBindingAccess access;
    MTLDataType dataType;
    BOOL used;
    MTLStructType *members;  // of a struct
}
@end

@implementation MTLStructMember
- (void)dealloc {
    [_name release];
    [super dealloc];
}
- (NSString *)name { return _name; }
- (NSUInteger)offset { return _offset; }
- (MTLDataType)dataType { return _dataType; }
- (NSUInteger)argumentIndex { return _argumentIndex; }
@end

@implementation MTLStructType
- (instancetype)init {
    _members = [[NSMutableArray alloc] init];
    return self;
}
- (void)dealloc {
    [_members release];
    [super dealloc];
}
- (NSArray *)members { return _members; }
- (MTLStructMember *)memberByName:(NSString *)name {
    for (MTLStructMember *one in _members)
        if ([one.name isEqual:name])
            return one;
    return nil;
}
@end

@implementation _MTLBinding
- (void)dealloc {
    [name release];
    [members release];
    [super dealloc];
}
- (NSString *)name { return name; }
- (MTLBindingType)type { return type; }
- (MTLBindingAccess)access { return access; }
- (NSUInteger)index { return index; }
- (BOOL)isUsed { return used; }
- (BOOL)isActive { return used; }
- (BOOL)isArgument { return YES; }
- (NSUInteger)bufferDataSize { return size; }
- (NSUInteger)bufferAlignment { return alignment; }
- (MTLDataType)bufferDataType { return dataType; }
- (MTLStructType *)bufferStructType { return members; }
- (NSUInteger)threadgroupMemoryDataSize { return size; }
- (NSUInteger)threadgroupMemoryAlignment { return alignment; }
- (NSUInteger)arrayLength { return 1; }
@end

static MTLStructMember *member_of(const char *line) {
    long offset, type, index, size;
    char name[256];
    if (sscanf(line, "m %ld %ld %ld %ld %255s", &offset, &type, &index, &size, name) != 5)
        return nil;
    MTLStructMember *one = [[[MTLStructMember alloc] init] autorelease];
    one->_name = [[NSString alloc] initWithUTF8String:name];
    one->_offset = (NSUInteger)offset;
    one->_dataType = (MTLDataType)type;
    one->_argumentIndex = (NSUInteger)index;
    return one;
}

// Lines that framework/describing.py writes: a binding, and behind it the members of its struct.
static NSArray *bindings_of(const char *lines) {
    NSMutableArray *made = [NSMutableArray array];
    for (NSString *line in [[NSString stringWithUTF8String:lines] componentsSeparatedByString:@"\n"]) {
        long kind, index, access, size, alignment, used, type;
        char name[256];
        MTLStructMember *member = member_of(line.UTF8String);
        if (member) {
            _MTLBinding *of = made.lastObject;
            of->members = of->members ? of->members : [[MTLStructType alloc] init];
            [of->members->_members addObject:member];
        }
        if (sscanf(line.UTF8String, "b %ld %ld %ld %ld %ld %ld %ld %255s", &kind, &index, &access, &size, &alignment, &used, &type, name) != 8)
            continue;
        _MTLBinding *one = [[[_MTLBinding alloc] init] autorelease];
        one->type = kind;
        one->index = (NSUInteger)index;
        one->access = (NSUInteger)access;
        one->size = (NSUInteger)size;
        one->alignment = (NSUInteger)alignment;
        one->used = used != 0;
        one->dataType = (MTLDataType)type;
        one->name = [[NSString alloc] initWithUTF8String:name];
        [made addObject:one];
    }
    return made;
}

@implementation MTLComputePipelineReflection
- (NSArray *)bindings { return _bindings; }
- (NSArray *)arguments { return _bindings; }
- (void)dealloc {
    [_bindings release];
    [super dealloc];
}
@end

@implementation MTLComputePipelineDescriptor
@synthesize label, computeFunction, threadGroupSizeIsMultipleOfThreadExecutionWidth, maxTotalThreadsPerThreadgroup;
@synthesize supportIndirectCommandBuffers, binaryArchives, linkedFunctions;
- (void)reset {
    self.label = nil;
    self.computeFunction = nil;
    self.maxTotalThreadsPerThreadgroup = 0;
    self.supportIndirectCommandBuffers = NO;
}
- (void)dealloc {
    [self reset];
    [binaryArchives release];
    [linkedFunctions release];
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLComputePipelineDescriptor *made = [[MTLComputePipelineDescriptor alloc] init];
    made.label = self.label;
    made.computeFunction = self.computeFunction;
    made.maxTotalThreadsPerThreadgroup = self.maxTotalThreadsPerThreadgroup;
    made.supportIndirectCommandBuffers = self.supportIndirectCommandBuffers;
    return made;
}
@end

@implementation _MTLComputePipelineState
- (void)dealloc {
    mt_plans_free(plans);
    mt_bridge.release(handle);
    [name release];
    [reflection release];
    [super dealloc];
}
- (NSUInteger)maxTotalThreadsPerThreadgroup { return limit; }
- (NSUInteger)threadExecutionWidth { return description.width; }
- (NSUInteger)staticThreadgroupMemoryLength { return description.static_memory; }
- (BOOL)supportIndirectCommandBuffers { return indirect; }
- (MTLComputePipelineReflection *)reflection { return reflection; }
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)dimensions { return 0; }
@end

@implementation _MTLDevice (Pipelines)
- (_MTLComputePipelineState *)pipelineOf:(_MTLFunction *)function error:(NSError **)error {
    char *words = calloc(1, ERROR_ROOM), *lines = calloc(1, ERROR_ROOM);
    struct mt_description description;
    _MTLComputePipelineState *made = nil;
    int blocked = mt_python_enters();
    int64_t handle = mt_bridge.describe(function->handle, &description, lines, ERROR_ROOM, words);
    mt_python_leaves(blocked);
    if (handle) {
        made = [[_MTLComputePipelineState alloc] init];
        made->_device = self;
        made->handle = handle;
        made->description = description;
        made->limit = description.max_threads;
        made->name = [function->name copy];
        made->reflection = [[MTLComputePipelineReflection alloc] init];
        made->reflection->_bindings = [bindings_of(lines) retain];
    } else if (error)
        *error = mt_error(MTLLibraryErrorDomain, MTLLibraryErrorInternal, [NSString stringWithUTF8String:words]);
    free(words);
    free(lines);
    return made;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error {
    REQUIRE(function, "computeFunction must not be nil.");
    return [self pipelineOf:(_MTLFunction *)function error:error];
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function options:(MTLPipelineOption)options reflection:(MTLAutoreleasedComputePipelineReflection *)reflection error:(NSError **)error {
    REQUIRE(function, "computeFunction must not be nil.");
    _MTLComputePipelineState *made = [self pipelineOf:(_MTLFunction *)function error:error];
    if (reflection)
        *reflection = made ? made->reflection : nil;
    return made;
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function completionHandler:(MTLNewComputePipelineStateCompletionHandler)handler {
    REQUIRE(function, "computeFunction must not be nil.");
    dispatch_async((id)dispatch_get_global_queue(0, 0), ^{
        NSError *error = nil;
        handler([[self pipelineOf:(_MTLFunction *)function error:&error] autorelease], error);
    });
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor options:(MTLPipelineOption)options reflection:(MTLAutoreleasedComputePipelineReflection *)reflection error:(NSError **)error {
    REQUIRE(descriptor.computeFunction, "computeFunction must not be nil.");
    _MTLComputePipelineState *made = [self newComputePipelineStateWithFunction:descriptor.computeFunction options:options reflection:reflection error:error];
    if (made) {
        made->_label = [descriptor.label copy];
        made->indirect = descriptor.supportIndirectCommandBuffers;
        if (descriptor.maxTotalThreadsPerThreadgroup)
            made->limit = MIN(made->limit, descriptor.maxTotalThreadsPerThreadgroup);
    }
    return made;
}
@end

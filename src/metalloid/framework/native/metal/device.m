// The device: this machine's processor, in Metal's words.
#include "objects.h"
#include <mach/mach_time.h>
#include <sys/mman.h>

@interface _MTLArchitecture : MTLArchitecture
@end
@implementation MTLArchitecture
- (NSString *)name { return [NSString stringWithUTF8String:mt_bridge.architecture]; }
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end
@implementation _MTLArchitecture
@end

static _MTLDevice *the_device;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

static void make(void) {
    missing = mt_python_ready();
    if (!missing)
        the_device = [[_MTLDevice alloc] init];
}

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
    void *state = mt_wait_begins();
    pthread_once(&once, make);
    mt_wait_ends(state);
    if (missing)
        fprintf(stderr, "%s\n", missing);
    return [the_device retain];
}

NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) {
    id<MTLDevice> one = MTLCreateSystemDefaultDevice();
    NSArray *made = one ? [[NSArray alloc] initWithObjects:&one count:1] : [[NSArray alloc] init];
    [one release];
    return made;
}

EXPORT NSArray *MTLCopyAllDevicesWithObserver(id *observer, id handler) {
    if (observer)
        *observer = [[[NSObject alloc] init] autorelease];
    return MTLCopyAllDevices();
}
EXPORT void MTLRemoveDeviceObserver(id observer) {}

@implementation _MTLDevice
@synthesize shouldMaximizeConcurrentCompilation;
- (NSString *)name { return [NSString stringWithUTF8String:mt_bridge.name]; }
- (NSString *)description { return mt_text("<_MTLDevice: %s>", mt_bridge.name); }
- (uint64_t)registryID { return mt_bridge.registry; }
- (MTLArchitecture *)architecture { return [[[_MTLArchitecture alloc] init] autorelease]; }
- (MTLSize)maxThreadsPerThreadgroup { return MTLSizeMake(mt_bridge.most_threads, mt_bridge.most_threads, mt_bridge.most_threads); }
- (BOOL)isLowPower { return NO; }
- (BOOL)isHeadless { return YES; }
- (BOOL)isRemovable { return NO; }
- (BOOL)hasUnifiedMemory { return YES; }
- (uint64_t)recommendedMaxWorkingSetSize { return mt_bridge.working_set; }
- (MTLDeviceLocation)location { return MTLDeviceLocationBuiltIn; }
- (NSUInteger)locationNumber { return 0; }
- (uint64_t)maxTransferRate { return 0; }
- (MTLReadWriteTextureTier)readWriteTextureSupport { return MTLReadWriteTextureTierNone; }
- (MTLArgumentBuffersTier)argumentBuffersSupport { return MTLArgumentBuffersTier2; }
- (NSUInteger)currentAllocatedSize { return __atomic_load_n(&allocated, __ATOMIC_RELAXED); }
- (NSUInteger)maxThreadgroupMemoryLength { return mt_bridge.most_local; }
- (NSUInteger)maxBufferLength { return mt_bridge.longest_buffer; }
- (NSUInteger)maxArgumentBufferSamplerCount { return 0; }
- (BOOL)supportsDynamicLibraries { return NO; }
- (BOOL)supportsFunctionPointers { return NO; }
- (BOOL)supportsRaytracing { return NO; }
- (BOOL)supports32BitFloatFiltering { return NO; }
- (BOOL)supports32BitMSAA { return NO; }
- (NSUInteger)maximumConcurrentCompilationTaskCount { return [NSProcessInfo processInfo].activeProcessorCount; }
- (BOOL)supportsFamily:(MTLGPUFamily)family {
    char number[32];
    snprintf(number, sizeof number, " %ld ", (long)family);
    return strstr(mt_bridge.families, number) != 0;
}
- (BOOL)supportsFeatureSet:(NSUInteger)set { return NO; }
- (void)sampleTimestamps:(MTLTimestamp *)cpu gpuTimestamp:(MTLTimestamp *)gpu { *cpu = *gpu = mach_absolute_time(); }

- (id<MTLCommandQueue>)newCommandQueue {
    _MTLCommandQueue *made = [[_MTLCommandQueue alloc] init];
    made->_device = self;
    return made;
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count { return [self newCommandQueue]; }
- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor { return [self newCommandQueue]; }

static _MTLBuffer *buffer_of(_MTLDevice *device, void *bytes, NSUInteger length, MTLResourceOptions options) {
    _MTLBuffer *made = [[_MTLBuffer alloc] init];
    made->_device = device;
    made->bytes = bytes;
    made->length = length;
    made->options = options;
    return made;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    REQUIRE(length, "Buffer Validation\nCannot create buffer of zero length.");
    REQUIRE(length <= mt_bridge.longest_buffer, "Buffer Validation\nnewBufferWith*:length 0x%lx must not exceed %lu.", length, mt_bridge.longest_buffer);
    void *bytes = mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return nil;  // as Metal says that there is no memory
    _MTLBuffer *made = buffer_of(self, bytes, length, options);
    made->memory = MAPPED;
    __atomic_fetch_add(&allocated, length, __ATOMIC_RELAXED);
    return made;
}
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options {
    REQUIRE(bytes, "Buffer Validation\nnewBufferWithBytes:bytes must not be nil.");
    _MTLBuffer *made = [self newBufferWithLength:length options:options];
    if (made)
        memcpy(made->bytes, bytes, length);
    return made;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options deallocator:(void (^)(void *, NSUInteger))deallocator {
    REQUIRE(bytes, "Buffer Validation\nnewBufferWithBytesNoCopy:pointer must not be nil.");
    REQUIRE(length, "Buffer Validation\nCannot create buffer of zero length.");
    _MTLBuffer *made = buffer_of(self, bytes, length, options);
    made->deallocator = Block_copy(deallocator);
    return made;
}

- (id<MTLFence>)newFence {
    _MTLObject *made = [[_MTLObject alloc] init];
    made->_device = self;
    return (id)made;
}
- (id<MTLEvent>)newEvent { return [self newSharedEvent]; }
- (id<MTLSharedEvent>)newSharedEvent {
    _MTLEvent *made = [[_MTLEvent alloc] init];
    made->_device = self;
    return made;
}
- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)handle { return [handle->event retain]; }
@end

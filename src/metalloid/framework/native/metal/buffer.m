// Buffers are memory of the process; heaps are one such buffer in pieces.
#include "objects.h"
#include <sys/mman.h>

@implementation _MTLBuffer
- (void)dealloc {
    if (memory == MAPPED) {
        munmap(bytes, length);
        __atomic_fetch_sub(&((_MTLDevice *)_device)->allocated, length, __ATOMIC_RELAXED);
    }
    if (memory == IN_HEAP)
        [(_MTLHeap *)heap giveBack:heapOffset];
    if (deallocator) {
        deallocator(bytes, length);
        Block_release(deallocator);
    }
    [heap release];
    [super dealloc];
}
- (NSUInteger)length { return length; }
- (NSUInteger)allocatedSize { return (length + 4095) / 4096 * 4096; }
- (void *)contents { return ((options >> 4) & 15) == MTLStorageModePrivate ? 0 : bytes; }
- (uint64_t)gpuAddress { return (uint64_t)bytes; }
- (void)didModifyRange:(NSRange)range {}
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range {}
- (void)removeAllDebugMarkers {}
- (MTLResourceOptions)resourceOptions { return options; }
- (MTLCPUCacheMode)cpuCacheMode { return options & 15; }
- (MTLStorageMode)storageMode { return (options >> 4) & 15; }
- (MTLHazardTrackingMode)hazardTrackingMode { return (options >> 8) & 3; }
- (id<MTLHeap>)heap { return heap; }
- (NSUInteger)heapOffset { return heapOffset; }
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state { return MTLPurgeableStateNonVolatile; }
- (void)makeAliasable {
    if (memory == IN_HEAP)
        [(_MTLHeap *)heap giveBack:heapOffset];
    memory = BORROWED;
}
- (BOOL)isAliasable { return heap && memory == BORROWED; }
@end

@implementation MTLHeapDescriptor
@synthesize size, storageMode, cpuCacheMode, hazardTrackingMode, type;
- (instancetype)init {
    self.storageMode = MTLStorageModePrivate;
    return self;
}
- (MTLResourceOptions)resourceOptions { return self.storageMode << 4 | self.cpuCacheMode | self.hazardTrackingMode << 8; }
- (void)setResourceOptions:(MTLResourceOptions)options {
    self.storageMode = (options >> 4) & 15;
    self.cpuCacheMode = options & 15;
    self.hazardTrackingMode = (options >> 8) & 3;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLHeapDescriptor *made = [[MTLHeapDescriptor alloc] init];
    made.size = self.size;
    made.type = self.type;
    made.resourceOptions = self.resourceOptions;
    return made;
}
@end

struct piece {  // in the order of their offsets
    struct piece *next;
    NSUInteger offset, size;
};

enum { ALIGN = 256 };

@implementation _MTLHeap
- (void)dealloc {
    [all release];
    [descriptor release];
    pthread_mutex_destroy(&lock);
    [super dealloc];
}
- (NSUInteger)size { return descriptor.size; }
- (NSUInteger)usedSize { return used; }
- (NSUInteger)allocatedSize { return descriptor.size; }
- (NSUInteger)currentAllocatedSize { return descriptor.size; }
- (MTLStorageMode)storageMode { return descriptor.storageMode; }
- (MTLCPUCacheMode)cpuCacheMode { return descriptor.cpuCacheMode; }
- (MTLHazardTrackingMode)hazardTrackingMode { return descriptor.hazardTrackingMode; }
- (MTLResourceOptions)resourceOptions { return descriptor.resourceOptions; }
- (MTLHeapType)type { return descriptor.type; }
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state { return MTLPurgeableStateNonVolatile; }
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
    NSUInteger at = 0, best = 0, step = MAX(alignment, ALIGN);
    pthread_mutex_lock(&lock);
    for (struct piece *piece = pieces;; piece = piece->next) {
        NSUInteger end = piece ? piece->offset : descriptor.size, start = (at + step - 1) / step * step;
        if (end > start && end - start > best)
            best = end - start;
        if (!piece)
            break;
        at = piece->offset + piece->size;
    }
    pthread_mutex_unlock(&lock);
    return best;
}
- (_MTLBuffer *)pieceAt:(NSUInteger)offset length:(NSUInteger)length options:(MTLResourceOptions)options {
    _MTLBuffer *made = [[_MTLBuffer alloc] init];
    made->_device = _device;
    made->bytes = all->bytes + offset;
    made->length = length;
    made->heapOffset = offset;
    made->options = options;
    made->heap = [self retain];
    return made;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    REQUIRE(length, "Buffer Validation\nCannot create buffer of zero length.");
    REQUIRE(descriptor.type == MTLHeapTypeAutomatic, "-newBufferWithLength:options: needs a heap of MTLHeapTypeAutomatic");
    NSUInteger size = (length + ALIGN - 1) / ALIGN * ALIGN, at = 0;
    pthread_mutex_lock(&lock);
    struct piece **place = &pieces;
    for (; *place && (*place)->offset - at < size; place = &(*place)->next)
        at = (*place)->offset + (*place)->size;
    BOOL fits = *place || (at <= descriptor.size && descriptor.size - at >= length);
    if (fits) {
        struct piece *made = malloc(sizeof *made);
        *made = (struct piece){*place, at, size};
        *place = made;
        used += size;
    }
    pthread_mutex_unlock(&lock);
    if (!fits)
        return nil;
    _MTLBuffer *made = [self pieceAt:at length:length options:options];
    made->memory = IN_HEAP;
    return made;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset {
    REQUIRE(descriptor.type == MTLHeapTypePlacement, "-newBufferWithLength:options:offset: needs a heap of MTLHeapTypePlacement");
    REQUIRE(offset <= descriptor.size && length <= descriptor.size - offset, "offset(%lu) + length(%lu) must be <= [heap size](%lu).", offset, length, descriptor.size);
    return [self pieceAt:offset length:length options:options];
}
- (void)giveBack:(NSUInteger)offset {
    pthread_mutex_lock(&lock);
    for (struct piece **at = &pieces; *at; at = &(*at)->next)
        if ((*at)->offset == offset) {
            struct piece *gone = *at;
            *at = gone->next;
            used -= gone->size;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
}
@end

@implementation _MTLDevice (Heaps)
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    return (MTLSizeAndAlign){(length + ALIGN - 1) / ALIGN * ALIGN, ALIGN};
}
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor {
    REQUIRE(descriptor.size, "heap size must be > 0");
    _MTLBuffer *all = [self newBufferWithLength:descriptor.size options:descriptor.resourceOptions];
    if (!all)
        return nil;
    _MTLHeap *made = [[_MTLHeap alloc] init];
    made->_device = self;
    made->all = all;
    made->descriptor = [descriptor copy];
    pthread_mutex_init(&made->lock, 0);
    return made;
}
@end

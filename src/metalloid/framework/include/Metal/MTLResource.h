// Memory: buffers, heaps, events and fences.
#ifndef METALLOID_MTLRESOURCE_H
#define METALLOID_MTLRESOURCE_H

#include <Foundation/Foundation.h>
#include <Metal/MTLTypes.h>

@protocol MTLDevice, MTLHeap;

@protocol MTLAllocation <NSObject>
@property(readonly) NSUInteger allocatedSize;
@end

@protocol MTLResource <MTLAllocation>
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLCPUCacheMode cpuCacheMode;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode;
@property(readonly) MTLResourceOptions resourceOptions;
@property(readonly) id<MTLHeap> heap;
@property(readonly) NSUInteger heapOffset;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
- (void)makeAliasable;
- (BOOL)isAliasable;
@end

@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) uint64_t gpuAddress;
- (void *)contents;
- (void)didModifyRange:(NSRange)range;
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range;
- (void)removeAllDebugMarkers;
@end

@interface MTLHeapDescriptor : NSObject <NSCopying>
@property NSUInteger size;
@property MTLStorageMode storageMode;
@property MTLCPUCacheMode cpuCacheMode;
@property MTLHazardTrackingMode hazardTrackingMode;
@property MTLResourceOptions resourceOptions;
@property MTLHeapType type;
@end

@protocol MTLHeap <MTLAllocation>
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger size;
@property(readonly) NSUInteger usedSize;
@property(readonly) NSUInteger currentAllocatedSize;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLResourceOptions resourceOptions;
@property(readonly) MTLHeapType type;
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@end

@protocol MTLFence <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, atomic) NSString *label;
@end

@protocol MTLEvent <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, atomic) NSString *label;
@end

@interface MTLSharedEventHandle : NSObject {
  @public
    id event;
}
@property(readonly) NSString *label;
@end

@interface MTLSharedEventListener : NSObject {
    dispatch_queue_t _queue;
}
+ (MTLSharedEventListener *)sharedListener;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue;
@property(nonatomic, readonly) dispatch_queue_t dispatchQueue;
@end

@protocol MTLSharedEvent;
typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent>, uint64_t value);

@protocol MTLSharedEvent <MTLEvent>
@property(readwrite) uint64_t signaledValue;
- (void)notifyListener:(MTLSharedEventListener *)listener atValue:(uint64_t)value block:(MTLSharedEventNotificationBlock)block;
- (MTLSharedEventHandle *)newSharedEventHandle;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
@end

@interface MTLResidencySetDescriptor : NSObject <NSCopying>
@property(copy, nonatomic) NSString *label;
@property(nonatomic) NSUInteger initialCapacity;
@end

@protocol MTLResidencySet <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString *label;
@property(readonly) uint64_t allocatedSize;
@property(readonly, copy) NSArray *allAllocations;
@property(readonly) NSUInteger allocationCount;
- (void)requestResidency;
- (void)endResidency;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)addAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count;
- (void)removeAllAllocations;
- (BOOL)containsAllocation:(id<MTLAllocation>)allocation;
- (void)commit;
@end

#endif

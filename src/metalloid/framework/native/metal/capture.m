// Captures are refused politely, and residency is what memory here always has.
#include "objects.h"

NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";

@interface _MTLCaptureScope : _MTLObject <MTLCaptureScope>
@end
@implementation _MTLCaptureScope
- (void)beginScope {}
- (void)endScope {}
- (id)commandQueue { return nil; }
@end

@implementation MTLCaptureDescriptor
@synthesize captureObject, destination, outputURL;
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (void)dealloc {
    [captureObject release];
    [outputURL release];
    [super dealloc];
}
@end

@implementation MTLCaptureManager
+ (MTLCaptureManager *)sharedCaptureManager {
    static MTLCaptureManager *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] init]; });
    return one;
}
- (BOOL)isCapturing { return NO; }
- (BOOL)supportsDestination:(MTLCaptureDestination)destination { return NO; }
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device {
    _MTLCaptureScope *made = [[_MTLCaptureScope alloc] init];
    made->_device = device;
    return made;
}
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue { return [self newCaptureScopeWithDevice:queue.device]; }
- (id<MTLCaptureScope>)defaultCaptureScope { return nil; }
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error {
    if (error)
        *error = mt_error(MTLCaptureErrorDomain, MTLCaptureErrorNotSupported, @"Captures are not supported by metalloid; METALLOID_TRACE=1 prints every step of every launch.");
    return NO;
}
- (void)stopCapture {}
@end

@implementation MTLResidencySetDescriptor
@synthesize label, initialCapacity;
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (void)dealloc {
    [label release];
    [super dealloc];
}
@end

@interface _MTLResidencySet : _MTLObject <MTLResidencySet> {
  @public
    NSMutableSet *all;
}
@end
@implementation _MTLResidencySet
- (void)dealloc {
    [all release];
    [super dealloc];
}
- (uint64_t)allocatedSize {
    uint64_t size = 0;
    for (id<MTLAllocation> one in self.allAllocations)
        size += one.allocatedSize;
    return size;
}
- (NSArray *)allAllocations {
    objc_sync_enter(self);
    NSArray *found = all.allObjects;
    objc_sync_exit(self);
    return found;
}
- (NSUInteger)allocationCount { return self.allAllocations.count; }
- (void)requestResidency {}
- (void)endResidency {}
- (void)commit {}
- (void)addAllocation:(id<MTLAllocation>)allocation {
    objc_sync_enter(self);
    [all addObject:allocation];
    objc_sync_exit(self);
}
- (void)removeAllocation:(id<MTLAllocation>)allocation {
    objc_sync_enter(self);
    [all removeObject:allocation];
    objc_sync_exit(self);
}
- (void)removeAllAllocations {
    objc_sync_enter(self);
    [all removeAllObjects];
    objc_sync_exit(self);
}
- (BOOL)containsAllocation:(id<MTLAllocation>)allocation { return [self.allAllocations containsObject:allocation]; }
- (void)addAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        [self addAllocation:allocations[i]];
}
- (void)removeAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        [self removeAllocation:allocations[i]];
}
@end

@implementation _MTLDevice (Residency)
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error {
    _MTLResidencySet *made = [[_MTLResidencySet alloc] init];
    made->_device = self;
    made->_label = [descriptor.label copy];
    made->all = [[NSMutableSet alloc] init];
    if (error)
        *error = nil;
    return made;
}
@end

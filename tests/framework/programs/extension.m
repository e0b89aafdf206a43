// A library that a Python program loads: it makes a device and waits for kernels while it holds the interpreter's lock.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

__attribute__((visibility("default"))) int squares(float *values, uint32_t count) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        NSError *error = nil;
        NSString *source = @"kernel void square(device float *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] *= v[i]; }";
        id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
        id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"square"] error:&error];
        __block int freed = 0;
        id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:values length:count * sizeof(float) options:0 deallocator:^(void *bytes, NSUInteger length) {
            freed += bytes == values && length == count * sizeof(float);
        }];
        id<MTLCommandQueue> queue = [device newCommandQueue];
        __block _Atomic int handled = 0;
        dispatch_group_t group = dispatch_group_create();
        @autoreleasepool {
            for (int i = 0; i < 2; i++) {
                id<MTLCommandBuffer> commands = [queue commandBuffer];
                id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
                [encoder setComputePipelineState:pipeline];
                [encoder setBuffer:buffer offset:0 atIndex:0];
                [encoder dispatchThreads:MTLSizeMake(count, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
                [encoder endEncoding];
                dispatch_group_enter(group);
                [commands addCompletedHandler:^(id<MTLCommandBuffer> which) {
                    handled++;
                    dispatch_group_leave(group);
                }];
                [commands commit];
                [commands waitUntilCompleted];
            }
            dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
        }
        [queue release];
        [buffer release];
        return error ? -1 : handled * 10 + freed;
    }
}

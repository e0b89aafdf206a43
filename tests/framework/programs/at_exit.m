// A program that lets its objects go and ends at once: Python has not given their code back by then.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

int main(void) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:@"kernel void one(device int *out, uint i [[thread_position_in_grid]]) { out[i] = i + 1; }"
                                                  options:nil error:&error];
    id<MTLFunction> function = [library newFunctionWithName:@"one"];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    [function release];
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> out = [device newBufferWithLength:64 options:0];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(16, 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    printf("%d\n", ((int *)out.contents)[15]);
    [out release];
    [pipeline release];
    [library release];
    [queue release];
    [device release];
    return 0;
}

// Launches for `metalloid check`: in halves, with a mistake or without, and an end of every kind.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <string.h>
#include <unistd.h>

static NSString *text = @"kernel void fill(device float *out [[buffer(0)]], constant uint &from [[buffer(1)]],\n"
                         "                 uint i [[thread_position_in_grid]]) {\n"
                         "    out[from + i] = i;\n"
                         "}\n"
                         "kernel void next(device float *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {\n"
                         "    out[i] = out[(i + 1) % 64]; // metalloid: ignore[M2] on purpose\n"
                         "}\n";

static void launch(id<MTLDevice> device, NSString *name, uint32_t from, id<MTLBuffer> out, NSUInteger threads) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:name] error:&error];
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setBytes:&from length:sizeof from atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
}

int main(int count, char **words) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLBuffer> out = [device newBufferWithLength:256 options:MTLResourceStorageModeShared];
    for (int n = 1; n < count; n++) {
        if (!strcmp(words[n], "halves")) {
            launch(device, @"fill", 0, out, 32);
            launch(device, @"fill", 32, out, 32);
        } else if (!strcmp(words[n], "outside"))
            launch(device, @"fill", 48, out, 32);
        else if (!strcmp(words[n], "race"))
            launch(device, @"next", 0, out, 64);
        else if (!strcmp(words[n], "abort"))
            abort();
        else if (!strcmp(words[n], "leave"))
            _exit(7);
        else
            return atoi(words[n]);
    }
    [out release];  // nobody may look at it after this
    puts("done");
    return 0;
}

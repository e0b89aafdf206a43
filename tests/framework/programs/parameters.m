// Numbers that lead to addresses: in a short buffer with something below it, and in a long one beside the output; and
// counters that are bound twice after they were bound once.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

static NSString *const source = @"#include <metal_stdlib>\nusing namespace metal;\n"
"kernel void below(device int *out [[buffer(0)]], constant int *at [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
"    out[at[-1] + i] += at[0];\n"
"}\n"
"kernel void picked(device int *out [[buffer(0)]], device const int *which [[buffer(1)]], constant int &n [[buffer(2)]],\n"
"                   uint i [[thread_position_in_grid]]) {\n"
"    for (int k = 0; k < n; k++) out[which[i] + k] += 1;\n"
"}\n"
"kernel void counted(device atomic_uint *bins [[buffer(0)]], device atomic_uint *out [[buffer(1)]],\n"
"                    device const uint *again [[buffer(2)]], uint i [[thread_position_in_threadgroup]]) {\n"
"    atomic_fetch_add_explicit(&bins[i & 63], 1u, memory_order_relaxed);\n"
"    threadgroup_barrier(mem_flags::mem_device);\n"
"    atomic_fetch_add_explicit(&out[i & 63], again[(i + 1) & 63], memory_order_relaxed);\n"
"}\n";

static void run(id<MTLDevice> device, id<MTLLibrary> library, NSString *name, int threads, void (^bind)(id<MTLComputeCommandEncoder>)) {
    NSError *error = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:name] error:&error];
    id<MTLCommandQueue> queue = [device newCommandQueue];
    for (int round = 0; round < 40; round++) {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:pipeline];
        bind(encoder);
        [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
        [encoder endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        if (commands.error)
            printf("error: %s\n", commands.error.localizedDescription.UTF8String);
    }
}

int main(void) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
    id<MTLBuffer> out = [device newBufferWithLength:64 options:0], at = [device newBufferWithLength:64 options:0];
    ((int *)at.contents)[3] = 8;  // just below what is bound
    ((int *)at.contents)[4] = 5;
    run(device, library, @"below", 4, ^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setBuffer:out offset:0 atIndex:0];
        [encoder setBuffer:at offset:16 atIndex:1];
    });
    for (int i = 7; i < 13; i++)
        printf("%d ", ((int *)out.contents)[i]);

    id<MTLBuffer> all = [device newBufferWithLength:1 << 16 options:0];  // sums, and behind them which
    int *which = (int *)all.contents + 1024, n = 2;
    for (int i = 0; i < 4; i++)
        which[i] = 10 * i;
    run(device, library, @"picked", 4, ^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setBuffer:all offset:0 atIndex:0];
        [encoder setBuffer:all offset:4096 atIndex:1];
        [encoder setBytes:&n length:4 atIndex:2];
    });
    for (int i = 0; i < 32; i += 10)
        printf("| %d %d %d ", ((int *)all.contents)[i], ((int *)all.contents)[i + 1], ((int *)all.contents)[i + 2]);

    id<MTLBuffer> bins = [device newBufferWithLength:256 options:0], sums = [device newBufferWithLength:256 options:0];
    id<MTLBuffer> zeros = [device newBufferWithLength:256 options:0];
    __block int round = 0;
    run(device, library, @"counted", 64, ^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setBuffer:bins offset:0 atIndex:0];
        [encoder setBuffer:sums offset:0 atIndex:1];
        [encoder setBuffer:round++ < 20 ? zeros : bins offset:0 atIndex:2];
    });
    for (int i = 0; i < 4; i++)
        printf("| %d %d ", ((int *)bins.contents)[i], ((int *)sums.contents)[i]);
    printf("\n");
    return 0;
}

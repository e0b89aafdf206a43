// Raw addresses in a structure, memory of a heap, an indirect dispatch, a private buffer and an offset.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

static NSString *const SOURCE = @""
"struct Table { device float *first; device const float *second; };\n"
"kernel void through(constant Table &table [[buffer(0)]], uint i [[thread_position_in_grid]]) { table.first[i] += table.second[i]; }\n"
"kernel void choose(device uint *groups [[buffer(0)]]) { groups[0] = 3; groups[1] = 2; groups[2] = 1; }\n"
"kernel void count(device atomic_uint *total [[buffer(0)]]) { atomic_fetch_add_explicit(total, 1u, memory_order_relaxed); }\n"
"kernel void shifted(device const int *in [[buffer(0)]], device int *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = in[int(i) - 2]; }\n";

static id<MTLDevice> device;
static id<MTLLibrary> library;

static id<MTLComputePipelineState> pipeline(NSString *name) {
    static NSMutableDictionary *made;
    if (!made)
        made = [[NSMutableDictionary alloc] init];
    if (!made[name])
        made[name] = [device newComputePipelineStateWithFunction:[library newFunctionWithName:name] error:nil];
    return made[name];
}

static void libraries(NSString *path) {  // one that `metalloid xcrun` made
    NSData *bytes = [NSData dataWithContentsOfFile:path];
    dispatch_data_t data = dispatch_data_create(bytes.bytes, bytes.length, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NSError *error = nil;
    id<MTLLibrary> both[] = {[device newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error], [device newLibraryWithData:data error:&error]};
    for (int i = 0; i < 2; i++)
        printf("%s: %s\n", i ? "data" : "URL", both[i] ? [both[i].functionNames componentsJoinedByString:@" "].UTF8String : error.localizedDescription.UTF8String);
    printf("function: %s\n", [both[0] newFunctionWithName:@"nothing"] ? "?" : "nil");
}

int main(int argc, char **argv) {
    device = MTLCreateSystemDefaultDevice();
    if (argc > 1)
        libraries([NSString stringWithUTF8String:argv[1]]);
    NSString *text = [@"#include <metal_stdlib>\nusing namespace metal;\n" stringByAppendingString:SOURCE];
    NSError *error = nil;
    library = [device newLibraryWithSource:text options:nil error:&error];
    if (!library)
        NSLog(@"%@", error);
    MTLHeapDescriptor *descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.size = 4096;
    descriptor.storageMode = MTLStorageModeShared;
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> first = [heap newBufferWithLength:64 options:0], second = [heap newBufferWithLength:64 options:0];
    for (int i = 0; i < 16; i++) {
        ((float *)first.contents)[i] = i;
        ((float *)second.contents)[i] = 100;
    }
    struct { uint64_t first, second; } table = {first.gpuAddress, second.gpuAddress};
    id<MTLBuffer> groups = [device newBufferWithLength:12 options:0], total = [device newBufferWithLength:4 options:0];
    id<MTLBuffer> numbers = [device newBufferWithLength:40 options:0], moved = [device newBufferWithLength:32 options:MTLResourceStorageModePrivate];
    id<MTLBuffer> seen = [device newBufferWithLength:32 options:0];
    for (int i = 0; i < 10; i++)
        ((int *)numbers.contents)[i] = i * i;

    id<MTLCommandQueue> queue = [device newCommandQueue];
    for (int turn = 0; turn < 3; turn++) {  // the first compiles, the last runs without Python where it can
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:pipeline(@"through")];
        [encoder setBytes:&table length:sizeof table atIndex:0];
        [encoder useHeap:heap];
        [encoder dispatchThreads:MTLSizeMake(16, 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
        [encoder setComputePipelineState:pipeline(@"choose")];
        [encoder setBuffer:groups offset:0 atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        [encoder setComputePipelineState:pipeline(@"count")];
        [encoder setBuffer:total offset:0 atIndex:0];
        [encoder dispatchThreadgroupsWithIndirectBuffer:groups indirectBufferOffset:0 threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
        [encoder setComputePipelineState:pipeline(@"shifted")];
        [encoder setBuffer:numbers offset:8 atIndex:0];  // what lies below is of the same allocation
        [encoder setBuffer:moved offset:0 atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(8, 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 1, 1)];
        [encoder endEncoding];
        id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
        [blit copyFromBuffer:moved sourceOffset:0 toBuffer:seen destinationOffset:0 size:32];
        [blit endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        if (commands.error)
            NSLog(@"%@", commands.error);
    }
    printf("%g %u %d %d, private %s, heap %lu\n", ((float *)first.contents)[5], *(uint32_t *)total.contents, ((int *)seen.contents)[0], ((int *)seen.contents)[7], moved.contents ? "seen" : "hidden", heap.usedSize);
    return 0;
}

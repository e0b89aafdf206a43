// A reduction with function constants, a blit and shared events, in Objective-C.
//     metalloid cc examples/framework/reduce.m -framework Metal -framework Foundation -o reduce && ./reduce
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

static NSString *const SOURCE = @""
"#include <metal_stdlib>\n"
"using namespace metal;\n"
"constant int operation [[function_constant(0)]];\n"
"constant bool squares [[function_constant(1)]];\n"
"kernel void reduce(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],\n"
"                   constant uint &count [[buffer(2)]], threadgroup float *shared [[threadgroup(0)]],\n"
"                   uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],\n"
"                   uint size [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {\n"
"    float value = i < count ? in[i] : (operation == 0 ? 0.0f : -INFINITY);\n"
"    shared[t] = squares ? value * value : value;\n"
"    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
"    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {\n"
"        if (t < half_size)\n"
"            shared[t] = operation == 0 ? shared[t] + shared[t + half_size] : max(shared[t], shared[t + half_size]);\n"
"        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
"    }\n"
"    if (t == 0)\n"
"        out[group] = shared[0];\n"
"}\n";

enum { COUNT = 4096, GROUP = 256, GROUPS = COUNT / GROUP };

static id<MTLComputePipelineState> pipeline(id<MTLDevice> device, id<MTLLibrary> library, int operation, bool squares) {
    MTLFunctionConstantValues *values = [[MTLFunctionConstantValues alloc] init];
    [values setConstantValue:&operation type:MTLDataTypeInt atIndex:0];
    [values setConstantValue:&squares type:MTLDataTypeBool withName:@"squares"];
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:@"reduce" constantValues:values error:&error];
    id<MTLComputePipelineState> made = function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
    if (!made)
        NSLog(@"%@", error);
    [function release];
    [values release];
    return made;
}

static void encode(id<MTLCommandBuffer> commands, id<MTLComputePipelineState> with, id<MTLBuffer> from, id<MTLBuffer> to, uint32_t count) {
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    encoder.label = @"reduce";
    [encoder setComputePipelineState:with];
    [encoder setBuffer:from offset:0 atIndex:0];
    [encoder setBuffer:to offset:0 atIndex:1];
    [encoder setBytes:&count length:sizeof count atIndex:2];
    [encoder setThreadgroupMemoryLength:GROUP * sizeof(float) atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake((count + GROUP - 1) / GROUP, 1, 1) threadsPerThreadgroup:MTLSizeMake(GROUP, 1, 1)];
    [encoder endEncoding];
}

int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        if (!device)
            return 1;
        NSError *error = nil;
        MTLCompileOptions *options = [[MTLCompileOptions alloc] init];
        options.fastMathEnabled = NO;
        id<MTLLibrary> library = [device newLibraryWithSource:SOURCE options:options error:&error];
        if (!library) {
            NSLog(@"%@", error.localizedDescription);
            return 1;
        }
        id<MTLComputePipelineState> sum = pipeline(device, library, 0, false), largest = pipeline(device, library, 1, true);
        if (!sum || !largest)
            return 1;

        id<MTLBuffer> input = [device newBufferWithLength:COUNT * sizeof(float) options:MTLResourceStorageModeShared];
        id<MTLBuffer> private_copy = [device newBufferWithLength:COUNT * sizeof(float) options:MTLResourceStorageModePrivate];
        id<MTLBuffer> partial = [device newBufferWithLength:GROUPS * sizeof(float) options:MTLResourceStorageModeShared];
        id<MTLBuffer> results = [device newBufferWithLength:2 * sizeof(float) options:MTLResourceStorageModeShared];
        for (int i = 0; i < COUNT; i++)
            ((float *)input.contents)[i] = (float)(i % 100) - 50.0f;

        // The second queue starts when the first has signalled; the host starts the first.
        id<MTLCommandQueue> first = [device newCommandQueue], second = [device newCommandQueue];
        id<MTLSharedEvent> event = [device newSharedEvent];
        __block int heard = 0;
        dispatch_semaphore_t listened = dispatch_semaphore_create(0);
        MTLSharedEventListener *listener = [[MTLSharedEventListener alloc] init];
        [event notifyListener:listener atValue:2 block:^(id<MTLSharedEvent> which, uint64_t value) {
            heard = (int)value;
            dispatch_semaphore_signal(listened);
        }];

        id<MTLCommandBuffer> later = [second commandBuffer];
        [later encodeWaitForEvent:event value:2];
        encode(later, sum, private_copy, partial, COUNT);
        encode(later, sum, partial, results, GROUPS);
        encode(later, largest, private_copy, partial, COUNT);
        [later commit];

        id<MTLCommandBuffer> earlier = [first commandBuffer];
        [earlier encodeWaitForEvent:event value:1];
        id<MTLBlitCommandEncoder> blit = [earlier blitCommandEncoder];
        [blit fillBuffer:results range:NSMakeRange(0, 8) value:0xFF];
        [blit copyFromBuffer:input sourceOffset:0 toBuffer:private_copy destinationOffset:0 size:COUNT * sizeof(float)];
        [blit endEncoding];
        [earlier encodeSignalEvent:event value:2];
        [earlier commit];

        event.signaledValue = 1;
        [later waitUntilCompleted];
        dispatch_semaphore_wait(listened, DISPATCH_TIME_FOREVER);

        double expected = 0, most = 0;
        for (int i = 0; i < COUNT; i++) {
            double value = i % 100 - 50;
            expected += value;
            most = MAX(most, value * value);
        }
        float total = ((float *)results.contents)[0], best = 0;
        for (int i = 0; i < GROUPS; i++)
            best = MAX(best, ((float *)partial.contents)[i]);
        NSArray<NSString *> *words = @[ [NSString stringWithFormat:@"sum %g (%g)", total, expected],
                                        [NSString stringWithFormat:@"largest square %g (%g)", best, most],
                                        [NSString stringWithFormat:@"event %d, status %d", heard, (int)later.status] ];
        for (NSString *line in words)
            printf("%s\n", line.UTF8String);
        return total != (float)expected || best != (float)most || heard != 2;
    }
}

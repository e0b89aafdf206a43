// Labels and debug groups, argument encoders, indirect command buffers, reflection, constants and counters.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

static NSString *const SOURCE = @"#include <metal_stdlib>\nusing namespace metal;\n"
"constant int factor [[function_constant(3)]];\n"
"struct Arguments { device float *out [[id(0)]]; device const float *in [[id(1)]]; float scale [[id(2)]]; };\n"
"struct Shape { uint2 size; float3 origin; };\n"
"kernel void scaled(device Arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a.out[i] = a.in[i] * a.scale; }\n"
"kernel void add(device int *out [[buffer(0)]], constant int &n [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] += n; }\n"
"kernel void times(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] *= factor; }\n"
"kernel void look(constant Shape &shape [[buffer(2)]], device half4 *out [[buffer(5)]], threadgroup float *t [[threadgroup(0)]],"
" uint i [[thread_position_in_grid]]) { t[i] = shape.origin.x; out[i] = half4(t[i]); }\n";

static id<MTLDevice> device;
static id<MTLLibrary> library;
static id<MTLCommandQueue> queue;

static id<MTLComputePipelineState> pipeline(NSString *name) {
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = [library newFunctionWithName:name];
    descriptor.supportIndirectCommandBuffers = YES;
    return [device newComputePipelineStateWithDescriptor:descriptor options:0 reflection:nil error:nil];
}

static void finish(id<MTLCommandBuffer> commands) {
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.error)
        printf("error: %s\n", commands.error.localizedDescription.UTF8String);
}

static void arguments(NSUInteger threads) {
    id<MTLArgumentEncoder> encoder = [[library newFunctionWithName:@"scaled"] newArgumentEncoderWithBufferIndex:0];
    id<MTLBuffer> table = [device newBufferWithLength:encoder.encodedLength options:0];
    id<MTLBuffer> in = [device newBufferWithLength:64 options:0], out = [device newBufferWithLength:64 options:0];
    in.label = @"weights";
    out.label = @"scores";
    for (int i = 0; i < 16; i++)
        ((float *)in.contents)[i] = i;
    [encoder setArgumentBuffer:table offset:0];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setBuffer:in offset:4 atIndex:1];
    *(float *)[encoder constantDataAtIndex:2] = 10;
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    commands.label = @"frame";
    id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    compute.label = @"blur";
    [compute pushDebugGroup:@"pass 2"];
    [compute setComputePipelineState:pipeline(@"scaled")];
    [compute setBuffer:table offset:0 atIndex:0];
    [compute useResource:in usage:MTLResourceUsageRead];
    [compute useResource:out usage:MTLResourceUsageWrite];
    [compute insertDebugSignpost:@"before it"];
    [compute dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [compute popDebugGroup];
    [compute endEncoding];
    finish(commands);
    printf("arguments: %lu bytes, aligned %lu, %g %g\n", encoder.encodedLength, encoder.alignment, ((float *)out.contents)[0], ((float *)out.contents)[14]);
}

static void indirect(BOOL inherit) {
    MTLIndirectCommandBufferDescriptor *descriptor = [[MTLIndirectCommandBufferDescriptor alloc] init];
    descriptor.commandTypes = MTLIndirectCommandTypeConcurrentDispatch;
    descriptor.inheritPipelineState = descriptor.inheritBuffers = inherit;
    descriptor.maxKernelBufferBindCount = 2;
    id<MTLIndirectCommandBuffer> all = [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:4 options:0];
    id<MTLBuffer> out = [device newBufferWithLength:32 options:0], numbers = [device newBufferWithLength:16 options:0], range = [device newBufferWithLength:8 options:0];
    id<MTLComputePipelineState> add = pipeline(@"add");
    for (int i = 0; i < 4; i++) {
        ((int *)numbers.contents)[i] = 1 << 4 * i;
        id<MTLIndirectComputeCommand> one = [all indirectComputeCommandAtIndex:i];
        if (!inherit) {
            [one setComputePipelineState:add];
            [one setKernelBuffer:out offset:0 atIndex:0];
            [one setKernelBuffer:numbers offset:4 * i atIndex:1];
        }
        if (i != 2)  // this one does nothing
            [one concurrentDispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    }
    for (int turn = 0; turn < 3; turn++) {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        if (inherit) {
            [encoder setComputePipelineState:add];
            [encoder setBuffer:out offset:0 atIndex:0];
            [encoder setBuffer:numbers offset:0 atIndex:1];
        }
        [encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 4)];
        [encoder executeCommandsInBuffer:all indirectBuffer:range indirectBufferOffset:0];
        [encoder endEncoding];
        ((uint32_t *)range.contents)[0] = 1;  // counts when it runs
        ((uint32_t *)range.contents)[1] = 2;
        if (turn == 2) {
            id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
            [blit resetCommandsInBuffer:all withRange:NSMakeRange(0, 3)];
            [blit endEncoding];
            encoder = [commands computeCommandEncoder];
            if (inherit) {
                [encoder setComputePipelineState:add];
                [encoder setBuffer:out offset:0 atIndex:0];
                [encoder setBuffer:numbers offset:12 atIndex:1];
            }
            [encoder executeCommandsInBuffer:all withRange:NSMakeRange(0, 4)];
            [encoder endEncoding];
        }
        finish(commands);
    }
    printf("indirect: %#x %#x of %lu\n", ((int *)out.contents)[0], ((int *)out.contents)[7], all.size);
}

static void reflected(void) {
    MTLComputePipelineReflection *found = nil;
    [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"look"] options:MTLPipelineOptionBindingInfo reflection:&found error:nil];
    for (id<MTLBufferBinding> one in found.bindings) {
        printf("binding: %s %ld %lu, access %lu, %lu bytes, aligned %lu, type %lu, used %d", one.name.UTF8String, (long)one.type, one.index, (unsigned long)one.access, one.bufferDataSize, one.bufferAlignment, (unsigned long)one.bufferDataType, one.used);
        for (MTLStructMember *member in one.bufferStructType.members)
            printf("; %s at %lu, type %lu", member.name.UTF8String, member.offset, (unsigned long)member.dataType);
        printf("\n");
    }
    NSDictionary *constants = [library newFunctionWithName:@"times"].functionConstantsDictionary;
    MTLFunctionConstant *factor = constants[@"factor"];
    printf("constants: %lu, %s %lu %lu\n", constants.count, factor.name.UTF8String, (unsigned long)factor.type, factor.index);
}

static void counted(void) {
    MTLCounterSampleBufferDescriptor *descriptor = [[MTLCounterSampleBufferDescriptor alloc] init];
    descriptor.counterSet = device.counterSets[0];
    descriptor.sampleCount = 3;
    NSError *error = nil;
    id<MTLCounterSampleBuffer> samples = [device newCounterSampleBufferWithDescriptor:descriptor error:&error];
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    pass.sampleBufferAttachments[0].sampleBuffer = samples;
    pass.sampleBufferAttachments[0].startOfEncoderSampleIndex = 0;
    pass.sampleBufferAttachments[0].endOfEncoderSampleIndex = 2;
    id<MTLBuffer> out = [device newBufferWithLength:64 options:0];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDescriptor:pass];
    MTLFunctionConstantValues *values = [[MTLFunctionConstantValues alloc] init];
    int three = 3;
    [values setConstantValue:&three type:MTLDataTypeInt atIndex:3];
    id<MTLFunction> times = [library newFunctionWithName:@"times" constantValues:values error:nil];
    [encoder setComputePipelineState:[device newComputePipelineStateWithFunction:times error:nil]];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder sampleCountersInBuffer:samples atSampleIndex:1 withBarrier:YES];
    [encoder dispatchThreads:MTLSizeMake(16, 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
    [encoder endEncoding];
    id<MTLBuffer> resolved = [device newBufferWithLength:32 options:0];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit resolveCounters:samples inRange:NSMakeRange(0, 3) destinationBuffer:resolved destinationOffset:8];
    [blit endEncoding];
    finish(commands);
    const uint64_t *times3 = [samples resolveCounterRange:NSMakeRange(0, 3)].bytes;
    double took = 1e-9 * (double)(times3[2] - times3[0]);
    printf("counters: %s, resolved %d, in order %d, without compiling %d\n", [device.counterSets[0] name].UTF8String, !memcmp((char *)resolved.contents + 8, times3, 24), times3[0] && times3[0] <= times3[1] && times3[1] <= times3[2], took < 0.5 && commands.GPUEndTime - commands.GPUStartTime < 0.5);
}

static void late(void) {
    id<MTLSharedEvent> event = [device newSharedEvent];
    event.signaledValue = 3;
    for (int value = 3; value < 5; value++) {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        [commands encodeWaitForEvent:event value:value timeoutMS:20];
        finish(commands);
        printf("waited for %d: status %lu, code %ld\n", value, (unsigned long)commands.status, (long)commands.error.code);
    }
}

int main(int argc, char **argv) {
    device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    library = [device newLibraryWithSource:SOURCE options:nil error:&error];
    if (!library)
        printf("%s\n", error.localizedDescription.UTF8String);
    queue = [device newCommandQueue];
    queue.label = @"main";
    arguments(argc > 1 ? 32 : 15);
    if (argc > 1)
        return 0;
    indirect(NO);
    indirect(YES);
    reflected();
    counted();
    late();
    return 0;
}

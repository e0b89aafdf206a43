// Argument encoders from a list and for the struct that a pointer leads to; function constants that are vectors.
#import <Metal/Metal.h>
#import <Foundation/Foundation.h>

static NSString *const source = @"#include <metal_stdlib>\nusing namespace metal;\n"
"constant float3 weight [[function_constant(0)]];\n"
"constant long4 more [[function_constant(1)]];\n"
"constant bool2 on [[function_constant(2)]];\n"
"struct Inner { device float *values; float by; };\n"
"struct Outer { device Inner *inner [[id(0)]]; uint2 at [[id(1)]]; device float *out[2] [[id(2)]]; };\n"
"kernel void scaled(device Outer &all [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
"    all.out[1][i] = (all.inner->values[i + all.at.y] * all.inner->by + weight.x + weight.z) * (on.y ? more.w : 0);\n"
"}\n";

static MTLArgumentDescriptor *member(MTLDataType type, NSUInteger index, NSUInteger length) {
    MTLArgumentDescriptor *made = [MTLArgumentDescriptor argumentDescriptor];
    made.dataType = type;
    made.index = index;
    made.arrayLength = length;
    return made;
}

int main(int argc, char **argv) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
    MTLFunctionConstantValues *values = [[MTLFunctionConstantValues alloc] init];
    float weight[4] = {1, 20, 300, 4000};
    long long more[4] = {0, 0, 0, 1LL << 33};
    bool on[2] = {false, true};
    [values setConstantValue:weight type:MTLDataTypeFloat3 atIndex:0];
    [values setConstantValue:more type:MTLDataTypeLong4 withName:@"more"];
    [values setConstantValue:on type:MTLDataTypeBool2 atIndex:2];
    MTLFunctionConstant *asked = [library newFunctionWithName:@"scaled"].functionConstantsDictionary[@"weight"];
    id<MTLFunction> scaled = [library newFunctionWithName:@"scaled" constantValues:values error:&error];
    if (!scaled)
        return printf("%s\n", error.localizedDescription.UTF8String);

    id<MTLArgumentEncoder> own = [scaled newArgumentEncoderWithBufferIndex:0];
    id<MTLArgumentEncoder> outer = [device newArgumentEncoderWithArguments:@[
        member(MTLDataTypePointer, 2, 2), member(MTLDataTypeUInt2, 1, 0), member(MTLDataTypePointer, 0, 0)
    ]];
    id<MTLArgumentEncoder> inner = [own newArgumentEncoderForBufferAtIndex:0];
    printf("weight is %lu; %lu and %lu bytes; inside %lu\n", (unsigned long)asked.type, outer.encodedLength, own.encodedLength, inner.encodedLength);
    if (argc > 1)
        [outer newArgumentEncoderForBufferAtIndex:0];

    id<MTLBuffer> table = [device newBufferWithLength:outer.encodedLength options:0], below = [device newBufferWithLength:inner.encodedLength options:0];
    id<MTLBuffer> in = [device newBufferWithLength:64 options:0], out = [device newBufferWithLength:64 options:0];
    for (int i = 0; i < 16; i++)
        ((float *)in.contents)[i] = i, ((float *)out.contents)[i] = -1;
    [inner setArgumentBuffer:below offset:0];
    [inner setBuffer:in offset:0 atIndex:0];
    *(float *)[inner constantDataAtIndex:1] = 10;
    [outer setArgumentBuffer:table offset:0];
    [outer setBuffer:below offset:0 atIndex:0];
    ((unsigned *)[outer constantDataAtIndex:1])[1] = 2;
    [outer setBuffer:out offset:0 atIndex:3];

    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    [compute setComputePipelineState:[device newComputePipelineStateWithFunction:scaled error:&error]];
    [compute setBuffer:table offset:0 atIndex:0];
    const id<MTLResource> used[] = {below, in, out};
    [compute useResources:used count:3 usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    [compute dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [compute endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.error)
        printf("error: %s\n", commands.error.localizedDescription.UTF8String);
    for (int i = 0; i < 5; i++)
        printf("%g ", ((float *)out.contents)[i] / (i < 4 ? (double)(1LL << 33) : 1));
    printf("\n");
    return 0;
}

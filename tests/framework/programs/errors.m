// What goes wrong on the device becomes an NSError, and the program goes on.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

static id<MTLDevice> device;

static id<MTLComputePipelineState> made(NSString *source) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:&error];
    if (!library) {
        printf("library: %s %d: %s\n", error.domain.UTF8String, (int)error.code, error.localizedDescription.UTF8String);
        return nil;
    }
    id<MTLFunction> function = [library newFunctionWithName:library.functionNames[0]];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    if (!pipeline)
        printf("pipeline: %s\n", error.localizedDescription.UTF8String);
    return pipeline;
}

int main(void) {
    device = MTLCreateSystemDefaultDevice();
    made(@"kernel void k(device float *out [[buffer(0)]]) { out[0] = nothing; }");
    made(@"constant int n [[function_constant(0)]]; kernel void k(device int *out [[buffer(0)]]) { out[0] = n; }");
    MTLFunctionConstantValues *some = [[MTLFunctionConstantValues alloc] init];
    int seven = 7;
    [some setConstantValue:&seven type:MTLDataTypeInt atIndex:1];
    NSString *two = @"constant int n [[function_constant(0)]]; constant int m [[function_constant(1)]];"
                     " kernel void k(device int *out [[buffer(0)]]) { out[0] = n + m; }";
    id<MTLFunction> partly = [[device newLibraryWithSource:two options:nil error:nil] newFunctionWithName:@"k" constantValues:some error:nil];
    printf("partly: %s\n", [device newComputePipelineStateWithFunction:partly error:nil] ? "made" : "refused");
    NSError *error = nil;
    printf("file: %s\n", [device newLibraryWithFile:@"/no/such.metallib" error:&error] ? "?" : error.localizedDescription.UTF8String);

    id<MTLComputePipelineState> pipeline = made(@"kernel void far(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i + 1000000] = 1; }");
    id<MTLComputePipelineState> fine = made(@"kernel void fine(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = i; }");
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> buffer = [device newBufferWithLength:64 options:MTLResourceStorageModeShared];
    for (int turn = 0; turn < 2; turn++) {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:turn ? fine : pipeline];
        [encoder setBuffer:buffer offset:0 atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(16, 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
        [encoder endEncoding];
        __block int handled = 0;
        dispatch_semaphore_t done = dispatch_semaphore_create(0);
        [commands addCompletedHandler:^(id<MTLCommandBuffer> which) {
            handled = (int)which.status;
            dispatch_semaphore_signal(done);
        }];
        [commands commit];
        [commands waitUntilCompleted];
        dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
        printf("turn %d: status %d, handler saw %d, error %s %d: %s\n", turn, (int)commands.status, handled, commands.error.domain.UTF8String, (int)commands.error.code, commands.error.localizedDescription.UTF8String);
    }
    // The same launch again and again, until what it reads leads it out: the last ones run without Python.
    id<MTLComputePipelineState> led = made(@"kernel void led(device float *out [[buffer(0)]], device const uint *at [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[at[0] + i] = i; }");
    id<MTLBuffer> at = [device newBufferWithLength:4 options:0];
    for (int turn = 0; turn < 6; turn++) {
        *(uint32_t *)at.contents = turn == 5 ? 100 : 0;
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:led];
        [encoder setBuffer:buffer offset:0 atIndex:0];
        [encoder setBuffer:at offset:0 atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(16, 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
        [encoder endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        if (turn >= 4)
            printf("led %d: status %d, %s\n", turn, (int)commands.status, commands.error.localizedDescription.UTF8String);
    }
    printf("out[15] = %g\n", ((float *)buffer.contents)[15]);
    return 0;
}

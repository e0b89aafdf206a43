// Dispatches from four threads, each with a handler: counts handlers, wrong results and memory.
//     soak DISPATCHES
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <pthread.h>

enum { THREADS = 4, EACH = 8 };  // dispatches in a command buffer
static id<MTLDevice> device;
static id<MTLComputePipelineState> pipeline;
static _Atomic long handlers, wrong;
static long buffers_each;

static long resident(void) {
    long pages = 0, all;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static void *work(void *number) {
    @autoreleasepool {
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLBuffer> values = [device newBufferWithLength:256 * sizeof(uint32_t) options:0];
        uint32_t *contents = values.contents, expected = 0;
        dispatch_group_t group = dispatch_group_create();
        for (long i = 0; i < buffers_each; i++) {
            @autoreleasepool {
                id<MTLCommandBuffer> commands = [queue commandBuffer];
                id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
                [encoder setComputePipelineState:pipeline];
                [encoder setBuffer:values offset:0 atIndex:0];
                for (uint32_t k = 0; k < EACH; k++) {
                    uint32_t add = k + (uint32_t)(long)number;
                    expected += add;
                    [encoder setBytes:&add length:sizeof add atIndex:1];
                    [encoder dispatchThreads:MTLSizeMake(256, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
                }
                [encoder endEncoding];
                dispatch_group_enter(group);
                [commands addCompletedHandler:^(id<MTLCommandBuffer> which) {
                    handlers++;
                    wrong += which.status != MTLCommandBufferStatusCompleted;
                    dispatch_group_leave(group);
                }];
                [commands commit];
                if (i % 16 == 0) {
                    [commands waitUntilCompleted];
                    wrong += contents[255] != expected;
                }
            }
        }
        dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
        dispatch_release(group);
        for (int i = 0; i < 256; i++)
            wrong += contents[i] != expected;
        [values release];
        [queue release];
    }
    return 0;
}

static void round_of(long dispatches) {
    pthread_t threads[THREADS];
    buffers_each = dispatches / THREADS / EACH;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
}

int main(int argc, char **argv) {
    long dispatches = argc > 1 ? atol(argv[1]) : 2000;
    device = MTLCreateSystemDefaultDevice();
    NSString *source = @"kernel void add(device uint *values [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]]) { values[i] += n; }";
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:nil];
    pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"add"] error:nil];
    round_of(MIN(dispatches / 10, 4000));
    long before = resident(), first = handlers;
    NSDate *start = [NSDate date];
    round_of(dispatches);
    double seconds = -start.timeIntervalSinceNow;
    long made = THREADS * buffers_each;
    printf("%ld dispatches, %ld command buffers, %ld handlers, %ld wrong, %ld KiB more, %.1f us each\n", made * EACH, made, handlers - first, (long)wrong, resident() - before, seconds * 1e6 / (double)(made * EACH));
    return wrong || handlers - first != made;
}

// Mistakes of a host: each runs in a child of its own, and must end with words. Prints `case: words`.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <sys/wait.h>

static id<MTLDevice> device;
static id<MTLComputePipelineState> pipeline;
static id<MTLBuffer> buffer;

static id<MTLCommandBuffer> commands(void) { return [[device newCommandQueue] commandBuffer]; }
static id<MTLComputeCommandEncoder> encoder(void) { return [commands() computeCommandEncoder]; }

static void unknown_selector(void) { [(id)device performSelector:@selector(notThere)]; }
static void released(void) {
    id<MTLBuffer> gone = [device newBufferWithLength:16 options:0];
    [gone release];
    (void)gone.length;
}
static void over_released(void) {
    id<MTLBuffer> gone = [device newBufferWithLength:16 options:0];
    [gone release];
    [gone release];
}
static void wrong_index(void) { [encoder() setBuffer:buffer offset:0 atIndex:31]; }
static void wrong_offset(void) { [encoder() setBuffer:buffer offset:17 atIndex:0]; }
static void null_pipeline(void) { [encoder() setComputePipelineState:nil]; }
static void no_pipeline(void) { [encoder() dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)]; }
static void long_bytes(void) {
    static char bytes[5000];
    [encoder() setBytes:bytes length:5000 atIndex:0];
}
static void long_buffer(void) { [device newBufferWithLength:1ul << 40 options:0]; }
static void empty_buffer(void) { [device newBufferWithLength:0 options:0]; }
static void two_encoders(void) {
    id<MTLCommandBuffer> both = commands();
    [both computeCommandEncoder];
    [both blitCommandEncoder];
}
static void open_encoder(void) {
    id<MTLCommandBuffer> both = commands();
    [both computeCommandEncoder];
    [both commit];
}
static void commit_twice(void) {
    id<MTLCommandBuffer> twice = commands();
    [twice commit];
    [twice commit];
}
static void never_committed(void) { [commands() waitUntilCompleted]; }
static void late_handler(void) {
    id<MTLCommandBuffer> late = commands();
    [late commit];
    [late addCompletedHandler:^(id<MTLCommandBuffer> which){}];
}
static void never_ended(void) {
    @autoreleasepool {
        encoder();
    }
}
static void large_threadgroup(void) {
    id<MTLComputeCommandEncoder> with = encoder();
    [with setComputePipelineState:pipeline];
    [with dispatchThreads:MTLSizeMake(2048, 1, 1) threadsPerThreadgroup:MTLSizeMake(2048, 1, 1)];
}
static void blit_outside(void) { [[commands() blitCommandEncoder] fillBuffer:buffer range:NSMakeRange(8, 9) value:0]; }
static void array_outside(void) { (void)[@[ @1 ] objectAtIndex:1]; }
static void nil_source(void) { [device newLibraryWithSource:nil options:nil error:nil]; }

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(unknown_selector), CASE(released),     CASE(over_released), CASE(wrong_index),  CASE(wrong_offset),
    CASE(null_pipeline),    CASE(no_pipeline),  CASE(long_bytes),    CASE(long_buffer),  CASE(empty_buffer),
    CASE(two_encoders),     CASE(open_encoder), CASE(commit_twice),  CASE(never_committed), CASE(late_handler),
    CASE(never_ended),      CASE(large_threadgroup), CASE(blit_outside), CASE(array_outside), CASE(nil_source),
};

int main(void) {
    device = MTLCreateSystemDefaultDevice();
    NSString *source = @"kernel void k(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = i; }";
    id<MTLLibrary> library = [device newLibraryWithSource:source options:nil error:nil];
    pipeline = [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"k"] error:nil];
    buffer = [device newBufferWithLength:16 options:0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ends[2];
        if (pipe(ends))
            return 1;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            dup2(ends[1], 2);
            cases[i].run();
            _exit(0);
        }
        close(ends[1]);
        char words[4096] = "";
        ssize_t size = 0, had;
        while ((had = read(ends[0], words + size, sizeof words - 1 - (size_t)size)) > 0)
            size += had;
        close(ends[0]);
        int status;
        waitpid(child, &status, 0);
        for (char *c = words; *c; c++)
            if (*c == '\n')
                *c = ' ';
        printf("%s: %s%s\n", cases[i].name, words, WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? "" : "(it did not stop)");
    }
    return 0;
}

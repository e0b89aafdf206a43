// The framework's Metal objects, as its own files see them.
#pragma once
#include "../foundation/common.h"
#include "bridge.h"
#include <Metal/Metal.h>
#include <pthread.h>

enum { MOST_BUFFERS = 31, MOST_BYTES = 4096 };

// What Metal does with a mistake in the program: it says which, and ends.
#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0))                                                                         \
            mt_failed_assertion(self, _cmd, __VA_ARGS__);                                                              \
    } while (0)
HIDDEN _Noreturn void mt_failed_assertion(id self, SEL method, const char *format, ...) __attribute__((format(printf, 3, 4)));

@interface _MTLObject : NSObject {
  @public
    id<MTLDevice> _device;
    NSString *_label;
}
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@end

@interface _MTLDevice : NSObject <MTLDevice> {
  @public
    uint64_t allocated;
}
@end

@interface _MTLBuffer : _MTLObject <MTLBuffer> {
  @public
    char *bytes;
    NSUInteger length, heapOffset;
    MTLResourceOptions options;
    id<MTLHeap> heap;
    enum { BORROWED, MAPPED, IN_HEAP } memory;
    void (^deallocator)(void *, NSUInteger);
}
@end

@interface _MTLHeap : _MTLObject <MTLHeap> {
  @public
    _MTLBuffer *all;
    MTLHeapDescriptor *descriptor;
    NSUInteger used;
    struct piece *pieces;
    pthread_mutex_t lock;
}
- (void)giveBack:(NSUInteger)offset;
@end

@interface _MTLLibrary : _MTLObject <MTLLibrary> {
  @public
    int64_t handle;
    NSArray *names;
}
@end

@interface _MTLFunction : _MTLObject <MTLFunction> {
  @public
    int64_t handle;
    NSString *name;
}
@end

@interface _MTLComputePipelineState : _MTLObject <MTLComputePipelineState> {
  @public
    int64_t handle;
    struct mt_description description;
    NSString *name;
    BOOL indirect;
    NSUInteger limit;
    MTLComputePipelineReflection *reflection;
    struct plans *plans;  // launches that need no Python, see native.m
}
@end

@interface _MTLEvent : _MTLObject <MTLSharedEvent> {
    pthread_mutex_t _lock;
    pthread_cond_t _changed;
    uint64_t _value;
    NSMutableArray *_waiting;  // value, listener, block
}
- (BOOL)reached:(uint64_t)value within:(int64_t)nanoseconds;  // below 0: for ever
@end

struct command {
    struct command *next;
    enum { DISPATCH, COPY, FILL, SIGNAL, WAIT } kind;
    uint64_t *words;  // of a dispatch: see `record` in compute.m
    _MTLComputePipelineState *pipeline;
    const uint32_t *indirect;  // threadgroups that are read when it runs
    void *to;
    const void *from;
    size_t size;
    uint64_t value;
    _MTLEvent *event;
};

@class _MTLCommandBuffer;
@interface _MTLCommandQueue : _MTLObject <MTLCommandQueue> {
  @public
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _MTLCommandBuffer *first, *last;  // reserved places, linked by `next`
    BOOL running;
    dispatch_queue_t handlers;
}
- (void)reserve:(_MTLCommandBuffer *)buffer;
- (void)wake;
@end

@interface _MTLCommandBuffer : _MTLObject <MTLCommandBuffer> {
  @public
    _MTLCommandQueue *queue;
    _MTLCommandBuffer *next;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MTLCommandBufferStatus state;
    BOOL retains;
    NSError *failure;
    double begun, ended, scheduled;
    NSMutableArray *onScheduled, *onCompleted;
    id encoder;  // that is open; not retained
    struct chunk *chunks;
    struct command *commands, **end;
    id *kept;
    size_t keptCount, keptRoom;
}
- (void *)room:(size_t)size;
- (struct command *)add:(int)kind;
- (void)keep:(id)object;
- (void)execute;
@end

@interface _MTLCommandEncoder : _MTLObject {
  @public
    _MTLCommandBuffer *buffer;
    BOOL ended;
}
- (instancetype)initFor:(_MTLCommandBuffer *)commands;
- (void)endEncoding;
@end

HIDDEN struct plan *mt_plan_of(struct command *command);
HIDDEN int64_t mt_plan_run(struct plan *plan, struct command *command, char *error);
HIDDEN void mt_plan_keep(struct command *command, const struct mt_ready *ready);
HIDDEN void mt_plans_free(struct plans *plans);
HIDDEN NSString *mt_run(_MTLCommandBuffer *buffer, NSInteger *code);  // nil, or what went wrong
HIDDEN double mt_seconds(void);

// The framework's Metal objects, as its own files see them.
#pragma once
#include "../foundation/common.h"
#include "bridge.h"
#include <Metal/Metal.h>
#include <pthread.h>

enum { MOST_BUFFERS = 31, MOST_BYTES = 4096, HEAD = 11 };  // HEAD: words before those of a dispatch's memory

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
    NSMutableArray *groups;  // debug groups that are open
    unsigned changes;  // of label and groups
}
@property(copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
- (void)pushDebugGroup:(NSString *)string;
- (void)popDebugGroup;
- (const char *)kind;  // as traces call it
- (const char *)role;  // as findings call it
- (void)addLabelsTo:(NSMutableString *)text;  // "encoder 'blur', group 'pass 2', "
- (NSString *)words;  // with its label: "buffer 'weights'"
@end

// A step for METALLOID_TRACE.
#define TRACE(...)                                                                                                     \
    do {                                                                                                               \
        if (__builtin_expect(mt_bridge.tracing != 0, 0))                                                               \
            mt_trace(__VA_ARGS__);                                                                                     \
    } while (0)
HIDDEN void mt_trace(const char *kind, const char *subject, const char *format, ...) __attribute__((format(printf, 3, 4)));

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

// What a dispatch takes: it stays from dispatch to dispatch of an encoder.
struct bindings {
    _MTLComputePipelineState *pipeline;
    struct {
        _MTLBuffer *buffer;
        char *base;
        NSUInteger offset, length;
    } bound[MOST_BUFFERS];
    NSUInteger local[MOST_BUFFERS], locals;
    uint64_t *resources;  // address, length, name
    size_t resourceCount;
};

struct command {
    struct command *next;
    enum { DISPATCH, COPY, FILL, SIGNAL, WAIT, SIGNPOST, EXECUTE, RESET, SAMPLE } kind;
    uint64_t *words;  // of a dispatch: see mt_record in bindings.m
    struct bindings *inherited;  // by indirect commands
    const char *during;  // labels around it
    id object;  // indirect command buffer, counter sample buffer
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
    double compiled;  // seconds
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
    uint64_t said;  // changes of labels that `during` has
    const char *during;
    NSArray *samples;  // of counters, when it begins and ends
}
- (instancetype)initFor:(_MTLCommandBuffer *)commands;
- (void)endEncoding;
- (void)setSamples:(MTLComputePassSampleBufferAttachmentDescriptorArray *)attachments;
- (void)sample:(BOOL)end;
- (const char *)labels;  // around what is encoded now; 0 where there are none
@end

HIDDEN void mt_check_threads(id self, SEL method, _MTLComputePipelineState *pipeline, MTLSize threads);
HIDDEN struct command *mt_record(_MTLCommandBuffer *buffer, const struct bindings *bindings, const char *during, MTLSize grid, MTLSize threads);
HIDDEN void mt_expand(_MTLCommandBuffer *buffer, struct command *command);  // indirect commands become dispatches
HIDDEN void mt_reset_commands(struct command *command);
HIDDEN void mt_take_sample(_MTLCommandBuffer *buffer, struct command *command);
HIDDEN struct plan *mt_plan_of(struct command *command);
HIDDEN int64_t mt_plan_run(struct plan *plan, struct command *command, char *error);
HIDDEN void mt_plan_keep(struct command *command, const struct mt_ready *ready);
HIDDEN void mt_plans_free(struct plans *plans);
HIDDEN NSString *mt_run(_MTLCommandBuffer *buffer, NSInteger *code);  // nil, or what went wrong
HIDDEN double mt_seconds(void);

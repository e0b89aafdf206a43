// A queue runs its command buffers one after the other, in the order of their places, on a thread of its own.
// Handlers run on another thread: one that waits for the next command buffer does not hold it up.
#include "objects.h"
#include <errno.h>
#include <time.h>

enum { LINGER = 5 };  // seconds that a thread waits for more

@implementation MTLCommandQueueDescriptor
@synthesize maxCommandBufferCount;
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences, errorOptions;
- (instancetype)init {
    self.retainedReferences = YES;
    return self;
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
@end

@implementation _MTLCommandQueue
- (instancetype)init {
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&changed, 0);
    handlers = dispatch_queue_create("metalloid.handlers", DISPATCH_QUEUE_SERIAL);
    return self;
}
- (void)dealloc {
    pthread_mutex_destroy(&lock);
    pthread_cond_destroy(&changed);
    [handlers release];
    [super dealloc];
}
- (_MTLCommandBuffer *)commandsRetaining:(BOOL)retains {
    _MTLCommandBuffer *made = [[[_MTLCommandBuffer alloc] init] autorelease];
    made->_device = _device;
    made->queue = [self retain];
    made->retains = retains;
    TRACE("command buffer", "command buffer", "of %s", self.words.UTF8String);
    return made;
}
- (id<MTLCommandBuffer>)commandBuffer { return [self commandsRetaining:YES]; }
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences { return [self commandsRetaining:NO]; }
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
    return [self commandsRetaining:descriptor.retainedReferences];
}
- (void)insertDebugCaptureBoundary {}
- (void)addResidencySet:(id<MTLResidencySet>)set {}
- (void)addResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {}
- (void)removeResidencySet:(id<MTLResidencySet>)set {}
- (void)removeResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {}

- (void)reserve:(_MTLCommandBuffer *)buffer {  // keeps it until it has run
    [buffer retain];
    pthread_mutex_lock(&lock);
    if (last)
        last->next = buffer;
    else
        first = buffer;
    last = buffer;
    pthread_mutex_unlock(&lock);
}

static BOOL due(_MTLCommandQueue *queue) { return queue->first && queue->first->state >= MTLCommandBufferStatusCommitted; }

static void *serve(void *of) {
    _MTLCommandQueue *queue = of;
    mt_python_thread_begins();
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        int late = 0;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LINGER;
        while (!due(queue) && !late)
            late = pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
        if (!due(queue))
            break;
        _MTLCommandBuffer *buffer = queue->first;
        pthread_mutex_unlock(&queue->lock);
        void *pool = objc_autoreleasePoolPush();
        [buffer execute];
        pthread_mutex_lock(&queue->lock);
        queue->first = buffer->next;
        if (!queue->first)
            queue->last = nil;
        pthread_mutex_unlock(&queue->lock);
        [buffer release];
        objc_autoreleasePoolPop(pool);
        pthread_mutex_lock(&queue->lock);
    }
    queue->running = NO;
    pthread_mutex_unlock(&queue->lock);
    [queue release];
    mt_python_thread_ends();
    return 0;
}

- (void)wake {
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    if (!running) {
        pthread_t thread;
        running = YES;
        [self retain];
        if (pthread_create(&thread, 0, serve, self))
            mt_die("metalloid: no thread can be started for a command queue");
        pthread_detach(thread);
    }
    pthread_mutex_unlock(&lock);
}
@end

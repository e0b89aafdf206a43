// What threads wait for: groups, semaphores, once; and the times until which they wait.
#include "pool.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
    if (when == DISPATCH_TIME_FOREVER)
        return when;
    return (when == DISPATCH_TIME_NOW ? now() : when) + (uint64_t)delta;
}

dispatch_time_t dispatch_walltime(const void *when, int64_t delta) {
    const struct timespec *at = when;
    return (at ? (uint64_t)at->tv_sec * NSEC_PER_SEC + (uint64_t)at->tv_nsec : now()) + (uint64_t)delta;
}

// Something that has a number, and threads that wait until it is right.
@interface MTCounter : NSObject <OS_dispatch_group, OS_dispatch_semaphore> {
  @public
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long value;
    NSMutableArray *notified;  // of a group: queue, block, queue, block...
}
@end

@implementation MTCounter
- (instancetype)init {
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&changed, 0);
    return self;
}
- (void)dealloc {
    pthread_mutex_destroy(&lock);
    pthread_cond_destroy(&changed);
    [notified release];
    [super dealloc];
}
@end

static int wait_once(MTCounter *counter, dispatch_time_t timeout) {
    if (timeout == DISPATCH_TIME_NOW)
        return ETIMEDOUT;
    if (timeout == DISPATCH_TIME_FOREVER)
        return pthread_cond_wait(&counter->changed, &counter->lock);
    struct timespec until = {(time_t)(timeout / NSEC_PER_SEC), (long)(timeout % NSEC_PER_SEC)};
    return pthread_cond_timedwait(&counter->changed, &counter->lock, &until);
}

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
    MTCounter *made = [[MTCounter alloc] init];
    made->value = value;
    return made;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout) {
    MTCounter *counter = (MTCounter *)semaphore;
    int late = 0;
    void *state = mt_wait_begins();
    pthread_mutex_lock(&counter->lock);
    while (counter->value <= 0 && !late)
        late = wait_once(counter, timeout);
    BOOL got = counter->value > 0;
    counter->value -= got;
    pthread_mutex_unlock(&counter->lock);
    mt_wait_ends(state);
    return got ? 0 : 49;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore) {
    MTCounter *counter = [(MTCounter *)semaphore retain];  // who is woken may release it at once
    pthread_mutex_lock(&counter->lock);
    counter->value++;
    pthread_cond_signal(&counter->changed);
    pthread_mutex_unlock(&counter->lock);
    [counter release];
    return 0;
}

dispatch_group_t dispatch_group_create(void) { return [[MTCounter alloc] init]; }

void dispatch_group_enter(dispatch_group_t group) {
    MTCounter *counter = [(MTCounter *)group retain];
    pthread_mutex_lock(&counter->lock);
    counter->value++;
    pthread_mutex_unlock(&counter->lock);
}

static void announce(NSArray *notified) {
    for (NSUInteger i = 0; i < notified.count; i += 2)
        dispatch_async(notified[i], notified[i + 1]);
    [notified release];
}

void dispatch_group_leave(dispatch_group_t group) {
    MTCounter *counter = (MTCounter *)group;
    NSArray *notified = nil;
    pthread_mutex_lock(&counter->lock);
    if (counter->value <= 0)
        mt_die("BUG IN CLIENT OF LIBDISPATCH: Unbalanced call to dispatch_group_leave()");
    if (!--counter->value) {
        notified = counter->notified;
        counter->notified = nil;
        pthread_cond_broadcast(&counter->changed);
    }
    pthread_mutex_unlock(&counter->lock);
    announce(notified);
    [counter release];
}

intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout) {
    MTCounter *counter = (MTCounter *)group;
    int late = 0;
    void *state = mt_wait_begins();
    pthread_mutex_lock(&counter->lock);
    while (counter->value > 0 && !late)
        late = wait_once(counter, timeout);
    BOOL empty = !counter->value;
    pthread_mutex_unlock(&counter->lock);
    mt_wait_ends(state);
    return empty ? 0 : 49;
}

void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_group_enter(group);
    dispatch_async(queue, ^{
        block();
        dispatch_group_leave(group);
    });
}

void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context, dispatch_function_t work) {
    dispatch_group_async(group, queue, ^{ work(context); });
}

void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
    MTCounter *counter = (MTCounter *)group;
    pthread_mutex_lock(&counter->lock);
    BOOL empty = !counter->value;
    if (!empty) {
        id kept = Block_copy(block);
        if (!counter->notified)
            counter->notified = [[NSMutableArray alloc] init];
        [counter->notified addObject:queue];
        [counter->notified addObject:kept];
        [kept release];
    }
    pthread_mutex_unlock(&counter->lock);
    if (empty)
        dispatch_async(queue, block);
}

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t once_done = PTHREAD_COND_INITIALIZER;

void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t work) {
    if (__atomic_load_n(once, __ATOMIC_ACQUIRE) == -1)
        return;
    pthread_mutex_lock(&once_lock);
    if (!*once) {
        *once = 1;
        pthread_mutex_unlock(&once_lock);
        work(context);
        pthread_mutex_lock(&once_lock);
        __atomic_store_n(once, -1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&once_done);
    }
    while (*once != -1)
        pthread_cond_wait(&once_done, &once_lock);
    pthread_mutex_unlock(&once_lock);
}

static void call(void *block) { ((dispatch_block_t)block)(); }
void dispatch_once(dispatch_once_t *once, dispatch_block_t block) { dispatch_once_f(once, block, call); }

// Data: bytes with somebody who is told when they are not needed any more.
@interface MTDispatchData : NSData <OS_dispatch_data> {
  @public
    dispatch_block_t destructor;
    dispatch_queue_t on;
}
@end

@implementation MTDispatchData
- (void)dealloc {
    if (destructor) {
        dispatch_async(on ? on : (id)dispatch_get_global_queue(0, 0), destructor);
        Block_release(destructor);
    }
    [on release];
    [super dealloc];
}
@end

static void nothing(void) {}
const dispatch_block_t _dispatch_data_destructor_free = ^{ nothing(); };

dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue, dispatch_block_t destructor) {
    if (!destructor)
        return (id)[[MTDispatchData alloc] initWithBytes:bytes length:size];
    BOOL frees = destructor == _dispatch_data_destructor_free;
    MTDispatchData *made = [[MTDispatchData alloc] initWithBytesNoCopy:(void *)bytes length:size freeWhenDone:frees];
    if (!frees) {
        made->destructor = Block_copy(destructor);
        made->on = [queue retain];
    }
    return (id)made;
}

size_t dispatch_data_get_size(dispatch_data_t data) { return [(NSData *)data length]; }

bool dispatch_data_apply(dispatch_data_t data, dispatch_data_applier_t applier) {
    NSData *whole = (NSData *)data;
    return !whole.length || applier(data, 0, whole.bytes, whole.length);
}

dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **bytes, size_t *size) {
    if (bytes)
        *bytes = [(NSData *)data bytes];
    if (size)
        *size = [(NSData *)data length];
    return [data retain];
}

// Queues: serial ones run their work in order, concurrent ones hand it to the pool at once.
#include "pool.h"
#include <pthread.h>
#include <time.h>

enum kind { SERIAL, CONCURRENT, MAIN };

@interface MTQueue : NSObject <OS_dispatch_queue_global, OS_dispatch_queue_main> {
  @public
    enum kind kind;
    char *label;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *first, **last;
    BOOL active;  // somebody drains it
    int running;  // work of a concurrent queue
    int barriers;  // waiting or running
}
@end

static _Thread_local MTQueue *current;

@implementation MTQueue
- (void)dealloc {
    free(label);
    pthread_mutex_destroy(&lock);
    pthread_cond_destroy(&changed);
    [super dealloc];
}
@end

@interface MTQueueKind : NSObject <OS_dispatch_queue_attr>
@end
@implementation MTQueueKind
- (id)retain { return self; }
- (oneway void)release {}
@end
static struct { void *header[2]; Class isa; } concurrent_kind;
dispatch_queue_attr_t const _dispatch_queue_attr_concurrent = (id)&concurrent_kind.isa;

static MTQueue *made(const char *label, enum kind kind) {
    concurrent_kind.isa = [MTQueueKind class];
    MTQueue *queue = [[MTQueue alloc] init];
    queue->kind = kind;
    queue->label = strdup(label ? label : "");
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, 0);
    pthread_cond_init(&queue->changed, 0);
    return queue;
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes) {
    return made(label, attributes == _dispatch_queue_attr_concurrent ? CONCURRENT : SERIAL);
}
dispatch_queue_t dispatch_queue_create_with_target(const char *label, dispatch_queue_attr_t attributes, dispatch_queue_t target) {
    return dispatch_queue_create(label, attributes);
}
dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes, dispatch_qos_class_t qos, int priority) {
    return attributes;
}

static MTQueue *global, *main_queue;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make(void) {
    global = made("com.apple.root.default-qos", CONCURRENT);
    main_queue = made("com.apple.main-thread", MAIN);
}
dispatch_queue_global_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
    pthread_once(&once, make);
    return (id)global;
}
dispatch_queue_main_t dispatch_get_main_queue(void) {
    pthread_once(&once, make);
    return (id)main_queue;
}
const char *dispatch_queue_get_label(dispatch_queue_t queue) { return queue ? ((MTQueue *)queue)->label : ""; }

static struct work *taken(MTQueue *queue) {
    struct work *work = queue->first;
    if (work && !(queue->first = work->next))
        queue->last = &queue->first;
    return work;
}

static void run_on(MTQueue *queue, struct work *work) {
    MTQueue *was = current;
    current = queue;
    mt_work_run(work);
    current = was;
}

static void drain(void *of) {  // a serial queue, until it is empty
    MTQueue *queue = of;
    pthread_mutex_lock(&queue->lock);
    for (struct work *work; (work = taken(queue));) {
        pthread_mutex_unlock(&queue->lock);
        run_on(queue, work);
        pthread_mutex_lock(&queue->lock);
    }
    queue->active = NO;
    pthread_mutex_unlock(&queue->lock);
    [queue release];
}

struct concurrent {
    MTQueue *queue;
    struct work *work;
    BOOL barrier;
};

static void run_concurrent(void *of) {
    struct concurrent *one = of;
    MTQueue *queue = one->queue;
    pthread_mutex_lock(&queue->lock);
    while (one->barrier ? queue->running > 0 : queue->barriers > 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->running++;
    pthread_mutex_unlock(&queue->lock);
    run_on(queue, one->work);
    pthread_mutex_lock(&queue->lock);
    queue->running--;
    queue->barriers -= one->barrier;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    free(one);
    [queue release];
}

static void submit(dispatch_queue_t to, struct work *work, BOOL barrier) {
    MTQueue *queue = [(MTQueue *)to retain];
    if (!queue)
        mt_die("BUG IN CLIENT OF LIBDISPATCH: work was given to a queue that is NULL");
    if (queue->kind == CONCURRENT) {
        struct concurrent *one = malloc(sizeof *one);
        *one = (struct concurrent){queue, work, barrier};
        if (barrier) {
            pthread_mutex_lock(&queue->lock);
            queue->barriers++;
            pthread_mutex_unlock(&queue->lock);
        }
        mt_pool_add(mt_work(run_concurrent, one));
        return;
    }
    pthread_mutex_lock(&queue->lock);
    *queue->last = work;
    queue->last = &work->next;
    BOOL starts = !queue->active && queue->kind == SERIAL;
    queue->active |= starts;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    if (starts)
        mt_pool_add(mt_work(drain, queue));
    else
        [queue release];
}

void dispatch_main(void) {
    MTQueue *queue = (id)dispatch_get_main_queue();
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct work *work = taken(queue);
        if (!work) {
            pthread_cond_wait(&queue->changed, &queue->lock);
            continue;
        }
        pthread_mutex_unlock(&queue->lock);
        run_on(queue, work);
        pthread_mutex_lock(&queue->lock);
    }
}

static void call_block(void *of) {
    dispatch_block_t block = of;
    block();
    Block_release(block);
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) { submit(queue, mt_work(work, context), NO); }
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) { submit(queue, mt_work(call_block, Block_copy(block)), NO); }
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block) { submit(queue, mt_work(call_block, Block_copy(block)), YES); }

struct waited {
    void (*function)(void *);
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t done;
    BOOL over;
};

static void run_waited(void *of) {
    struct waited *one = of;
    one->function(one->context);
    pthread_mutex_lock(&one->lock);
    one->over = YES;
    pthread_cond_signal(&one->done);
    pthread_mutex_unlock(&one->lock);
}

static void wait_for(dispatch_queue_t queue, void (*function)(void *), void *context, BOOL barrier) {
    MTQueue *on = (MTQueue *)queue;
    if (on && on == current && on->kind != CONCURRENT)
        mt_die("BUG IN CLIENT OF LIBDISPATCH: dispatch_sync called on queue already owned by current thread (\"%s\")", on->label);
    struct waited one = {function, context, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NO};
    submit(queue, mt_work(run_waited, &one), barrier);
    void *state = mt_wait_begins();
    pthread_mutex_lock(&one.lock);
    while (!one.over)
        pthread_cond_wait(&one.done, &one.lock);
    pthread_mutex_unlock(&one.lock);
    mt_wait_ends(state);
}

static void just_call(void *block) { ((dispatch_block_t)block)(); }
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) { wait_for(queue, work, context, NO); }
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) { wait_for(queue, just_call, block, NO); }
void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block) { wait_for(queue, just_call, block, YES); }

void dispatch_apply(size_t count, dispatch_queue_t queue, void (^block)(size_t)) {
    if (count == 1) {
        block(0);
        return;
    }
    BOOL serial = queue && ((MTQueue *)queue)->kind == SERIAL;
    dispatch_group_t group = dispatch_group_create();
    for (size_t i = 0; i < count; i++)
        if (serial)
            dispatch_sync(queue, ^{ block(i); });
        else
            dispatch_group_async(group, queue ? queue : (id)dispatch_get_global_queue(0, 0), ^{ block(i); });
    dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
    dispatch_release(group);
}

void dispatch_apply_f(size_t count, dispatch_queue_t queue, void *context, void (*work)(void *, size_t)) {
    dispatch_apply(count, queue, ^(size_t i) { work(context, i); });
}

void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_async((id)dispatch_get_global_queue(0, 0), ^{
        struct timespec until = {(time_t)(when / NSEC_PER_SEC), (long)(when % NSEC_PER_SEC)};
        if (when != DISPATCH_TIME_NOW)
            clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, 0);
        dispatch_async(queue, block);
    });
}

void dispatch_retain(id object) { [object retain]; }
void dispatch_release(id object) { [object release]; }

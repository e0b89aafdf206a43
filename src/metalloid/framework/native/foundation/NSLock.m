// Locks and threads.
#include "common.h"
#include <time.h>

@implementation NSLock
@synthesize name = _name;
- (int)kind { return PTHREAD_MUTEX_ERRORCHECK; }
- (instancetype)init {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, [self kind]);
    pthread_mutex_init(&_mutex, &kind);
    return self;
}
- (void)dealloc {
    pthread_mutex_destroy(&_mutex);
    [_name release];
    [super dealloc];
}
- (void)lock {
    if (!pthread_mutex_trylock(&_mutex))
        return;
    void *state = mt_wait_begins();
    int failed = pthread_mutex_lock(&_mutex);
    mt_wait_ends(state);
    if (failed)
        mt_die("*** -[%s lock]: deadlock (%s)", class_getName(isa), [self description].UTF8String);
}
- (void)unlock {
    if (pthread_mutex_unlock(&_mutex))
        mt_die("*** -[%s unlock]: lock (%s) unlocked when not locked", class_getName(isa), [self description].UTF8String);
}
- (BOOL)tryLock { return !pthread_mutex_trylock(&_mutex); }
@end

@implementation NSRecursiveLock
- (int)kind { return PTHREAD_MUTEX_RECURSIVE; }
@end

@implementation NSCondition
- (instancetype)init {
    pthread_cond_init(&_changed, 0);
    return [super init];
}
- (void)dealloc {
    pthread_cond_destroy(&_changed);
    [super dealloc];
}
- (void)wait { [self waitUntilDate:nil]; }
- (BOOL)waitUntilDate:(NSDate *)date {
    double until = date.timeIntervalSince1970;
    struct timespec when = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    void *state = mt_wait_begins();
    int failed = date ? pthread_cond_timedwait(&_changed, &_mutex, &when) : pthread_cond_wait(&_changed, &_mutex);
    mt_wait_ends(state);
    return !failed;
}
- (void)signal { pthread_cond_signal(&_changed); }
- (void)broadcast { pthread_cond_broadcast(&_changed); }
@end

@implementation NSThread
+ (BOOL)isMainThread { return getpid() == gettid(); }
+ (NSThread *)currentThread {
    static _Thread_local NSThread *mine;
    if (!mine)
        mine = [[self alloc] init];
    return mine;
}
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds {
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    void *state = mt_wait_begins();
    nanosleep(&left, 0);
    mt_wait_ends(state);
}
@end

// Events: a number that goes up, and those who wait for it.
#include "objects.h"
#include <errno.h>
#include <time.h>

@implementation MTLSharedEventHandle
- (NSString *)label { return [event label]; }
- (void)dealloc {
    [event release];
    [super dealloc];
}
@end

@implementation MTLSharedEventListener
+ (MTLSharedEventListener *)sharedListener {
    static MTLSharedEventListener *one;
    static dispatch_once_t once;
    dispatch_once(&once, ^{ one = [[self alloc] init]; });
    return one;
}
- (instancetype)init {
    _queue = dispatch_queue_create("metalloid.events", DISPATCH_QUEUE_SERIAL);
    return self;
}
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue {
    _queue = [queue retain];
    return self;
}
- (dispatch_queue_t)dispatchQueue { return _queue; }
- (void)dealloc {
    [_queue release];
    [super dealloc];
}
@end

@implementation _MTLEvent
- (instancetype)init {
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&_lock, 0);
    pthread_cond_init(&_changed, &clock);
    return self;
}
- (void)dealloc {
    pthread_mutex_destroy(&_lock);
    pthread_cond_destroy(&_changed);
    [_waiting release];
    [super dealloc];
}
- (uint64_t)signaledValue {
    pthread_mutex_lock(&_lock);
    uint64_t value = _value;
    pthread_mutex_unlock(&_lock);
    return value;
}
- (void)setSignaledValue:(uint64_t)value {
    NSMutableArray *due = nil;
    pthread_mutex_lock(&_lock);
    _value = value;
    pthread_cond_broadcast(&_changed);
    for (NSUInteger i = 0; i < _waiting.count;) {
        NSArray *one = _waiting[i];
        if ([one[0] unsignedLongLongValue] <= value) {
            due = due ? due : [NSMutableArray array];
            [due addObject:one];
            [_waiting removeObjectAtIndex:i];
        } else
            i++;
    }
    pthread_mutex_unlock(&_lock);
    for (NSArray *one in due)
        [self tell:one];
}
- (void)tell:(NSArray *)one {
    uint64_t value = [one[0] unsignedLongLongValue];
    MTLSharedEventNotificationBlock block = one[2];
    dispatch_async([one[1] dispatchQueue], ^{ block(self, value); });
}
- (void)notifyListener:(MTLSharedEventListener *)listener atValue:(uint64_t)value block:(MTLSharedEventNotificationBlock)block {
    REQUIRE(listener, "listener must not be nil.");
    REQUIRE(block, "block must not be nil.");
    id kept = Block_copy(block);
    NSArray *one = @[ @(value), listener, kept ];
    [kept release];
    pthread_mutex_lock(&_lock);
    BOOL now = _value >= value;
    if (!now) {
        if (!_waiting)
            _waiting = [[NSMutableArray alloc] init];
        [_waiting addObject:one];
    }
    pthread_mutex_unlock(&_lock);
    if (now)
        [self tell:one];
}
- (MTLSharedEventHandle *)newSharedEventHandle {
    MTLSharedEventHandle *made = [[MTLSharedEventHandle alloc] init];
    made->event = [self retain];
    return made;
}
- (BOOL)reached:(uint64_t)value within:(int64_t)nanoseconds {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec += nanoseconds % 1000000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int late = 0;
    pthread_mutex_lock(&_lock);
    while (_value < value && late != ETIMEDOUT)
        late = nanoseconds < 0 ? pthread_cond_wait(&_changed, &_lock) : pthread_cond_timedwait(&_changed, &_lock, &until);
    BOOL there = _value >= value;
    pthread_mutex_unlock(&_lock);
    return there;
}
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds {
    void *state = mt_wait_begins();
    BOOL there = [self reached:value within:milliseconds > INT64_MAX / 1000000 ? -1 : (int64_t)milliseconds * 1000000];
    mt_wait_ends(state);
    return there;
}
@end

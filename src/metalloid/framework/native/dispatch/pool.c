// The pool of threads behind all queues.
#include "pool.h"
#include <errno.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64, LINGER = 5 };  // threads; seconds

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct work *first, **last = &first;
static int threads, idle;

struct work *mt_work(void (*function)(void *), void *context) {
    struct work *made = malloc(sizeof *made);
    *made = (struct work){0, function, context};
    return made;
}

void mt_work_run(struct work *work) {
    void *pool = objc_autoreleasePoolPush();
    work->function(work->context);
    objc_autoreleasePoolPop(pool);
    free(work);
}

static void *serve(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct work *work = first;
        if (work) {
            first = work->next;
            if (!first)
                last = &first;
            pthread_mutex_unlock(&lock);
            mt_work_run(work);
            pthread_mutex_lock(&lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LINGER;
        idle++;
        int late = pthread_cond_timedwait(&more, &lock, &until);
        idle--;
        if (late == ETIMEDOUT && !first)
            break;
    }
    threads--;
    pthread_mutex_unlock(&lock);
    return 0;
}

void mt_pool_add(struct work *work) {
    pthread_mutex_lock(&lock);
    work->next = 0;
    *last = work;
    last = &work->next;
    int waiting = 0;
    for (struct work *w = first; w && waiting <= idle; w = w->next)
        waiting++;
    if (waiting > idle && threads < MOST) {
        pthread_t thread;
        threads++;
        if (pthread_create(&thread, 0, serve, 0))
            threads--;
        else
            pthread_detach(thread);
    }
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

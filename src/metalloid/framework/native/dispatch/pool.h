// Threads that run work: as many as there is work for, at most 64; each waits a while for more before it ends.
#pragma once
#ifdef __OBJC__
#include "../foundation/common.h"
#else
#define HIDDEN __attribute__((visibility("hidden")))
#endif

struct work {
    struct work *next;
    void (*function)(void *);
    void *context;
};

HIDDEN void mt_pool_add(struct work *work);
HIDDEN struct work *mt_work(void (*function)(void *), void *context);
HIDDEN void mt_work_run(struct work *work);  // and free it

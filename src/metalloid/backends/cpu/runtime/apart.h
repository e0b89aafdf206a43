// Workers keep off the processor that the caller runs on.
//
// A thread that is woken is often put beside its waker, though another processor is free or does something less useful: on
// a virtual machine the kernel takes an idle processor for one that was taken away, and next to a library whose threads
// spin for work none looks idle. Then two threads share one processor for milliseconds. Where the caller is allowed to
// run, less where it does run, is where its workers may run; that is said again only when the caller has moved.
#pragma once
#include "launch.h"

#if defined(__linux__)

extern "C" {
int sched_getcpu();
int sched_getaffinity(int, unsigned long, void *);
int pthread_setaffinity_np(u64, unsigned long, const void *);
}

struct Processors {
    u64 words[16];

    u32 count() const {
        u32 n = 0;
        for (u64 w : words) n += u32(__builtin_popcountll(w));
        return n;
    }
};

// `before`: where the caller ran when the workers were last told; where it runs now.
inline i32 keep_apart(const u64 *threads, u32 count, i32 before) {
    i32 here = sched_getcpu();
    if (here == before || here < 0 || here >= 1024) return before;
    Processors allowed = {};
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return before;
    allowed.words[here / 64] &= ~(u64(1) << (here % 64));
    if (!allowed.count()) return before;
    for (u32 n = 0; n < count; n++) pthread_setaffinity_np(threads[n], sizeof allowed, &allowed);
    return here;
}

#else

inline i32 keep_apart(const u64 *, u32, i32 before) { return before; }

#endif

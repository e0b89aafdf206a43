// The native half of the CPU device: a pool of threads that run threadgroups.
//
// Compiled to an object by the same clang as the kernels, without any system header: what the C library has to give
// is declared here. The caller of `mt_run` works as well, so a small launch wakes nobody.
#include "again.h"
#include "apart.h"
#include "copies.h"
#include "halves.h"
#include "launch.h"

extern "C" {
int pthread_create(u64 *, const void *, void *(*)(void *), void *);
int pthread_detach(u64);
int pthread_mutex_init(void *, const void *);
int pthread_mutex_lock(void *);
int pthread_mutex_trylock(void *);
int pthread_mutex_unlock(void *);
int pthread_cond_init(void *, const void *);
int pthread_cond_wait(void *, void *);
int pthread_cond_timedwait(void *, void *, const void *);
int pthread_cond_broadcast(void *);
int posix_memalign(void **, unsigned long, unsigned long);
void free(void *);
void *realloc(void *, unsigned long);
int getpid();
int clock_gettime(int, void *);
int sched_yield();
u64 pthread_self();
int sigaction(int, const void *, void *);
}

namespace {

struct alignas(64) Opaque {
    char bytes[192];  // room for any system's mutex, condition or sigaction
};

struct Time {
    i64 seconds, nanoseconds;
};

struct Worker {
    char *local = nullptr, *scratch = nullptr;
    u64 local_room = 0, scratch_room = 0;
    u32 size[3] = {0, 0, 0};
    u32 *tables = nullptr;
};

constexpr u32 MOST = 256;
constexpr u32 TABLE = 2048;
constexpr u32 STRIP = 8, ACROSS = 4;
constexpr u32 TOGETHER = 16, THREADS = 4096;  // of one call: so many threadgroups, and more where they are small
constexpr u64 MOST_LOGS = 1 << 20;
#if defined(__APPLE__)
constexpr int MONOTONIC = 6;  // a clock that nobody sets
#else
constexpr int MONOTONIC = 1;
#endif
constexpr i64 LINGER = 100000;  // nanoseconds
constexpr i64 SHORT = 100000;  // nanoseconds: of what takes longer, others are always worth waking
constexpr u64 AGAIN = 256, TRIED = 4;  // of so many runs, so many are shared and so many are not, to know both ways

Opaque guard, wake, done, turn, log_guard, timer_guard, timer_wake;
Worker workers[MOST];
constexpr u32 SPARES = 16;
Worker spares[SPARES];      // for launches that need one thread: they wait for nobody's turn
i32 spare_taken[SPARES];
u32 started = 0;        // threads beside the caller
u64 threads_of[MOST];   // what the system calls them
i32 apart_from = -1;    // the processor they keep off
int owner = 0;          // the process that started them
Launch *current = nullptr;
u32 following = 0;      // launches that come right after it in memory, to be run in order
u64 serial = 0;         // of the current launch
u64 called = 0;         // the same, once nobody holds the guard for it
bool asleep = false;    // whether somebody waits for `done`
u32 wanted = 0, busy = 0;
Launch *timed = nullptr;
Time deadline;
bool timer_started = false;
Launch *interruptible = nullptr;
u32 interruptible_count = 1;
void (*old_handler)(int) = nullptr;

template <class T> void grow(T *&memory, u64 &room, u64 size) {
    if (size <= room) return;
    free(memory);
    void *made = nullptr;
    u64 rounded = (size + 65535) & ~u64(65535);
    room = posix_memalign(&made, 4096, rounded) == 0 ? rounded : 0;
    memory = static_cast<T *>(made);
}

void fill_tables(Worker &w, u32 x, u32 y, u32 z) {
    u64 room = w.tables ? 3 * TABLE * sizeof(u32) : 0;
    grow(w.tables, room, 3 * TABLE * sizeof(u32));
    if (w.size[0] == x && w.size[1] == y && w.size[2] == z) return;
    for (u32 n = 0; n < TABLE; n++) {
        w.tables[n] = n % x;
        w.tables[TABLE + n] = n / x % y;
        w.tables[2 * TABLE + n] = n / (x * y);
    }
    w.size[0] = x, w.size[1] = y, w.size[2] = z;
}

u32 least(u64 a, u64 b) { return u32(a < b ? a : b); }

int variant_of(const Launch &l, const u32 *g, u32 *s) {
    if (l.overlaps) {
        for (int a = 0; a < 3; a++) s[a] = l.threadgroup[a];
        return 0;
    }
    int outer = l.threadgroup[2] > 1 ? 2 : l.threadgroup[1] > 1 ? 1 : 0;
    bool whole = true, inner = true;
    for (int a = 0; a < 3; a++) {
        s[a] = least(l.threadgroup[a], u64(l.grid[a]) - u64(g[a]) * l.threadgroup[a]);
        whole = whole && s[a] == l.threadgroup[a];
        inner = inner && (a == outer || s[a] == l.threadgroup[a]);
    }
    return whole ? 0 : inner ? 1 : 2;
}

// A threadgroup by its number, and how many more come behind it in its row. In planes of several rows threadgroups go
// down strips of eight rows, `ACROSS` of each row and then of the next: what neighbours read stays in the cache, of one
// matrix in the second cache, of the other in the first, and one call runs several. A product of 1024 x 1024 matrices
// in 16 x 16 tiles reads one of them 8 times less often than row by row.
struct Place {
    u32 g[3];
    u32 left, first;    // of the strip's part that it is in: the first column and the first row
    u32 right, bottom;  // one past its last

    // Of a row; where a row is one threadgroup, of those below it.
    u32 behind(const Launch &l) const { return l.groups[0] == 1 ? l.groups[1] - 1 - g[1] : right - 1 - g[0]; }

    void part(const Launch &l) {
        right = left + least(ACROSS, l.groups[0] - left), bottom = first + least(STRIP, l.groups[1] - first);
    }

    void find(const Launch &l, u64 number) {
        u32 across = l.groups[0], down = l.groups[1];
        left = first = 0, right = across, bottom = 1;
        if (down == 1 && l.groups[2] == 1) {
            g[0] = u32(number), g[1] = 0, g[2] = 0;
            return;
        }
        u64 plane = u64(across) * down, inside = number % plane;
        g[2] = u32(number / plane);
        if (across == 1) {
            g[0] = 0, g[1] = u32(inside);
            return;
        }
        u64 strip = inside / (u64(across) * STRIP);
        first = u32(strip) * STRIP;
        u64 rest = inside - strip * across * STRIP;
        u32 height = least(STRIP, down - first);
        left = u32(rest / (height * ACROSS)) * ACROSS;
        part(l);
        rest -= u64(left) * height;
        g[0] = left + u32(rest % (right - left)), g[1] = first + u32(rest / (right - left));
    }

    // The next of those behind `count` from here, without a division: rows may be short.
    void go(const Launch &l, u32 count) {
        if (l.groups[0] == 1) {
            g[1] += count;
            if (g[1] == l.groups[1]) g[1] = 0, g[2]++;
            return;
        }
        g[0] += count;
        if (g[0] < right) return;
        g[0] = left, g[1]++;
        if (g[1] < bottom) return;
        left = right;
        if (left == l.groups[0]) left = 0, first = bottom;
        if (first == l.groups[1]) first = 0, g[2]++;
        part(l);
        g[0] = left, g[1] = first;
    }
};

// How many threadgroups one call may run, from `g` on: of one size in a row (below each other, where that is a row),
// and not so many that a launch could not be stopped soon.
u32 together(const Launch &l, const u32 *g, u64 most) {
    if (most == 1 || l.backwards || l.order) return 1;
    int along = l.groups[0] == 1;
    u32 whole = l.grid[along] / l.threadgroup[along];
    if (g[along] + 1 >= whole) return 1;
    u32 threads = l.threadgroup[0] * l.threadgroup[1] * l.threadgroup[2];
    u32 many = l.together ? l.together : threads * TOGETHER >= THREADS ? TOGETHER : THREADS / threads;
    return least(least(whole - g[along], most), many);
}

void run_groups(Launch &l, Worker &w, u64 first, u64 last) {
    Place at;
    bool in_turn = !l.order && !l.backwards;
    if (in_turn) at.find(l, first);
    for (u64 n = first; n < last && !l.cancel;) {
        u32 s[3];
        if (!in_turn) at.find(l, l.order ? l.order[n] : l.total - 1 - n);
        u32 count = together(l, at.g, least(last - n, 1 + at.behind(l)));
        int variant = variant_of(l, at.g, s);
        if (l.tables[variant]) fill_tables(w, s[0], s[1], s[2]);
        l.kernels[variant](&l, w.tables, w.local, w.scratch, at.g[0], at.g[1], at.g[2], s[0], s[1], s[2], count);
        n += count;
        if (in_turn) at.go(l, count);
    }
}

void begin(Launch &l) {
    for (u64 &chunks : l.taken) chunks = 0;
    l.finished = 0;
    choose_copies(l);
}

// Each thread begins in a part of its own, and helps with the others' when that is done: the next launch over the same
// memory finds it in the caches of the same processors. A kernel that may wait for threadgroups before its own has one
// part, and they are begun in order.
void work(Launch &l, Worker &w, u32 who) {
    u64 scratch = 0;
    for (u64 s : l.scratch) scratch = s > scratch ? s : scratch;
    grow(w.local, w.local_room, l.local_total + 256 + copied(l));
    grow(w.scratch, w.scratch_room, scratch + 256);
    if (!w.local_room || !w.scratch_room) {
        l.cancel = 4;
        return;
    }
    u64 chunks = (l.total + l.chunk - 1) / l.chunk;
    u32 parts = l.parts && !l.order ? l.parts : 1;
    u64 run = 0;
    for (u32 n = 0; n < parts; n++) {
        u32 part = (who + n) % parts;
        u64 start = chunks * part / parts, end = chunks * (part + 1) / parts;
        while (!l.cancel) {
            u64 at = start + __atomic_fetch_add(&l.taken[part], 1, __ATOMIC_RELAXED);
            if (at >= end) break;
            u64 first = at * l.chunk, last = first + l.chunk < l.total ? first + l.chunk : l.total;
            if (!run && l.copy_count) begin_copies(l, w.local);
            run_groups(l, w, first, last);
            run += last - first;
            if (!l.copy_count) __atomic_fetch_add(&l.finished, last - first, __ATOMIC_RELEASE);
        }
    }
    if (!run || !l.copy_count) return;
    end_copies(l, w.local);
    __atomic_fetch_add(&l.finished, run, __ATOMIC_RELEASE);
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __builtin_arm_isb(15);  // waits a little; `yield` does nothing on most processors
#endif
}

void yield() { sched_yield(); }

i64 now() {
    Time t = {};
    clock_gettime(MONOTONIC, &t);
    return t.seconds * 1000000000 + t.nanoseconds;
}

// Wait awake for a moment: to be woken takes longer, and what is waited for often comes sooner. By the clock, since a
// pause takes 8 nanoseconds on one processor and 60 on another.
template <class Test> void linger(Test come) {
    i64 end = now() + LINGER;
    do
        for (u32 round = 0; round < 16; round++) {
            if (come()) return;
            pause();
        }
    while (now() < end);
}

// Locked for moments only: who finds it so waits awake, since to sleep and to be woken takes longer than all of it.
void lock_soon(Opaque &mutex) {
    for (u32 round = 0; round < 100; round++) {
        if (!pthread_mutex_trylock(&mutex)) return;
        pause();
    }
    pthread_mutex_lock(&mutex);
}

// Launches one after the other. Whoever is there takes threadgroups of the one that is due, and goes on when all of it is
// done; nobody waits for a thread that has not taken any. Waiting is short, so it is done awake.
void work_through(Launch *launches, u32 count, Worker &w, u32 who) {
    for (u32 n = 0; n < count; n++) {
        Launch &l = launches[n];
        work(l, w, who);
        for (u32 round = 0; !l.cancel && __atomic_load_n(&l.finished, __ATOMIC_ACQUIRE) < l.total; round++)
            round < 2000 ? pause() : yield();
        if (l.cancel) return;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // stores past the caches are in order with nothing else
}

void *serve(void *argument) {
    Worker &w = workers[u64(argument)];
    u64 seen = 0;
    auto linger_for_more = [&] { linger([&] { return __atomic_load_n(&called, __ATOMIC_RELAXED) > seen; }); };
    lock_soon(guard);
    for (;;) {
        while (!current || serial == seen || u64(argument) >= wanted) {
            if (current || serial == seen) {
                pthread_cond_wait(&wake, &guard);
                continue;
            }
            seen = serial;  // too late: others were quicker
            pthread_mutex_unlock(&guard);
            linger_for_more();
            lock_soon(guard);
        }
        seen = serial;
        Launch *l = current;
        u32 count = 1 + following;
        __atomic_fetch_add(&busy, 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&guard);
        if (count > 1) work_through(l, count, w, u32(u64(argument)));
        else work(*l, w, u32(u64(argument)));
        if (__atomic_sub_fetch(&busy, 1, __ATOMIC_SEQ_CST) == 0 && __atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&guard);
            pthread_cond_broadcast(&done);
            pthread_mutex_unlock(&guard);
        }
        linger_for_more();
        lock_soon(guard);
    }
}

void *keep_time(void *) {
    pthread_mutex_lock(&timer_guard);
    for (;;) {
        if (!timed) {
            pthread_cond_wait(&timer_wake, &timer_guard);
            continue;
        }
        Time now;
        clock_gettime(0, &now);
        bool late = now.seconds > deadline.seconds ||
                    (now.seconds == deadline.seconds && now.nanoseconds >= deadline.nanoseconds);
        if (late) {
            timed->cancel = 2;
            timed = nullptr;
        } else {
            pthread_cond_timedwait(&timer_wake, &timer_guard, &deadline);
        }
    }
}

void prepare(u32 threads) {
    if (owner != getpid()) {  // first use, or the child of a fork: threads do not survive one
        owner = getpid();
        started = 0, apart_from = -1, busy = 0, current = nullptr, timed = nullptr, timer_started = asleep = false;
        for (i32 &taken : spare_taken) taken = 0;
        Opaque *mutexes[] = {&guard, &turn, &log_guard, &timer_guard}, *conditions[] = {&wake, &done, &timer_wake};
        for (Opaque *m : mutexes) pthread_mutex_init(m, nullptr);
        for (Opaque *c : conditions) pthread_cond_init(c, nullptr);
    }
    while (started + 1 < threads && started + 1 < MOST) {
        u64 id;
        if (pthread_create(&id, nullptr, serve, reinterpret_cast<void *>(u64(started + 1)))) break;
        pthread_detach(id);
        threads_of[started++] = id;
        apart_from = -1;
    }
}

void call_workers(Launch *first, u32 more, u32 threads) {
    apart_from = keep_apart(threads_of, started, apart_from);
    lock_soon(guard);
    current = first, following = more, wanted = threads;
    u64 now = ++serial;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&guard);
    __atomic_store_n(&called, now, __ATOMIC_RELAXED);
}

// Nobody comes any more; wait for those who did.
void all_done() {
    auto none = [] { return __atomic_load_n(&busy, __ATOMIC_SEQ_CST) == 0; };
    lock_soon(guard);
    current = nullptr;
    pthread_mutex_unlock(&guard);
    linger(none);
    if (none()) return;
    pthread_mutex_lock(&guard);
    __atomic_store_n(&asleep, true, __ATOMIC_SEQ_CST);
    while (!none()) pthread_cond_wait(&done, &guard);
    __atomic_store_n(&asleep, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&guard);
}

// Alone or with others the next time: the way that took less of late. What it takes to wake others depends on the
// machine, and on whether they sleep: the first of several runs may wake them, and the next find them awake.
void choose_threads(Launch &l, bool shared, i64 now) {
    i64 &took = l.took[shared];
    i64 more = now - took < took ? now - took : took;  // of a run that something else held up
    took = !took || now < took ? now : took + more / 8;
    u64 next = ++l.runs % AGAIN;
    if (next < TRIED || l.took[1] >= SHORT) l.alone = 0;
    else l.alone = next < 2 * TRIED || l.took[0] <= l.took[1];
}

Worker *borrow() {
    for (u32 n = 0; n < SPARES; n++) {
        i32 no = 0;
        if (__atomic_compare_exchange_n(&spare_taken[n], &no, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &spares[n];
    }
    return nullptr;
}

void set_timer(Launch *l, i64 nanoseconds) {
    if (!timer_started) {
        u64 id;
        if (pthread_create(&id, nullptr, keep_time, nullptr)) return;
        pthread_detach(id);
        timer_started = true;
    }
    pthread_mutex_lock(&timer_guard);
    clock_gettime(0, &deadline);
    deadline.seconds += nanoseconds / 1000000000;
    deadline.nanoseconds += nanoseconds % 1000000000;
    if (deadline.nanoseconds >= 1000000000) deadline.seconds++, deadline.nanoseconds -= 1000000000;
    timed = l;
    pthread_cond_broadcast(&timer_wake);
    pthread_mutex_unlock(&timer_guard);
}

void clear_timer() {
    pthread_mutex_lock(&timer_guard);
    timed = nullptr;
    pthread_mutex_unlock(&timer_guard);
}

void on_interrupt(int signal) {
    if (Launch *l = interruptible)
        for (u32 n = 0; n < interruptible_count; n++) l[n].cancel = 3;
    if (reinterpret_cast<u64>(old_handler) > 1) old_handler(signal);
}

}  // namespace

extern "C" {

// Called once when the runtime is loaded, before several threads may launch at the same time.
void mt_start() { prepare(1); }

// Runs a launch to its end. 0: done; else what `cancel` says. After a 0 the same record can run again.
i32 mt_run(Launch *l, u32 threads, i64 timeout, u32 catch_interrupt) {
    if (owner != getpid()) prepare(1);
    begin(*l);
    u64 chunks = (l->total + l->chunk - 1) / l->chunk;
    bool may_share = threads > 1 && chunks > 1, shared = may_share && !l->alone;
    Worker *spare = !shared && timeout <= 0 ? borrow() : nullptr;
    if (!spare) {
        pthread_mutex_lock(&turn);
        prepare(threads);
    }
    Opaque before, during;
    if (catch_interrupt) {
        sigaction(2, nullptr, &before);
        during = before;
        old_handler = *reinterpret_cast<void (**)(int)>(&before);  // the handler comes first in the struct
        *reinterpret_cast<void (**)(int)>(&during) = on_interrupt;
        interruptible_count = 1;
        interruptible = l;
        sigaction(2, &during, nullptr);
    }
    if (timeout > 0) set_timer(l, timeout);
    i64 begun = may_share ? now() : 0;
    if (shared) call_workers(l, 0, threads);
    work(*l, spare ? *spare : workers[0], 0);
    if (shared) all_done();
    // One part: threadgroups may wait for each other, and one thread alone would wait for those it has not begun.
    if (may_share && l->parts > 1) choose_threads(*l, shared, now() - begun);
    if (timeout > 0) clear_timer();
    if (catch_interrupt) {
        sigaction(2, &before, nullptr);
        interruptible = nullptr;
    }
    if (spare) __atomic_store_n(&spare_taken[spare - spares], 0, __ATOMIC_RELEASE);
    else pthread_mutex_unlock(&turn);
    return l->cancel ? l->cancel : l->note.state ? NOTED : 0;
}

// A launch and the threads it may have: one argument, since each one costs Python a quarter of a microsecond.
struct Start {
    Launch *launch;
    u64 threads;
};

i32 mt_go(const Start *s) { return mt_run(s->launch, u32(s->threads), 0, 0); }

// The same in the main thread, which takes interrupts.
i32 mt_go_main(const Start *s) { return mt_run(s->launch, u32(s->threads), 0, 1); }

void mt_python(const Python *p) { python = p; }

// Runs the first of some launches whose arguments these still are. 0, or its number and what `mt_run` says of it in the
// last 8 bits: nobody starts it then before whoever asked has made its record new; -1: there is none. Python calls this
// as it calls its own functions: through ctypes it takes half a microsecond longer.
const void *mt_again(const void *first, const void *arguments) {
    Again *a = found(first, arguments);
    if (!a) return python->from_integer(-1);
    a->running = 1, a->runs++;
    each_array(*a, python->hold);
    void *state = python->unlock();
    i32 status = mt_run(a->launch, u32(a->threads), 0, pthread_self() == python->main);
    python->lock(state);
    each_array(*a, python->drop);
    if (!status) a->running = 0;
    return python->from_integer(status ? i64(a->number << 8 | u64(status)) : 0);
}

// Whether there is one: what has to be kept until it runs, or None.
const void *mt_is_again(const void *first, const void *arguments) {
    const Again *a = found(first, arguments);
    if (a && !a->at_once) return kept(*a, arguments);
    python->hold(python->none);
    return python->none;
}

// Runs launches that lie side by side, each when the one before it is done. The number of the first that has something to
// tell (it stopped, or went on after an access outside), else -1.
i64 mt_run_all(Launch *launches, u32 count, u32 threads, u32 catch_interrupt) {
    if (owner != getpid()) prepare(1);
    pthread_mutex_lock(&turn);
    prepare(threads);
    for (u32 n = 0; n < count; n++) begin(launches[n]);
    Opaque before, during;
    if (catch_interrupt) {
        sigaction(2, nullptr, &before);
        during = before;
        old_handler = *reinterpret_cast<void (**)(int)>(&before);
        *reinterpret_cast<void (**)(int)>(&during) = on_interrupt;
        interruptible_count = count;
        interruptible = launches;
        sigaction(2, &during, nullptr);
    }
    if (threads > 1) call_workers(launches, count - 1, threads);
    work_through(launches, count, workers[0], 0);
    if (threads > 1) all_done();
    if (catch_interrupt) {
        sigaction(2, &before, nullptr);
        interruptible = nullptr;
    }
    pthread_mutex_unlock(&turn);
    for (u32 n = 0; n < count; n++)
        if (launches[n].cancel || launches[n].note.state) return n;
    return -1;
}

// The first of its kind is kept.
static void keep(Fault &f, Launch *l, u32 site, i64 offset, u32 index, u32 x, u32 y, u32 z) {
    i32 none = 0;
    if (__atomic_load_n(&f.state, __ATOMIC_RELAXED)) return;
    if (__atomic_compare_exchange_n(&f.state, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        u32 g[3] = {x, y, z}, s[3];
        f.site = site, f.offset = offset, f.index = index;
        f.x = x, f.y = y, f.z = z;
        f.variant = variant_of(*l, g, s);
        __atomic_store_n(&f.state, 2, __ATOMIC_RELEASE);
    }
}

// Called by kernels: the launch stops.
void mt_fault(Launch *l, u32 site, i64 offset, u32 index, u32 x, u32 y, u32 z) {
    keep(l->fault, l, site, offset, index, x, y, z);
    if (!l->cancel) l->cancel = 1;
}

// Called by kernels whose guard is robust: the launch goes on.
void mt_note(Launch *l, u32 site, i64 offset, u32 index, u32 x, u32 y, u32 z) {
    keep(l->note, l, site, offset, index, x, y, z);
}

// Called by kernels, about an address whose buffer is not known: 1 where no range has all of it.
i32 mt_outside(Launch *l, u64 address, u64 size, u32 write) {
    u64 low = 0, high = l->range_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (l->ranges[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return 1;
    const Range &r = l->ranges[low - 1];
    u64 at = address - r.start;
    return !(at < r.length && size <= r.length - at);
}

void mt_log(Launch *l, u32 what, u64 value, u32 index, u32 x, u32 y, u32 z) {
    pthread_mutex_lock(&log_guard);
    if (l->log_count == l->log_room && l->log_room < MOST_LOGS) {
        u64 room = l->log_room ? 2 * l->log_room : 1024;
        if (void *more = realloc(l->logs, room * sizeof(LogRecord))) {
            l->logs = static_cast<LogRecord *>(more);
            l->log_room = room;
        }
    }
    if (l->log_count < l->log_room) l->logs[l->log_count++] = LogRecord{what, index, x, y, z, 0, value};
    pthread_mutex_unlock(&log_guard);
}

void mt_free(void *memory) { free(memory); }

// Memory for an instance that waits at barriers inside its function (backends/cpu/lower/coroutine.py).
void *mt_frame(u64 size, u64 align) {
    void *made = nullptr;
    posix_memalign(&made, align < 64 ? 64 : align, size);
    return made;
}

void mt_release(void *frame) { free(frame); }

u64 mt_sizeof_launch() { return sizeof(Launch); }
}

// A GPU of one multiprocessor, imitated: every thread of a block is a context of its own, and those of a warp wait for
// each other where the instructions of the real one do. One block runs at a time. Lanes that parted run apart.
// A mask that says something else than who comes, or a block that waits for ever, ends the launch with an error.

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef void Kernel(void*);
constexpr u32 WARP = 32, MOST = 1024, STACK = 512 << 10, POISON = 0xdeadbeef;
enum { FINE, DEADLOCK, NOT_IN_MASK, UNLIKE, MISALIGNED_LINE };

enum Wait { RUNS, EXCHANGE, BARRIER, ASKS, GONE };
struct Thread {
    ucontext_t context;
    u32 at[3];
    Wait wait;
    u32 mask, kind, value, answer;
    void* site;
    u32 got[WARP];
};

extern "C" {
alignas(128) unsigned char mt_dynamic[256 << 10];
}
static Thread threads[MOST];
static unsigned char* stacks;
static ucontext_t home;
static u32 many, current, group_at[3], group_size[3], groups[3], problem;
static Kernel* kernel;
static void* record;

static void yield() { swapcontext(&threads[current].context, &home); }
static u32 lane() { return current % WARP; }
static Thread* warp(u32 thread) { return threads + thread / WARP * WARP; }
static u32 lanes(u32 thread) { u32 left = many - thread / WARP * WARP; return left < WARP ? left : WARP; }

static void begin() {
    kernel(record);
    threads[current].wait = GONE;
    yield();
}

// Lanes of a mask are all there, or gone: each gets what every one brought.
static bool met(u32 thread) {
    Thread *of = warp(thread), &me = threads[thread];
    u32 mask = me.mask;
    for (u32 n = 0; n < lanes(thread); n++) {
        if (!(mask >> n & 1) || of[n].wait == GONE) continue;
        if (of[n].wait != EXCHANGE || of[n].mask != mask) return false;
        if (of[n].kind != me.kind) problem = UNLIKE;
    }
    u32 values[WARP];
    for (u32 n = 0; n < WARP; n++)
        values[n] = n < lanes(thread) && mask >> n & 1 && of[n].wait == EXCHANGE ? of[n].value : POISON;
    for (u32 n = 0; n < lanes(thread); n++)
        if (mask >> n & 1 && of[n].wait == EXCHANGE) memcpy(of[n].got, values, sizeof values), of[n].wait = RUNS;
    return true;
}
static const u32* exchange(u32 mask, u32 value, u32 kind) {
    Thread& me = threads[current];
    if (!(mask >> lane() & 1)) problem = NOT_IN_MASK;
    me.mask = mask, me.value = value, me.kind = kind, me.wait = EXCHANGE;
    met(current);
    while (me.wait != RUNS) yield();
    return me.got;
}

// Four products of bytes, the first ones signed or not, and the second ones.
template <typename A, typename B>
static u32 dot(u32 a, u32 b, u32 sum) {
    for (u32 n = 0; n < 4; n++) sum += (u32)((int)(A)(a >> 8 * n) * (int)(B)(b >> 8 * n));
    return sum;
}

extern "C" {
#define AXES(NAME, OF) \
    u32 NAME##_x() { return OF[0]; } u32 NAME##_y() { return OF[1]; } u32 NAME##_z() { return OF[2]; }
AXES(sim_read_ptx_sreg_tid, threads[current].at)
AXES(sim_read_ptx_sreg_ctaid, group_at)
AXES(sim_read_ptx_sreg_nctaid, groups)
u32 sim_read_ptx_sreg_laneid() { return lane(); }
u32 sim_shfl_sync_idx_i32(u32 mask, u32 v, u32 from, u32) { return exchange(mask, v, 1)[from & 31]; }
u32 sim_shfl_sync_bfly_i32(u32 mask, u32 v, u32 m, u32) { return exchange(mask, v, 2)[(lane() ^ m) & 31]; }
u32 sim_shfl_sync_up_i32(u32 mask, u32 v, u32 d, u32) {
    const u32* got = exchange(mask, v, 3);
    return lane() >= (d & 31) ? got[lane() - (d & 31)] : v;
}
u32 sim_shfl_sync_down_i32(u32 mask, u32 v, u32 d, u32) {
    const u32* got = exchange(mask, v, 4);
    return lane() + (d & 31) < WARP ? got[lane() + (d & 31)] : v;
}
u32 sim_vote_ballot_sync(u32 mask, bool v) {
    const u32* got = exchange(mask, v, 5);
    u32 made = 0;
    for (u32 n = 0; n < WARP; n++) made |= (mask >> n & 1 && got[n] == 1) << n;
    return made;
}
void sim_bar_warp_sync(u32 mask) { exchange(mask, 0, 6); }
// Tensor cores: lane L has row L / 4 and columns L % 4 * 2 and the next, of 8x8 matrices of words with two elements.
u32 sim_movmatrix(u32 v) {
    const u32* got = exchange(~0u, v, 7);
    u32 r = lane() / 4, c = lane() % 4 * 2, shift = r % 2 * 16;
    u32 a = got[c * 4 + r / 2] >> shift & 0xffff, b = got[(c + 1) * 4 + r / 2] >> shift & 0xffff;
    return a | b << 16;
}
// Lane 8 * n + r tells where row r of matrix n lies; all rows are read when the last lane has come.
void sim_ldmatrix(u32* made, const unsigned char* line, u32 many, bool turned) {
    u64 at = (u64)line;
    u32 low[WARP], high[WARP];
    memcpy(low, exchange(~0u, (u32)at, 14), sizeof low), memcpy(high, exchange(~0u, (u32)(at >> 32), 15), sizeof high);
    for (u32 n = 0; n < many; n++) {
        auto element = [&](u32 r, u32 c) {
            unsigned short got;
            u64 row = low[8 * n + r] | (u64)high[8 * n + r] << 32;
            if (row & 15) problem = MISALIGNED_LINE;
            return memcpy(&got, (const unsigned char*)row + 2 * c, 2), (u32)got;
        };
        u32 r = lane() / 4, c = lane() % 4 * 2;
        made[n] = turned ? element(c, r) | element(c + 1, r) << 16 : element(r, c) | element(r, c + 1) << 16;
    }
}
static float wide(u32 word, u32 n, bool bfloat) {
    u32 bits = word >> (n % 2 * 16) & 0xffff;
    if (bfloat) return __builtin_bit_cast(float, bits << 16);
    return (float)__builtin_bit_cast(_Float16, (unsigned short)bits);
}
void sim_tensor(float* d, u32 bfloat, u32 deep, const u32* a, const u32* b) {  // d += a * b, 16 by 8 by 8 or 16
    u32 x[4][WARP], y[2][WARP];
    for (u32 n = 0; n < 2 * deep; n++) memcpy(x[n], exchange(~0u, a[n], 8 + n), sizeof x[n]);
    for (u32 n = 0; n < deep; n++) memcpy(y[n], exchange(~0u, b[n], 12 + n), sizeof y[n]);
    for (u32 n = 0; n < 4; n++) {
        u32 r = lane() / 4, c = lane() % 4 * 2 + n % 2;
        double sum = d[n];
        for (u32 k = 0; k < 8 * deep; k++)
            sum += (double)wide(x[k / 8 * 2 + n / 2][r * 4 + k % 8 / 2], k, bfloat) * wide(y[k / 8][c * 4 + k % 8 / 2], k, bfloat);
        d[n] = (float)sum;
    }
}
u32 sim_idp4a_s_s(u32 a, u32 b, u32 sum) { return dot<signed char, signed char>(a, b, sum); }
u32 sim_idp4a_u_s(u32 a, u32 b, u32 sum) { return dot<unsigned char, signed char>(a, b, sum); }
u32 sim_idp4a_u_u(u32 a, u32 b, u32 sum) { return dot<unsigned char, unsigned char>(a, b, sum); }
u32 sim_activemask() {
    Thread& me = threads[current];
    me.site = __builtin_return_address(0), me.wait = ASKS;
    while (me.wait != RUNS) yield();
    return me.answer;
}
void sim_barrier_cta_sync_aligned_all(u32) {
    threads[current].wait = BARRIER;
    while (threads[current].wait != RUNS) yield();
}
void sim_membar_cta() {}
void sim_membar_gl() {}
void sim_membar_sys() {}
u32 sim_load_volatile(volatile u32* p) {  // who waits for another lets it run
    yield();
    return *p;
}
void sim_exit() {
    threads[current].wait = GONE;
    yield();
}
float sim_ex2_approx_f32(float x) { return __builtin_exp2f(x); }
float sim_ex2_approx_f(float x) { return __builtin_exp2f(x); }
float sim_lg2_approx_f(float x) { return __builtin_log2f(x); }
float sim_rsqrt_approx_f(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
static bool released() {  // what nobody but the whole block can answer
    bool any = false, all = true;
    for (u32 t = 0; t < many; t++) any |= threads[t].wait == BARRIER, all &= threads[t].wait == BARRIER || threads[t].wait == GONE;
    if (any && all) {
        for (u32 t = 0; t < many; t++)
            if (threads[t].wait == BARRIER) threads[t].wait = RUNS;
        return true;
    }
    for (u32 t = 0; t < many; t++)
        if (threads[t].wait == EXCHANGE && met(t)) return true;  // the others are gone
    bool told = false;
    for (u32 first = 0; first < many; first += WARP) {  // those of a warp that ask at one place are there together
        void* site = nullptr;
        u32 mask = 0;
        for (u32 n = 0; n < lanes(first); n++)
            if (threads[first + n].wait == ASKS && (!site || threads[first + n].site == site))
                site = threads[first + n].site, mask |= 1u << n;
        for (u32 n = 0; n < lanes(first); n++)
            if (mask >> n & 1) threads[first + n].answer = mask, threads[first + n].wait = RUNS, told = true;
    }
    return told;
}

static void block() {
    u32 t = 0;
    for (u32 z = 0; z < group_size[2]; z++)
        for (u32 y = 0; y < group_size[1]; y++)
            for (u32 x = 0; x < group_size[0]; x++, t++) {
                Thread& one = threads[t];
                one.at[0] = x, one.at[1] = y, one.at[2] = z, one.wait = RUNS;
                getcontext(&one.context);
                one.context.uc_stack.ss_sp = stacks + (u64)t * STACK, one.context.uc_stack.ss_size = STACK;
                one.context.uc_link = &home;
                makecontext(&one.context, begin, 0);
            }
    while (!problem) {
        bool ran = false, left = false;
        for (current = 0; current < many; current++) {
            left |= threads[current].wait != GONE;
            if (threads[current].wait != RUNS) continue;
            ran = true;
            swapcontext(&home, &threads[current].context);
        }
        if (!left) return;
        if (!ran && !released()) problem = DEADLOCK;
    }
}

u32 sim_run(Kernel* function, void* launch, const u32* shape) {
    if (!stacks) stacks = (unsigned char*)mmap(nullptr, (u64)MOST * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kernel = function, record = launch, problem = FINE;
    memcpy(groups, shape, sizeof groups), memcpy(group_size, shape + 3, sizeof group_size);
    many = group_size[0] * group_size[1] * group_size[2];
    for (u32 z = 0; z < groups[2]; z++)
        for (u32 y = 0; y < groups[1]; y++)
            for (u32 x = 0; x < groups[0] && !problem; x++) {
                group_at[0] = x, group_at[1] = y, group_at[2] = z;
                memset(mt_dynamic, 0xa5, shape[6]);
                block();
            }
    return problem;
}
}

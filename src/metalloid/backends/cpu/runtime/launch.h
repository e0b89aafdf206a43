// What a launch is. Generated code reads it at the offsets in backends/cpu/abi.py; Python fills it in (cpu/native.py).
#pragma once

using i32 = int;
using u32 = unsigned;
using u64 = unsigned long long;
using i64 = long long;

struct Range {
    u64 start, length;
};

struct Fault {
    i32 state;  // 0: none, 1: being written, 2: there
    u32 site, index, x, y, z, variant, pad;
    i64 offset;
};

struct LogRecord {
    u32 what, index, x, y, z, pad;
    u64 value;
};

// Runs threadgroups of one size, `groups` of them along x; along y where the launch has one along x.
using Kernel = void (*)(void *launch, const u32 *tables, void *local, void *scratch, u32 gx, u32 gy, u32 gz, u32 sx, u32 sy,
                        u32 sz, u32 groups);

constexpr u32 PARTS = 8;  // of a launch at most
constexpr i32 NOTED = 5;  // what `mt_run` gives where a launch ran to its end and left a note

// A buffer that a kernel only adds to (lower/ops/own_copies.py). Threads may have copies (copies.h).
struct Copy {
    u32 buffer, kind;  // of its numbers: i32, i64, float
    u32 rounds, pad;   // about how often each of Metal's threads adds
    u64 most;          // bytes that it adds to at most
    u64 length;        // bytes of the copies of this launch; 0: there are none
};

constexpr u32 COPIES = 4;

struct Launch {
    void *buffers[32];
    u64 lengths[32];
    u64 local_offsets[32];
    u64 local_lengths[32];
    u32 grid[3];
    u32 threadgroup[3];
    u32 groups[3];
    u32 together;    // threadgroups that one call may run; 0: as many as can be stopped soon
    u64 range_count;
    const Range *ranges;
    volatile i32 cancel;  // 0 go on, 1 fault, 2 time is up, 3 interrupted
    i32 zero;
    u64 local_total;
    void *check;     // of a checked launch: see check.cpp
    u64 below[32];   // bytes of its allocation that lie before a buffer
    u32 latest[3];   // where tall threadgroups begin at most, in threads: the last of a row may run some a second time
    u32 overlaps;    // whether they do
    // From here on only the runtime looks.
    Kernel kernels[3];  // whole threadgroups; fewer threads in the outermost axis; any other size
    u64 scratch[3];
    u32 tables[3];   // whether the kernel reads positions from tables
    u32 backwards;   // hand out threadgroups from the last to the first
    u64 total;       // threadgroups
    u64 chunk;
    u64 taken[PARTS];  // of each part, chunks that somebody has taken
    u64 finished;    // how many are done
    Fault fault;
    LogRecord *logs;
    u64 log_count, log_room;
    Fault note;        // the first access outside of a launch that goes on after it
    const u32 *order;  // the number of each threadgroup in turn; null: as they come
    u32 alone;         // one thread is sooner done than several: to wake others takes as long
    u32 parts;         // that threads begin with, each with another
    i64 took[2];       // nanoseconds of late, alone and with others; 0: nobody knows
    u64 runs;
    u64 copy_count;
    Copy copies[COPIES];
};

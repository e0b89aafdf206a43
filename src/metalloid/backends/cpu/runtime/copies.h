// Copies of buffers that a launch only adds to, one for each thread that works on it.
#pragma once
#include "launch.h"

constexpr u64 MOST_COPIED = 1 << 20;  // bytes: more would not stay in a processor's second cache
constexpr u64 LINE = 64;
constexpr u64 WAYS = 4;  // copies of a line that gangs take turns with: an addition waits for the last one to a number

inline u64 ways(const Copy &c) { return c.length && c.length <= LINE ? WAYS : 1; }
inline u64 room(const Copy &c) { return (c.length + LINE - 1) / LINE * LINE * ways(c); }
inline u64 number_size(const Copy &c) { return c.kind == 1 ? 8 : 4; }

// Which buffers are worth it: to clear a number and to look at it costs a twentieth of an addition that others see.
inline void choose_copies(Launch &l) {
    u64 adders = u64(l.grid[0]) * l.grid[1] * l.grid[2];
    for (u64 n = 0; n < l.copy_count; n++) {
        Copy &c = l.copies[n];
        u64 length = l.lengths[c.buffer] < c.most ? l.lengths[c.buffer] : c.most;
        length -= length % number_size(c);
        u64 numbers = length / number_size(c) * (l.parts ? l.parts : 1);
        bool pays = length <= MOST_COPIED && 2 * numbers <= adders * c.rounds;
        c.length = pays && !l.below[c.buffer] ? length : 0;  // a copy has nothing below its start
    }
}

// Bytes of all copies of a thread.
inline u64 copied(const Launch &l) {
    u64 total = 0;
    for (u64 n = 0; n < l.copy_count; n++) total += room(l.copies[n]);
    return total;
}

// Copies lie behind a thread's threadgroup memory, so that code knows that nothing else is there; at its beginning the
// kernel finds how far behind, in whole lines, and the number of ways less one. Fills them with what changes no sum: for
// floats minus zero.
inline void begin_copies(const Launch &l, char *local) {
    u64 at = (l.local_total + LINE - 1) / LINE * LINE, *slots = reinterpret_cast<u64 *>(local);
    for (u64 n = 0; n < l.copy_count; n++) {
        const Copy &c = l.copies[n];
        slots[n] = c.length ? at + ways(c) - 1 : 0;
        u32 *words = reinterpret_cast<u32 *>(local + at), nothing = c.kind == 2 ? 0x80000000u : 0;
        for (u64 w = 0; w < room(c) / 4; w++) words[w] = nothing;
        at += room(c);
    }
}

template <class T> void add_whole(T *to, const T *own, u64 count) {
    for (u64 n = 0; n < count; n++)
        if (own[n]) __atomic_fetch_add(to + n, own[n], __ATOMIC_RELAXED);
}

inline void add_floats(u32 *to, const u32 *own, u64 count) {
    for (u64 n = 0; n < count; n++) {
        if (own[n] == 0x80000000u) continue;
        u32 old = __atomic_load_n(to + n, __ATOMIC_RELAXED), sum;
        do
            sum = __builtin_bit_cast(u32, __builtin_bit_cast(float, old) + __builtin_bit_cast(float, own[n]));
        while (!__atomic_compare_exchange_n(to + n, &old, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
}

// Adds what a thread has to the buffers.
inline void end_copies(const Launch &l, const char *local) {
    for (u64 n = 0; n < l.copy_count; n++) {
        const Copy &c = l.copies[n];
        void *to = l.buffers[c.buffer];
        const char *own = local + reinterpret_cast<const u64 *>(local)[n] / LINE * LINE;
        u64 count = c.length / number_size(c);
        for (u64 way = 0; way < ways(c); way++, own += LINE) {
            if (c.kind == 0) add_whole(static_cast<u32 *>(to), reinterpret_cast<const u32 *>(own), count);
            if (c.kind == 1) add_whole(static_cast<u64 *>(to), reinterpret_cast<const u64 *>(own), count);
            if (c.kind == 2) add_floats(static_cast<u32 *>(to), reinterpret_cast<const u32 *>(own), count);
        }
    }
}

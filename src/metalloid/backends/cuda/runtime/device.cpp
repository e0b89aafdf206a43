// What the intrinsics of scalar IR are on an NVIDIA GPU: a SIMD-group is a warp, a threadgroup a block.
// Compiled to LLVM IR for nvptx64 and linked into every kernel; all of it is inlined. See docs/design/intrinsics.md.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
#define API extern "C" __attribute__((always_inline, convergent, nothrow))
#define IN static inline __attribute__((always_inline))

constexpr u32 SLOTS = 32, WARP = 32, ALL = 0xffffffffu;

// The same as backends/cuda/record.py. Behind it lie the bytes of small constant arguments.
struct Launch {
    u64 buffers[SLOTS];
    u64 lengths[SLOTS];
    u32 local_offsets[SLOTS];
    u32 local_lengths[SLOTS];
    u32 grid[3], groups[3];
    u32 dynamic;  // bytes of threadgroup memory that the host sizes
    u32 number;   // of this launch in a recording
    u64 fault;    // Fault*, in memory that the host sees
    u64 cancel;   // u32*
    u64 regions;  // Region*: where pointers may lead that were loaded from memory
    u64 region_count;
    u64 spare;    // SPARE zeros, then as many bytes that nobody reads
    u64 log;      // Log*
};

struct Fault {
    u32 taken, site, kind, number;
    u64 offset;
    u32 thread[3], group[3];
};

struct Region {
    u64 start, length;
    u64 known;  // the address that pointers in memory name: that of the host
};

struct LogPiece {
    u32 what;  // 0 begins a message, 1 an integer, 2 a float, 3 ends it
    u32 thread[3];
    u64 value;
};
struct Log {
    u32 count, room;
    u64 unused;
};
constexpr u32 SPARE = 256;

typedef __attribute__((address_space(1))) u8 device_byte;
typedef __attribute__((address_space(3))) u8 local_byte;
typedef __attribute__((address_space(3))) u32 local_word;
extern "C" __attribute__((aligned(128))) local_byte mt_dynamic[];

// What code is made for; the kernel's module says what they are (backends/cuda/ptx.py), and LLVM folds them.
extern "C" const u32 mt_size_x, mt_size_y, mt_size_z;  // of a threadgroup
extern "C" const u32 mt_flat;    // blocks are one row of threads: positions are computed, in a ragged size
extern "C" const u32 mt_even;    // buffers start at multiples of 16
extern "C" const u32 mt_robust;  // an access outside is told and left out; else it ends the launch
extern "C" __attribute__((const)) u32 mt_group(u32 axis);  // where this threadgroup is, the first where it is several

// ---- positions ------------------------------------------------------------------------------------------------------

IN u32 size(u32 axis) { return axis == 0 ? mt_size_x : axis == 1 ? mt_size_y : mt_size_z; }
IN u32 hardware_thread(u32 axis) {
    return axis == 0 ? __nvvm_read_ptx_sreg_tid_x() : axis == 1 ? __nvvm_read_ptx_sreg_tid_y() : __nvvm_read_ptx_sreg_tid_z();
}
IN u32 group(u32 axis) { return mt_group(axis); }
IN u32 own_size(const Launch* l, u32 axis) {  // of this threadgroup: smaller at the edge of a grid
    if (!mt_flat) return size(axis);
    u32 rest = l->grid[axis] - group(axis) * size(axis);
    return rest < size(axis) ? rest : size(axis);
}
IN u32 whole() { return mt_size_x * mt_size_y * mt_size_z; }
IN u32 mine(const Launch* l) { return own_size(l, 0) * own_size(l, 1) * own_size(l, 2); }
IN u32 local(const Launch* l, u32 axis) {
    if (size(axis) == 1) return 0;
    u32 at = hardware_thread(mt_flat ? 0 : axis);
    if (mt_flat && whole() != mt_size_x) {
        u32 x = own_size(l, 0), y = own_size(l, 1);
        return axis == 0 ? at % x : axis == 1 ? at / x % y : at / (x * y);
    }
    u32 end = size(axis);
    __builtin_assume(at < end);
    return at;
}
IN u32 index(const Launch* l) {
    if (mt_flat) {
        u32 at = hardware_thread(0);
        u32 end = whole();
        __builtin_assume(at < end);
        return at;
    }
    return local(l, 0) + mt_size_x * (local(l, 1) + mt_size_y * local(l, 2));
}
IN u32 lane() {
    u32 n = __nvvm_read_ptx_sreg_laneid();
    __builtin_assume(n < WARP);
    return n;
}
API u32 mtd_thread_position_in_threadgroup(u32 axis, const Launch* l) { return local(l, axis); }
API u32 mtd_threadgroup_position_in_grid(u32 axis, const Launch*) { return group(axis); }
API u32 mtd_thread_position_in_grid(u32 axis, const Launch* l) { return group(axis) * size(axis) + local(l, axis); }
API u32 mtd_threads_per_grid(u32 axis, const Launch* l) { return l->grid[axis]; }
API u32 mtd_grid_size(u32 axis, const Launch* l) { return l->grid[axis]; }
API u32 mtd_grid_origin(u32, const Launch*) { return 0; }
API u32 mtd_threads_per_threadgroup(u32 axis, const Launch* l) { return own_size(l, axis); }
API u32 mtd_dispatch_threads_per_threadgroup(u32 axis, const Launch*) { return size(axis); }
API u32 mtd_threadgroups_per_grid(u32 axis, const Launch* l) { return l->groups[axis]; }
API u32 mtd_thread_index_in_threadgroup(u32, const Launch* l) { return index(l); }
API u32 mtd_thread_index_in_simdgroup(u32, const Launch*) { return lane(); }
API u32 mtd_simdgroup_index_in_threadgroup(u32, const Launch* l) { return index(l) / WARP; }
API u32 mtd_threads_per_simdgroup(u32, const Launch*) { return WARP; }
API u32 mtd_thread_execution_width(u32, const Launch*) { return WARP; }
API u32 mtd_simdgroups_per_threadgroup(u32, const Launch* l) { return (mine(l) + WARP - 1) / WARP; }
API u32 mtd_dispatch_simdgroups_per_threadgroup(u32, const Launch*) { return (whole() + WARP - 1) / WARP; }
API u32 mtd_thread_index_in_quadgroup(u32, const Launch*) { return lane() & 3; }
API u32 mtd_quadgroup_index_in_threadgroup(u32, const Launch* l) { return index(l) / 4; }
API u32 mtd_quadgroups_per_threadgroup(u32, const Launch* l) { return (mine(l) + 3) / 4; }
API u32 mtd_dispatch_quadgroups_per_threadgroup(u32, const Launch*) { return (whole() + 3) / 4; }

// Memory that nobody has written holds zeros.
API void mtd_clear_private(u8* p, u32 size) { __builtin_memset(p, 0, size); }
typedef u32 __attribute__((ext_vector_type(4))) u32x4;
typedef __attribute__((address_space(3))) u32x4 local_vector;
API void mtd_clear_local(local_byte* p, u32 size, const Launch* l) {  // p is a multiple of 16
    u32 step = mine(l);
    for (u32 n = index(l); n < size / 16; n += step) ((local_vector*)p)[n] = u32x4(0);
    for (u32 n = (size & ~15u) + index(l); n < size; n += step) p[n] = 0;
}
API void mtd_clear_dynamic(const Launch* l) { mtd_clear_local(mt_dynamic, l->dynamic, l); }

// Blocks of a ragged grid are launched whole: threads behind the edge end at once.
API void mtd_begin(const Launch* l) {
    if (mt_flat && hardware_thread(0) >= mine(l)) asm volatile("exit;");
}

// The next launch of a recording may begin when all threadgroups of this one have, and waits for its end where it must.
API void mtd_next() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
API void mtd_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// What was loaded before stays before: LLVM would load it again where it is used.
API void mtd_kept() { asm volatile("" ::: "memory"); }

// ---- memory, faults -------------------------------------------------------------------------------------------------


API device_byte* mtd_buffer(u32 index, const Launch* l) { return (device_byte*)l->buffers[index]; }
API local_byte* mtd_threadgroup(u32 index, const Launch* l) {  // the host puts each at a multiple of 16
    u32 at = l->local_offsets[index];
    __builtin_assume((at & 15) == 0);
    return mt_dynamic + at;
}

// The first thread that gets `cancel` tells; in `cancel`, 1 ends the launch and 2 says that something was told.
IN bool tells(const Launch* l, int state, u32 site, u32 kind, u64 offset) {
    Fault* fault = (Fault*)l->fault;
    if (__nvvm_atom_cas_gen_i((int*)l->cancel, 0, state) != 0) return false;
    fault->site = site, fault->kind = kind, fault->number = l->number, fault->offset = offset;
    for (u32 a = 0; a < 3; a++) fault->thread[a] = group(a) * size(a) + local(l, a), fault->group[a] = group(a);
    __nvvm_membar_sys();
    *(volatile u32*)&fault->taken = 1;
    return true;
}
__attribute__((noinline, cold)) static void report(const Launch* l, u32 site, u32 kind, u64 offset) {
    tells(l, 1, site, kind, offset);
    asm volatile("exit;");
    __builtin_unreachable();
}
__attribute__((noinline, cold)) static void note(const Launch* l, u32 site, u32 kind, u64 offset) { tells(l, 2, site, kind, offset); }
// Whether an access may be made; where it may not and the launch goes on, it is left out.
IN bool allowed(bool fine, const Launch* l, u32 site, u32 kind, u64 offset) {
    if (__builtin_expect(fine, 1)) return true;
    if (!mt_robust) report(l, site, kind, offset);
    note(l, site, kind, offset);
    return false;
}
// An access at `p` of `size` bytes that was made from buffer `index`.
API bool mtd_guard_buffer(device_byte* p, u32 index, u32 size, u32 align, u32 site, const Launch* l) {
    u64 offset = (u64)p - l->buffers[index], length = l->lengths[index];
    u64 places = length < size ? 0 : length - size + 1;  // the same for all threads; so one comparison is left
    return allowed(offset < places, l, site, 0, offset) && allowed(!((mt_even ? offset : (u64)p) & (align - 1)), l, site, 3, offset);
}
// One `at` bytes behind the start of memory of `room` bytes.
API bool mtd_guard_range(u64 at, u32 room, u32 size, u32 align, u32 site, const Launch* l) {
    u64 places = room < size ? 0 : room - size + 1;
    return allowed(at < places, l, site, 1, at) && allowed(!(at & (align - 1)), l, site, 3, at);
}
// One at an address of which the kernel found out whether it is in one of several memories.
API bool mtd_guard_known(u64 at, bool known, u32 size, u32 align, u32 site, const Launch* l) {
    return allowed(known, l, site, 2, at) && allowed(!(at & (align - 1)), l, site, 3, at);
}
// A pointer that may be of any buffer.
IN bool somewhere(device_byte* p, u32 size, const Launch* l) {
    for (u32 n = 0; n < SLOTS; n++) {
        u64 offset = (u64)p - l->buffers[n];
        if (offset < l->lengths[n] && size <= l->lengths[n] - offset) return true;
    }
    const Region* regions = (const Region*)l->regions;
    for (u64 n = 0; n < l->region_count; n++) {
        u64 offset = (u64)p - regions[n].start;
        if (offset < regions[n].length && size <= regions[n].length - offset) return true;
    }
    return false;
}
API bool mtd_guard_any(device_byte* p, bool known, u32 size, u32 align, u32 site, const Launch* l) {
    // `known`: in a table of the kernel's
    return allowed(known || somewhere(p, size, l), l, site, 2, (u64)p) && allowed(!((u64)p & (align - 1)), l, site, 3, (u64)p);
}
// A lane's two elements of a matrix: a bit for each that may be.
IN u64 row();
IN u64 column();
template <class Guard> IN u32 both(u64 stride, u32 turned, u32 size, Guard guard) {
    u32 fine = 0;
    for (u64 n = 0; n < 2; n++) {
        u64 e = turned ? (column() + n) * stride + row() : row() * stride + column() + n;
        fine |= (u32)guard(e * size) << n;
    }
    return fine;
}
API u32 mtd_guard_matrix_buffer(device_byte* p, u32 index, u64 stride, u32 turned, u32 size, u32 align, u32 site, const Launch* l) {
    return both(stride, turned, size, [=](u64 at) __attribute__((always_inline)) { return mtd_guard_buffer(p + at, index, size, align, site, l); });
}
API u32 mtd_guard_matrix_range(u64 from, u32 room, u64 stride, u32 turned, u32 size, u32 align, u32 site, const Launch* l) {
    return both(stride, turned, size, [=](u64 at) __attribute__((always_inline)) { return mtd_guard_range(from + at, room, size, align, site, l); });
}
API u32 mtd_guard_matrix_any(device_byte* p, bool, u64 stride, u32 turned, u32 size, u32 align, u32 site, const Launch* l) {
    return both(stride, turned, size, [=](u64 at) __attribute__((always_inline)) { return mtd_guard_any(p + at, false, size, align, site, l); });
}
API u32 mtd_local_room(u32 index, const Launch* l) { return l->local_lengths[index]; }
// Where accesses go that are left out: reads find zeros, nobody reads what is written.
static __attribute__((address_space(3), aligned(64))) u8 spare_local[2 * SPARE];
API device_byte* mtd_spare_device(bool write, const Launch* l) { return (device_byte*)(l->spare + (write ? SPARE : 0)); }
API local_byte* mtd_spare_threadgroup(bool write) { return spare_local + (write ? SPARE : 0); }
API void mtd_clear_spare(const Launch* l) { mtd_clear_local(spare_local, 2 * SPARE, l); }

// Pointers in memory are those of the host: here the same memory lies elsewhere. Those that a kernel stored stay.
API device_byte* mtd_translated(device_byte* p, const Launch* l) {
    const Region* regions = (const Region*)l->regions;
    u64 found = (u64)p;
    for (u64 n = 0; n < l->region_count; n++) {
        u64 offset = (u64)p - regions[n].known;
        if (offset < regions[n].length) return (device_byte*)(regions[n].start + offset);
        if (offset == regions[n].length) found = regions[n].start + offset;  // the end of one may be the start of the next
    }
    return (device_byte*)found;
}

// ---- messages -------------------------------------------------------------------------------------------------------

API void mtd_log(u32 what, u64 value, const Launch* l) {
    Log* log = (Log*)l->log;
    u32 at = __atomic_fetch_add((__attribute__((address_space(1))) u32*)&log->count, 1, __ATOMIC_RELAXED);
    if (at >= log->room) return;
    LogPiece* piece = (LogPiece*)(log + 1) + at;
    piece->what = what, piece->value = value;
    for (u32 a = 0; a < 3; a++) piece->thread[a] = group(a) * size(a) + local(l, a);
}

// Loops that may go on for ever ask now and then whether they should.
IN bool cancelled(const Launch* l) { return *(volatile __attribute__((address_space(1))) u32*)l->cancel & 1; }
API void mtd_poll(u32* count, const Launch* l) {
    if ((++*count & 255) == 0 && cancelled(l)) asm volatile("exit;");
}

// ---- synchronisation ------------------------------------------------------------------------------------------------

// Where lanes of a warp part at barriers: a barrier of warps that still run, in software. A warp comes to it with those
// lanes that are there; the hardware's would wait for all lanes of the warp.
struct Parted {
    u32 state;       // warps that run << 16 | warps that wait
    u32 generation;  // of barriers that were passed
    u32 lanes[32];   // of each warp that have not returned
};
typedef __attribute__((address_space(3))) Parted local_parted;
static local_parted parted;
IN u32 swapped(u32 old, u32 made) {
    u32 seen = old;
    __atomic_compare_exchange_n((local_word*)&parted.state, &seen, made, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return seen;
}
// Change the state by `running` and `waiting` warps; whether all that run were waiting then.
IN bool counted(u32 running, u32 waiting) {
    u32 old = *(volatile local_word*)&parted.state;
    while (true) {
        u32 run = (old >> 16) + running, wait = (old & 0xffff) + waiting;
        bool all = wait && wait == run;
        u32 seen = swapped(old, run << 16 | (all ? 0 : wait));
        if (seen == old) {
            __nvvm_membar_cta();
            if (all) *(volatile local_word*)&parted.generation = *(volatile local_word*)&parted.generation + 1;
            return all;
        }
        old = seen;
    }
}
API void mtd_part(const Launch* l) {
    u32 many = mine(l), at = index(l), warps = (many + WARP - 1) / WARP;
    if (at == 0) parted.state = warps << 16, parted.generation = 0;
    if (at < warps) parted.lanes[at] = at + 1 < warps ? WARP : many - at * WARP;
    __nvvm_bar_sync(0);
}
API void mtd_leave(const Launch* l) {
    u32 old = __atomic_fetch_sub((local_word*)&parted.lanes[index(l) / WARP], 1, __ATOMIC_RELAXED);
    if (old == 1) counted(-1u, 0);
}
API void mtd_threadgroup_barrier(u32) { __nvvm_bar_sync(0); }
API void mtd_parted_threadgroup_barrier(u32, u32 mask, const Launch* l) {
    __nvvm_bar_warp_sync(mask);
    if (lane() == (u32)__builtin_ctz(mask)) {
        __nvvm_membar_cta();
        u32 generation = *(volatile local_word*)&parted.generation;
        if (!counted(0, 1))
            for (u32 n = 0; *(volatile local_word*)&parted.generation == generation;)
                if ((++n & 255) == 0 && cancelled(l)) asm volatile("exit;");
        __nvvm_membar_cta();
    }
    __nvvm_bar_warp_sync(mask);
}
API void mtd_settle() { __nvvm_bar_sync(0); }
// Who takes part: the lanes that are here; those of a mask for which a condition holds; all that a warp has.
API u32 mtd_mask() { return __nvvm_activemask(); }
API u32 mtd_chosen(bool v, u32 mask) { return __nvvm_vote_ballot_sync(mask, v); }
API u32 mtd_existing(const Launch* l) {
    u32 left = mine(l) - index(l) / WARP * WARP;
    return left < WARP ? (1u << left) - 1 : ALL;
}
API void mtd_simdgroup_barrier(u32, u32 mask) { __nvvm_bar_warp_sync(mask); }
API void mtd_fence(u32, u32, u32 scope) {
    if (scope >= 3) __nvvm_membar_gl();
    else __nvvm_membar_cta();
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

// Lanes do something together in a `mask` that they are given: ALL where that is known before, and folds.
IN u32 move(u32 mask, u32 v, u32 from) { return __nvvm_shfl_sync_idx_i32(mask, v, from, 31); }
template <class T, class Move> IN T moved(T v, Move move) {  // in words of 32 bits
    if constexpr (sizeof(T) <= 4) {
        u32 bits = 0;
        __builtin_memcpy(&bits, &v, sizeof(T));
        bits = move(bits);
        __builtin_memcpy(&v, &bits, sizeof(T));
        return v;
    } else {
        u64 bits;
        __builtin_memcpy(&bits, &v, 8);
        bits = move((u32)bits) | (u64)move((u32)(bits >> 32)) << 32;
        __builtin_memcpy(&v, &bits, 8);
        return v;
    }
}
template <class T> IN T take(u32 mask, T v, u32 from) {
    return moved(v, [=](u32 bits) __attribute__((always_inline)) { return move(mask, bits, from); });
}
// A group is the warp (32) or a quad of it (4): `start` its first lane, `W` its lanes.
template <u32 W> IN u32 start() { return lane() & ~(W - 1); }
template <u32 W> IN u32 members(u32 mask) { return W == 32 ? mask : mask & (15u << start<4>()); }
// What lane `n` of the group has; the own value where there is no such lane or it does not take part.
template <u32 W, class T> IN T from(u32 mask, T v, i32 n, T other) {
    u32 at = start<W>() + (u32)n;
    bool there = n >= 0 && n < (i32)W && (mask >> (at & 31) & 1);
    T got = take(mask, v, there ? at : lane());
    return there ? got : other;
}
// The instructions for it, of whole warps; they keep the own value where there is no such lane.
template <class T> IN T crossed(T v, u32 m) {
    T got = moved(v, [=](u32 bits) __attribute__((always_inline)) { return (u32)__nvvm_shfl_sync_bfly_i32(ALL, bits, m, 31); });
    return m < 32 ? got : v;
}
template <class T> IN T raised(T v, u32 d) {
    T got = moved(v, [=](u32 bits) __attribute__((always_inline)) { return (u32)__nvvm_shfl_sync_up_i32(ALL, bits, d, 0); });
    return d < 32 ? got : v;
}
template <class T> IN T lowered(T v, u32 d) {
    T got = moved(v, [=](u32 bits) __attribute__((always_inline)) { return (u32)__nvvm_shfl_sync_down_i32(ALL, bits, d, 31); });
    return d < 32 ? got : v;
}
#define MOVES(G, W, T, S)                                                                                      \
    API T mtd_##G##_broadcast_##S(T v, u16 n, u32 mask) { return from<W>(mask, v, (i32)n, v); }                                 \
    API T mtd_##G##_shuffle_##S(T v, u16 n, u32 mask) { return from<W>(mask, v, (i32)n, v); }                                   \
    API T mtd_##G##_broadcast_first_##S(T v, u32 mask) { return take(mask, v, __builtin_ctz(members<W>(mask))); }      \
    API T mtd_##G##_shuffle_xor_##S(T v, u16 m, u32 mask) {                                                                  \
        return mask == ALL && W == 32 ? crossed(v, m) : from<W>(mask, v, (i32)((lane() - start<W>()) ^ m), v);                  \
    }                                                                                                              \
    API T mtd_##G##_shuffle_up_##S(T v, u16 d, u32 mask) {                                                                   \
        return mask == ALL && W == 32 ? raised(v, d) : from<W>(mask, v, (i32)(lane() - start<W>()) - (i32)d, v);                \
    }                                                                                                              \
    API T mtd_##G##_shuffle_down_##S(T v, u16 d, u32 mask) {                                                                 \
        return mask == ALL && W == 32 ? lowered(v, d) : from<W>(mask, v, (i32)(lane() - start<W>()) + (i32)d, v);               \
    }                                                                                                              \
    API T mtd_##G##_shuffle_rotate_up_##S(T v, u16 d, u32 mask) { return from<W>(mask, v, (i32)((lane() - d) & (W - 1)), v); }  \
    API T mtd_##G##_shuffle_rotate_down_##S(T v, u16 d, u32 mask) { return from<W>(mask, v, (i32)((lane() + d) & (W - 1)), v); } \
    API T mtd_##G##_shuffle_and_fill_up_##S(T v, T f, u16 d, u16 m, u32 mask) {                                              \
        i32 l = (i32)(lane() - start<W>()), s = l / m * m, n = l % m - (i32)d;                                     \
        T filled = from<W>(mask, f, s + (n + (i32)m), f);                                                             \
        T moved = from<W>(mask, v, s + n, f);                                                                         \
        return n < 0 ? filled : moved;                                                                             \
    }                                                                                                              \
    API T mtd_##G##_shuffle_and_fill_down_##S(T v, T f, u16 d, u16 m, u32 mask) {                                            \
        i32 l = (i32)(lane() - start<W>()), s = l / m * m, n = l % m + (i32)d;                                     \
        T filled = from<W>(mask, f, s + (n - (i32)m), f);                                                             \
        T moved = from<W>(mask, v, s + n, f);                                                                         \
        return n >= (i32)m ? filled : moved;                                                                       \
    }
template <class T> struct Sum { static T of(T a, T b) { return a + b; } static constexpr T zero() { return T(0); } };
template <class T> struct Product { static T of(T a, T b) { return a * b; } static constexpr T zero() { return T(1); } };
template <class T> struct Min { static T of(T a, T b) { return b < a ? b : a; } };
template <class T> struct Max { static T of(T a, T b) { return b > a ? b : a; } };
template <> struct Min<float> { static float of(float a, float b) { return __builtin_fminf(a, b); } };
template <> struct Max<float> { static float of(float a, float b) { return __builtin_fmaxf(a, b); } };
template <class T> struct And { static T of(T a, T b) { return a & b; } };
template <class T> struct Or { static T of(T a, T b) { return a | b; } };
template <class T> struct Xor { static T of(T a, T b) { return a ^ b; } };
// Whether the lanes of a mask are whole quads: all of them must go the same way, shuffles wait for each other.
IN bool complete(u32 mask) { return (mask & mask >> 1 & mask >> 2 & mask >> 3 & 0x11111111u) * 15 == mask; }
// All lanes: a tree of shuffles. Else one member after the other.
template <u32 W, class Op, class T> IN T reduced(T v, u32 mask) {
    u32 group = members<W>(mask);
    if (W == 32 ? mask == ALL : complete(mask)) {
#pragma clang loop unroll(full)
        for (u32 d = W / 2; d; d /= 2) v = Op::of(v, mask == ALL ? crossed(v, d) : take(mask, v, lane() ^ d));
        return v;
    }
    T total = v;
    bool first = true;
    for (u32 n = 0; n < 32; n++) {  // every active lane goes through all: shuffles need all of them
        if (!(mask >> n & 1)) continue;
        T got = take(mask, v, n);
        if (!(group >> n & 1)) continue;
        total = first ? got : Op::of(total, got);
        first = false;
    }
    return total;
}
template <u32 W, class Op, class T> IN T scanned(T v, bool inclusive, u32 mask) {
    if (mask == ALL && W == 32) {
        T total = v;
#pragma clang loop unroll(full)
        for (u32 d = 1; d < 32; d *= 2) {
            T got = raised(total, d);
            if (lane() >= d) total = Op::of(got, total);
        }
        if (inclusive) return total;
        T before = raised(total, 1);
        return lane() ? before : Op::zero();
    }
    u32 group = members<W>(mask);
    T total = Op::zero();
    for (u32 n = 0; n < 32; n++) {
        if (!(mask >> n & 1)) continue;
        T got = take(mask, v, n);
        if ((group >> n & 1) && (n < lane() || (inclusive && n == lane()))) total = Op::of(total, got);
    }
    return total;
}
#define REDUCTIONS(G, W, T, C, S)                                                                                 \
    API T mtd_##G##_sum_##S(T v, u32 mask) { return (T)reduced<W, Sum<C>, C>((C)v, mask); }                                        \
    API T mtd_##G##_product_##S(T v, u32 mask) { return (T)reduced<W, Product<C>, C>((C)v, mask); }                                \
    API T mtd_##G##_min_##S(T v, u32 mask) { return (T)reduced<W, Min<C>, C>((C)v, mask); }                                        \
    API T mtd_##G##_max_##S(T v, u32 mask) { return (T)reduced<W, Max<C>, C>((C)v, mask); }                                        \
    API T mtd_##G##_prefix_inclusive_sum_##S(T v, u32 mask) { return (T)scanned<W, Sum<C>, C>((C)v, true, mask); }                 \
    API T mtd_##G##_prefix_exclusive_sum_##S(T v, u32 mask) { return (T)scanned<W, Sum<C>, C>((C)v, false, mask); }                \
    API T mtd_##G##_prefix_inclusive_product_##S(T v, u32 mask) { return (T)scanned<W, Product<C>, C>((C)v, true, mask); }         \
    API T mtd_##G##_prefix_exclusive_product_##S(T v, u32 mask) { return (T)scanned<W, Product<C>, C>((C)v, false, mask); }
#define BITWISE(G, W, T, S)                                                             \
    API T mtd_##G##_and_##S(T v, u32 mask) { return reduced<W, And<T>, T>(v, mask); }                    \
    API T mtd_##G##_or_##S(T v, u32 mask) { return reduced<W, Or<T>, T>(v, mask); }                      \
    API T mtd_##G##_xor_##S(T v, u32 mask) { return reduced<W, Xor<T>, T>(v, mask); }
#define GROUP(G, W)                                                                     \
    MOVES(G, W, u16, i16)                                                                \
    MOVES(G, W, u32, i32)                                                                \
    REDUCTIONS(G, W, float, float, f32)                                                  \
    REDUCTIONS(G, W, _Float16, float, f16)                                               \
    REDUCTIONS(G, W, i32, i32, i32)                                                      \
    REDUCTIONS(G, W, u32, u32, u32)                                                      \
    REDUCTIONS(G, W, i64, i64, i64)                                                      \
    REDUCTIONS(G, W, u64, u64, u64)                                                      \
    BITWISE(G, W, u32, i32)                                                              \
    BITWISE(G, W, u64, i64)                                                              \
    API bool mtd_##G##_all(bool v, u32 mask) { return !(~__nvvm_vote_ballot_sync(mask, v) & members<W>(mask)); } \
    API bool mtd_##G##_any(bool v, u32 mask) { return __nvvm_vote_ballot_sync(mask, v) & members<W>(mask); }     \
    API u64 mtd_##G##_ballot(bool v, u32 mask) { return (__nvvm_vote_ballot_sync(mask, v) & members<W>(mask)) >> (W == 4 ? start<4>() : 0); } \
    API u64 mtd_##G##_active_threads_mask(u32 mask) { return members<W>(mask) >> (W == 4 ? start<4>() : 0); }         \
    API bool mtd_##G##_is_first(u32 mask) { return lane() == (u32)__builtin_ctz(members<W>(mask)); }
GROUP(simd, 32)
GROUP(quad, 4)

// ---- matrices: 8x8, two neighbouring elements per lane --------------------------------------------------------------

struct Pair { u32 a, b; };
// Whether two neighbours of a matrix with 16 bits an element are one word in memory, in every row.
IN bool even(u64 p, u64 stride) { return ((p | stride * 2) & 3) == 0; }
IN u64 row() { return (lane() >> 4 & 1) * 4 + (lane() >> 1 & 3); }
IN u64 column() { return (lane() >> 3 & 1) * 4 + (lane() & 1) * 2; }
#define MATRIX(N, SPACE)                                                                                          \
    API Pair mtd_matrix_load_b32_##N(const __attribute__((address_space(SPACE))) u32* p, u64 stride, u32 turned) { \
        u64 r = row(), c = column();                                                                              \
        return turned ? Pair{p[c * stride + r], p[(c + 1) * stride + r]} : Pair{p[r * stride + c], p[r * stride + c + 1]}; \
    }                                                                                                              \
    API u32 mtd_matrix_load_b16_##N(const __attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned) {  \
        u64 r = row(), c = column();                                                                               \
        if (!turned && even((u64)p, stride))                                                                       \
            return *(const __attribute__((address_space(SPACE))) u32*)(p + r * stride + c);                        \
        u32 a = turned ? p[c * stride + r] : p[r * stride + c], b = turned ? p[(c + 1) * stride + r] : p[r * stride + c + 1]; \
        return a | b << 16;                                                                                        \
    }                                                                                                              \
    API void mtd_matrix_store_b32_##N(__attribute__((address_space(SPACE))) u32* p, u64 stride, u32 turned, u32 a, u32 b) { \
        u64 r = row(), c = column();                                                                               \
        p[turned ? c * stride + r : r * stride + c] = a, p[turned ? (c + 1) * stride + r : r * stride + c + 1] = b; \
    }                                                                                                              \
    API void mtd_matrix_store_b16_##N(__attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned, u16 a, u16 b) { \
        u64 r = row(), c = column();                                                                               \
        p[turned ? c * stride + r : r * stride + c] = a, p[turned ? (c + 1) * stride + r : r * stride + c + 1] = b; \
    }
// The same with those elements that `where` has a bit for.
#define MATRIX_WHERE(N, SPACE)                                                                                     \
    API Pair mtd_matrix_load_b32_##N##_where(const __attribute__((address_space(SPACE))) u32* p, u64 stride, u32 turned, u32 where) { \
        u64 r = row(), c = column();                                                                               \
        Pair made{0, 0};                                                                                           \
        if (where & 1) made.a = p[turned ? c * stride + r : r * stride + c];                                       \
        if (where & 2) made.b = p[turned ? (c + 1) * stride + r : r * stride + c + 1];                             \
        return made;                                                                                               \
    }                                                                                                              \
    API u32 mtd_matrix_load_b16_##N##_where(const __attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned, u32 where) { \
        u64 r = row(), c = column();                                                                               \
        u32 made = 0;                                                                                              \
        if (where & 1) made = p[turned ? c * stride + r : r * stride + c];                                         \
        if (where & 2) made |= (u32)p[turned ? (c + 1) * stride + r : r * stride + c + 1] << 16;                   \
        return made;                                                                                               \
    }                                                                                                              \
    API void mtd_matrix_store_b32_##N##_where(__attribute__((address_space(SPACE))) u32* p, u64 stride, u32 turned, u32 a, u32 b, u32 where) { \
        u64 r = row(), c = column();                                                                               \
        if (where & 1) p[turned ? c * stride + r : r * stride + c] = a;                                            \
        if (where & 2) p[turned ? (c + 1) * stride + r : r * stride + c + 1] = b;                                  \
    }                                                                                                              \
    API void mtd_matrix_store_b16_##N##_where(__attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned, u16 a, u16 b, u32 where) { \
        u64 r = row(), c = column();                                                                               \
        if (where & 1) p[turned ? c * stride + r : r * stride + c] = a;                                            \
        if (where & 2) p[turned ? (c + 1) * stride + r : r * stride + c + 1] = b;                                  \
    }
MATRIX(device, 1)
MATRIX(threadgroup, 3)
MATRIX_WHERE(device, 1)
MATRIX_WHERE(threadgroup, 3)
IN u32 holder(u32 r, u32 c) { return (r >> 2) << 4 | (c >> 2) << 3 | (r & 3) << 1 | (c >> 1 & 1); }
IN float element(u32 mask, float v, u32 from) {  // a lane that does not take part counts as zeros
    bool there = mask >> from & 1;
    float got = take(mask, v, there ? from : lane());
    return there ? got : 0.0f;
}
API Pair mtd_matrix_multiply_accumulate(float a0, float a1, float b0, float b1, float c0, float c1, u32 mask) {
    u32 r = (u32)row(), c = (u32)column();
#pragma clang loop unroll(full)
    for (u32 k = 0; k < 8; k++) {
        float of = k & 1 ? a1 : a0, a, x, y;
        if (mask == ALL)
            a = take(ALL, of, holder(r, k)), x = take(ALL, b0, holder(k, c)), y = take(ALL, b1, holder(k, c));
        else
            a = element(mask, of, holder(r, k)), x = element(mask, b0, holder(k, c)), y = element(mask, b1, holder(k, c));
        c0 = __builtin_fmaf(a, x, c0), c1 = __builtin_fmaf(a, y, c1);
    }
    return {__builtin_bit_cast(u32, c0), __builtin_bit_cast(u32, c1)};
}

// On tensor cores (tensor.ll) lane L has row L / 4 and columns L % 4 * 2 and the next: whose elements these are in Metal's
// order, and the way back. With all lanes there.
API u32 mtd_tensor_moved(u32 v) {
    u32 l = lane();
    return (u32)take(ALL, v, holder(l >> 2, (l & 3) * 2));
}
// The same for a matrix in memory, and with its columns for rows.
#define TENSOR(N, SPACE)                                                                                           \
    IN u32 loaded_##N(const __attribute__((address_space(SPACE))) u16* p, u64 stride, bool turned) {               \
        u64 r = lane() >> 2, c = (lane() & 3) * 2;                                                                 \
        if (!turned && even((u64)p, stride))                                                                       \
            return *(const __attribute__((address_space(SPACE))) u32*)(p + r * stride + c);                        \
        return turned ? p[c * stride + r] | (u32)p[(c + 1) * stride + r] << 16                                     \
                      : p[r * stride + c] | (u32)p[r * stride + c + 1] << 16;                                      \
    }                                                                                                              \
    API u32 mtd_tensor_rows_##N(const __attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned) {      \
        return loaded_##N(p, stride, turned);                                                                      \
    }                                                                                                              \
    API u32 mtd_tensor_columns_##N(const __attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned) {   \
        return loaded_##N(p, stride, !turned);                                                                     \
    }
TENSOR(device, 1)
TENSOR(threadgroup, 3)
// Where another lane's elements are in threadgroup memory. Of a row both are one lane's; of a column each is that of
// another, in its first or its second element, which lies `apart` bytes behind.
API u64 mtd_tensor_rows_base(const local_byte* p, u32) { return take(ALL, (u64)p, holder(lane() >> 2, (lane() & 3) * 2)); }
IN u64 of_column(const local_byte* p, i32 apart, u32 r) {
    u32 c = lane() >> 2;
    u64 found = take(ALL, (u64)p, holder(r, c));
    return c & 1 ? found + (i64)apart : found;
}
API u64 mtd_tensor_columns_base(const local_byte* p, i32 apart) { return of_column(p, apart, (lane() & 3) * 2); }
API u64 mtd_tensor_columns_next(const local_byte* p, i32 apart) { return of_column(p, apart, (lane() & 3) * 2 + 1); }
IN u32 joined(u64 one, u64 two) {
    typedef const __attribute__((address_space(3))) u16* halves;
    if (!(one & 3) && two == one + 2) return *(const __attribute__((address_space(3))) u32*)one;
    return *(halves)one | (u32)*(halves)two << 16;
}
API u32 mtd_tensor_rows_at(u64 base, i32 first, i32 second) { return joined(base + (i64)first, base + (i64)second); }
API u32 mtd_tensor_columns_at(u64 base, u64 next, i32 first, i32) { return joined(base + (i64)first, next + (i64)first); }
// Matrices in lines of 16 bytes (tensor.ll has the loads): where line l % 8 of a matrix begins, found by the stride or in the
// address of the lane that has its first element; and the line that a lane tells of several matrices.
API u64 mtd_tensor_lines_whole(const local_byte* p, u32 stride) { return (u64)p + (lane() & 7) * stride; }
API u64 mtd_tensor_lines_ordered(const local_byte* p, i32 at, u32 shift, u32 mask, u32 left) {  // of a tile (banks.py)
    u64 tile = (u64)p + (i64)at;
    return tile + ((lane() & 7) ^ ((u32)(tile >> shift) & mask) << left) * 16;
}
API u64 mtd_tensor_lines_own(const local_byte* p, i32 apart, u32 down) {
    u32 n = lane() & 7;
    u64 found = take(ALL, (u64)p, down ? holder(0, n) : holder(n, 0));
    return down && n & 1 ? found + (i64)apart : found;
}
API u64 mtd_tensor_line(u64 a, u64 b, u64 c, u64 d) {
    u32 n = lane() >> 3;
    return n < 2 ? n ? b : a : n < 3 ? c : d;
}
API float mtd_tensor_in(float v) { return __builtin_bit_cast(float, mtd_tensor_moved(__builtin_bit_cast(u32, v))); }
API float mtd_tensor_out(float v) {
    u32 from = (u32)row() << 2 | (u32)column() >> 1;
    return take(ALL, v, from);
}

// ---- what LLVM has no instruction for -------------------------------------------------------------------------------

// The other sign, also for a NaN: `neg` makes all of them one. LLVM would know the plain way for `neg`.
API float mtd_negated_f32(float x) {
    float made;
    asm("xor.b32 %0, %1, 0x80000000;" : "=f"(made) : "f"(x));
    return made;
}
API u16 mtd_negated_bits(u16 x) {
    u16 made;
    asm("xor.b16 %0, %1, 0x8000;" : "=h"(made) : "h"(x));
    return made;
}
// x * 2^n, rounded once, for 0.5 <= |x| < 2 and |n| <= 252: an exponent of 64 bits says so (math_bits.h).
API float mtd_scaled(float x, i64 wide) {
    i32 n = (i32)wide, half = n >> 1;
    auto power = [](i32 e) __attribute__((always_inline)) { return __builtin_bit_cast(float, (u32)(e + 127) << 23); };
    return x * power(half) * power(n - half);
}
// Instructions of the GPU's, where fast math allows 2 ulp and more.
API float mtd_exp2(float x) { return __nvvm_ex2_approx_f(x); }
API float mtd_divided(float x, float y) {  // div.approx gives 0 for divisors from 2^126 on
    float made;
    asm("div.full.f32 %0, %1, %2;" : "=f"(made) : "f"(x), "f"(y));
    return made;
}
// Below 1/2 the instruction is off by more than log may be: there, of twice the number.
API float mtd_fast_log(float x) {
    bool small = x < 0.5f;
    return __builtin_fmaf(__nvvm_lg2_approx_f(small ? x + x : x), 0x1.62e430p-1f, small ? -0x1.62e430p-1f : 0.0f);
}
API float mtd_rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
// x * 2^n, rounded once: in three steps, of which at most the last is not exact.
API float mtd_ldexp(float x, i32 n) {
    n = n < -400 ? -400 : n > 400 ? 400 : n;
    auto power = [](i32 e) { return __builtin_bit_cast(float, (u32)(e + 127) << 23); };
    if (n > 127) {
        x *= power(127), n -= 127;
        if (n > 127) { x *= power(127), n -= 127; if (n > 127) n = 127; }
    } else if (n < -126) {
        x *= power(-126 + 24), n += 126 - 24;
        if (n < -126) { x *= power(-126 + 24), n += 126 - 24; if (n < -126) n = -126; }
    }
    return x * power(n);
}

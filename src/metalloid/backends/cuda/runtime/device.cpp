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

// The same as backends/cuda/record.py.
struct Launch {
    u64 buffers[SLOTS];
    u64 lengths[SLOTS];
    u32 local_offsets[SLOTS];
    u32 local_lengths[SLOTS];
    u32 grid[3], size[3], groups[3];
    u32 flat;   // blocks are one row of threads: positions are computed from the index, in a ragged size
    u32 dynamic;  // bytes of threadgroup memory that the host sizes
    u32 pad;
    u64 fault;  // Fault*, or 0
    u64 cancel; // u32*, or 0
};

struct Fault {
    u32 taken, site, kind, buffer;
    u64 offset;
    u32 thread[3], group[3];
};

typedef __attribute__((address_space(1))) u8 device_byte;
typedef __attribute__((address_space(3))) u8 local_byte;
extern "C" local_byte mt_dynamic[];

// ---- positions ------------------------------------------------------------------------------------------------------

IN u32 hardware_thread(u32 axis) {
    return axis == 0 ? __nvvm_read_ptx_sreg_tid_x() : axis == 1 ? __nvvm_read_ptx_sreg_tid_y() : __nvvm_read_ptx_sreg_tid_z();
}
IN u32 group(u32 axis) {
    return axis == 0 ? __nvvm_read_ptx_sreg_ctaid_x() : axis == 1 ? __nvvm_read_ptx_sreg_ctaid_y() : __nvvm_read_ptx_sreg_ctaid_z();
}
IN u32 own_size(const Launch* l, u32 axis) {  // of this threadgroup: smaller at the edge of a grid
    u32 rest = l->grid[axis] - group(axis) * l->size[axis];
    return rest < l->size[axis] ? rest : l->size[axis];
}
IN u32 count(const Launch* l) { return own_size(l, 0) * own_size(l, 1) * own_size(l, 2); }
IN u32 index(const Launch* l) {
    u32 x = hardware_thread(0);
    return l->flat ? x : x + l->size[0] * (hardware_thread(1) + l->size[1] * hardware_thread(2));
}
IN u32 local(const Launch* l, u32 axis) {
    if (!l->flat) return hardware_thread(axis);
    u32 x = own_size(l, 0), y = own_size(l, 1), at = hardware_thread(0);
    return axis == 0 ? at % x : axis == 1 ? at / x % y : at / (x * y);
}
API u32 mtd_thread_position_in_threadgroup(u32 axis, const Launch* l) { return local(l, axis); }
API u32 mtd_threadgroup_position_in_grid(u32 axis, const Launch*) { return group(axis); }
API u32 mtd_thread_position_in_grid(u32 axis, const Launch* l) { return group(axis) * l->size[axis] + local(l, axis); }
API u32 mtd_threads_per_grid(u32 axis, const Launch* l) { return l->grid[axis]; }
API u32 mtd_grid_size(u32 axis, const Launch* l) { return l->grid[axis]; }
API u32 mtd_grid_origin(u32, const Launch*) { return 0; }
API u32 mtd_threads_per_threadgroup(u32 axis, const Launch* l) { return l->flat ? own_size(l, axis) : l->size[axis]; }
API u32 mtd_dispatch_threads_per_threadgroup(u32 axis, const Launch* l) { return l->size[axis]; }
API u32 mtd_threadgroups_per_grid(u32 axis, const Launch* l) { return l->groups[axis]; }
API u32 mtd_thread_index_in_threadgroup(u32, const Launch* l) { return index(l); }
API u32 mtd_thread_index_in_simdgroup(u32, const Launch*) { return __nvvm_read_ptx_sreg_laneid(); }
API u32 mtd_simdgroup_index_in_threadgroup(u32, const Launch* l) { return index(l) / WARP; }
API u32 mtd_threads_per_simdgroup(u32, const Launch*) { return WARP; }
API u32 mtd_thread_execution_width(u32, const Launch*) { return WARP; }
IN u32 whole(const Launch* l) { return l->size[0] * l->size[1] * l->size[2]; }
IN u32 mine(const Launch* l) { return l->flat ? count(l) : whole(l); }
API u32 mtd_simdgroups_per_threadgroup(u32, const Launch* l) { return (mine(l) + WARP - 1) / WARP; }
API u32 mtd_dispatch_simdgroups_per_threadgroup(u32, const Launch* l) { return (whole(l) + WARP - 1) / WARP; }
API u32 mtd_thread_index_in_quadgroup(u32, const Launch*) { return __nvvm_read_ptx_sreg_laneid() & 3; }
API u32 mtd_quadgroup_index_in_threadgroup(u32, const Launch* l) { return index(l) / 4; }
API u32 mtd_quadgroups_per_threadgroup(u32, const Launch* l) { return (mine(l) + 3) / 4; }
API u32 mtd_dispatch_quadgroups_per_threadgroup(u32, const Launch* l) { return (whole(l) + 3) / 4; }

// Memory that nobody has written holds zeros.
API void mtd_clear_private(u8* p, u32 size) { __builtin_memset(p, 0, size); }
API void mtd_clear_local(local_byte* p, u32 size, const Launch* l) {
    for (u32 n = index(l) * 4; n < size; n += mine(l) * 4)
        for (u32 k = n; k < n + 4 && k < size; k++) p[k] = 0;
}

API void mtd_clear_dynamic(const Launch* l) { mtd_clear_local(mt_dynamic, l->dynamic, l); }
API void mtd_settle(u32 cleared, const Launch* l) {
    if (cleared || l->dynamic) __nvvm_bar_sync(0);
}

// Blocks of a ragged grid are launched whole: threads behind the edge end at once.
API void mtd_begin(const Launch* l) {
    if (l->flat && hardware_thread(0) >= count(l)) asm volatile("exit;");
}

// ---- memory, faults -------------------------------------------------------------------------------------------------


API device_byte* mtd_buffer(u32 index, const Launch* l) { return (device_byte*)l->buffers[index]; }
API local_byte* mtd_threadgroup(u32 index, const Launch* l) { return mt_dynamic + l->local_offsets[index]; }

__attribute__((noinline, cold)) static void report(const Launch* l, u32 site, u32 kind, u32 buffer, u64 offset) {
    Fault* fault = (Fault*)l->fault;
    if (__nvvm_atom_cas_gen_i((int*)&fault->taken, 0, 1) == 0) {
        fault->site = site, fault->kind = kind, fault->buffer = buffer, fault->offset = offset;
        for (u32 a = 0; a < 3; a++) fault->thread[a] = group(a) * l->size[a] + local(l, a), fault->group[a] = group(a);
    }
    if (l->cancel) *(volatile u32*)l->cancel = 1;
    asm volatile("exit;");
    __builtin_unreachable();
}
// An access at `p` of `size` bytes that was made from buffer `index`.
API void mtd_guard_buffer(device_byte* p, u32 index, u32 size, u32 site, const Launch* l) {
    u64 offset = (u64)p - l->buffers[index];
    if (__builtin_expect(offset > l->lengths[index] || size > l->lengths[index] - offset, 0)) report(l, site, 0, index, offset);
}
// One `at` bytes behind the start of memory of `room` bytes.
API void mtd_guard_range(u64 at, u32 room, u32 size, u32 site, const Launch* l) {
    if (__builtin_expect(at > room || size > room - at, 0)) report(l, site, 1, 0, at);
}
// A lane's two elements of a matrix.
IN u64 row();
IN u64 column();
API void mtd_guard_matrix_buffer(device_byte* p, u32 index, u64 stride, u32 turned, u32 size, u32 site, const Launch* l) {
    for (u64 n = 0; n < 2; n++) {
        u64 e = turned ? (column() + n) * stride + row() : row() * stride + column() + n;
        mtd_guard_buffer(p + e * size, index, size, site, l);
    }
}
API void mtd_guard_matrix_range(u64 at, u32 room, u64 stride, u32 turned, u32 size, u32 site, const Launch* l) {
    for (u64 n = 0; n < 2; n++) {
        u64 e = turned ? (column() + n) * stride + row() : row() * stride + column() + n;
        mtd_guard_range(at + e * size, room, size, site, l);
    }
}
API u32 mtd_local_room(u32 index, const Launch* l) { return l->local_lengths[index]; }
// A pointer that may be of any buffer.
API void mtd_guard_any(device_byte* p, u32 size, u32 site, const Launch* l) {
    for (u32 n = 0; n < SLOTS; n++) {
        u64 offset = (u64)p - l->buffers[n];
        if (offset < l->lengths[n] && size <= l->lengths[n] - offset) return;
    }
    report(l, site, 2, 0, (u64)p);
}
// Loops ask whether they should go on.
API void mtd_poll(const Launch* l) {
    if (l->cancel && *(volatile u32*)l->cancel) asm volatile("exit;");
}

// ---- synchronisation ------------------------------------------------------------------------------------------------

API void mtd_threadgroup_barrier(u32 flags) {
    if (flags & 1) __nvvm_membar_cta();
    __nvvm_bar_sync(0);
}
API void mtd_simdgroup_barrier(u32) { __nvvm_bar_warp_sync(__nvvm_activemask()); }
API void mtd_fence(u32, u32, u32 scope) {
    if (scope >= 3) __nvvm_membar_gl();
    else __nvvm_membar_cta();
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

IN u32 lane() { return __nvvm_read_ptx_sreg_laneid(); }
IN u32 active() { return __nvvm_activemask(); }
IN u32 move(u32 mask, u32 v, u32 from) { return __nvvm_shfl_sync_idx_i32(mask, v, from, 31); }
template <class T> IN T take(u32 mask, T v, u32 from) {
    if constexpr (sizeof(T) <= 4) {
        u32 bits = 0;
        __builtin_memcpy(&bits, &v, sizeof(T));
        bits = move(mask, bits, from);
        __builtin_memcpy(&v, &bits, sizeof(T));
        return v;
    } else {
        u64 bits;
        __builtin_memcpy(&bits, &v, 8);
        bits = move(mask, (u32)bits, from) | (u64)move(mask, (u32)(bits >> 32), from) << 32;
        __builtin_memcpy(&v, &bits, 8);
        return v;
    }
}
// A group is the warp (32) or a quad of it (4): `start` its first lane, `W` its lanes.
template <u32 W> IN u32 start() { return lane() & ~(W - 1); }
template <u32 W> IN u32 members() { return W == 32 ? active() : active() & (15u << start<4>()); }
// What lane `n` of the group has; the own value where there is no such lane or it does not take part.
template <u32 W, class T> IN T from(T v, i32 n, T other) {
    u32 mask = active(), at = start<W>() + (u32)n;
    bool there = n >= 0 && n < (i32)W && (mask >> (at & 31) & 1);
    T got = take(mask, v, there ? at : lane());
    return there ? got : other;
}
#define MOVES(G, W, T, S)                                                                                     \
    API T mtd_##G##_broadcast_##S(T v, u16 n) { return from<W>(v, (i32)n, v); }                                \
    API T mtd_##G##_shuffle_##S(T v, u16 n) { return from<W>(v, (i32)n, v); }                                  \
    API T mtd_##G##_broadcast_first_##S(T v) { return take(active(), v, __builtin_ctz(members<W>())); }        \
    API T mtd_##G##_shuffle_xor_##S(T v, u16 m) { return from<W>(v, (i32)((lane() - start<W>()) ^ m), v); }    \
    API T mtd_##G##_shuffle_up_##S(T v, u16 d) { return from<W>(v, (i32)(lane() - start<W>()) - (i32)d, v); }  \
    API T mtd_##G##_shuffle_down_##S(T v, u16 d) { return from<W>(v, (i32)(lane() - start<W>()) + (i32)d, v); } \
    API T mtd_##G##_shuffle_rotate_up_##S(T v, u16 d) { return from<W>(v, (i32)((lane() - d) & (W - 1)), v); } \
    API T mtd_##G##_shuffle_rotate_down_##S(T v, u16 d) { return from<W>(v, (i32)((lane() + d) & (W - 1)), v); } \
    API T mtd_##G##_shuffle_and_fill_up_##S(T v, T f, u16 d, u16 m) {                                          \
        i32 l = (i32)(lane() - start<W>()), s = l / m * m, n = l % m - (i32)d;                                 \
        T filled = from<W>(f, s + (n + (i32)m), f);                                                            \
        T moved = from<W>(v, s + n, f);                                                                         \
        return n < 0 ? filled : moved;                                                                         \
    }                                                                                                          \
    API T mtd_##G##_shuffle_and_fill_down_##S(T v, T f, u16 d, u16 m) {                                        \
        i32 l = (i32)(lane() - start<W>()), s = l / m * m, n = l % m + (i32)d;                                 \
        T filled = from<W>(f, s + (n - (i32)m), f);                                                            \
        T moved = from<W>(v, s + n, f);                                                                         \
        return n >= (i32)m ? filled : moved;                                                                   \
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
// All lanes: a tree of shuffles. Else one member after the other.
template <u32 W, class Op, class T> IN T reduced(T v) {
    u32 mask = active(), group = members<W>();
    if (W == 32 ? mask == ALL : group == 15u << start<4>()) {
        for (u32 d = W / 2; d; d /= 2) v = Op::of(v, take(mask, v, lane() ^ d));
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
template <u32 W, class Op, class T> IN T scanned(T v, bool inclusive) {
    u32 mask = active(), group = members<W>();
    T total = Op::zero();
    for (u32 n = 0; n < 32; n++) {
        if (!(mask >> n & 1)) continue;
        T got = take(mask, v, n);
        if ((group >> n & 1) && (n < lane() || (inclusive && n == lane()))) total = Op::of(total, got);
    }
    return total;
}
#define REDUCTIONS(G, W, T, C, S)                                                                                 \
    API T mtd_##G##_sum_##S(T v) { return (T)reduced<W, Sum<C>, C>((C)v); }                                        \
    API T mtd_##G##_product_##S(T v) { return (T)reduced<W, Product<C>, C>((C)v); }                                \
    API T mtd_##G##_min_##S(T v) { return (T)reduced<W, Min<C>, C>((C)v); }                                        \
    API T mtd_##G##_max_##S(T v) { return (T)reduced<W, Max<C>, C>((C)v); }                                        \
    API T mtd_##G##_prefix_inclusive_sum_##S(T v) { return (T)scanned<W, Sum<C>, C>((C)v, true); }                 \
    API T mtd_##G##_prefix_exclusive_sum_##S(T v) { return (T)scanned<W, Sum<C>, C>((C)v, false); }                \
    API T mtd_##G##_prefix_inclusive_product_##S(T v) { return (T)scanned<W, Product<C>, C>((C)v, true); }         \
    API T mtd_##G##_prefix_exclusive_product_##S(T v) { return (T)scanned<W, Product<C>, C>((C)v, false); }
#define BITWISE(G, W, T, S)                                                             \
    API T mtd_##G##_and_##S(T v) { return reduced<W, And<T>, T>(v); }                    \
    API T mtd_##G##_or_##S(T v) { return reduced<W, Or<T>, T>(v); }                      \
    API T mtd_##G##_xor_##S(T v) { return reduced<W, Xor<T>, T>(v); }
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
    API bool mtd_##G##_all(bool v) { return !(~__nvvm_vote_ballot_sync(active(), v) & members<W>()); } \
    API bool mtd_##G##_any(bool v) { return __nvvm_vote_ballot_sync(active(), v) & members<W>(); }     \
    API u64 mtd_##G##_ballot(bool v) { return (__nvvm_vote_ballot_sync(active(), v) & members<W>()) >> (W == 4 ? start<4>() : 0); } \
    API u64 mtd_##G##_active_threads_mask() { return members<W>() >> (W == 4 ? start<4>() : 0); }      \
    API bool mtd_##G##_is_first() { return lane() == (u32)__builtin_ctz(members<W>()); }
GROUP(simd, 32)
GROUP(quad, 4)

// ---- matrices: 8x8, two neighbouring elements per lane --------------------------------------------------------------

struct Pair { u32 a, b; };
IN u64 row() { return (lane() >> 4 & 1) * 4 + (lane() >> 1 & 3); }
IN u64 column() { return (lane() >> 3 & 1) * 4 + (lane() & 1) * 2; }
#define MATRIX(N, SPACE)                                                                                          \
    API Pair mtd_matrix_load_b32_##N(const __attribute__((address_space(SPACE))) u32* p, u64 stride, u32 turned) { \
        u64 r = row(), c = column();                                                                              \
        return turned ? Pair{p[c * stride + r], p[(c + 1) * stride + r]} : Pair{p[r * stride + c], p[r * stride + c + 1]}; \
    }                                                                                                              \
    API u32 mtd_matrix_load_b16_##N(const __attribute__((address_space(SPACE))) u16* p, u64 stride, u32 turned) {  \
        u64 r = row(), c = column();                                                                               \
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
MATRIX(device, 1)
MATRIX(threadgroup, 3)
IN u32 holder(u32 r, u32 c) { return (r >> 2) << 4 | (c >> 2) << 3 | (r & 3) << 1 | (c >> 1 & 1); }
IN float element(u32 mask, float v, u32 from) {  // a lane that does not take part counts as zeros
    bool there = mask >> from & 1;
    float got = take(mask, v, there ? from : lane());
    return there ? got : 0.0f;
}
API Pair mtd_matrix_multiply_accumulate(float a0, float a1, float b0, float b1, float c0, float c1) {
    u32 mask = active(), r = (u32)row(), c = (u32)column();
    for (u32 k = 0; k < 8; k++) {
        float low = element(mask, a0, holder(r, k)), high = element(mask, a1, holder(r, k)), a = k & 1 ? high : low;
        float x = element(mask, b0, holder(k, c)), y = element(mask, b1, holder(k, c));
        c0 = __builtin_fmaf(a, x, c0), c1 = __builtin_fmaf(a, y, c1);
    }
    return {__builtin_bit_cast(u32, c0), __builtin_bit_cast(u32, c1)};
}

// ---- what LLVM has no instruction for -------------------------------------------------------------------------------

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

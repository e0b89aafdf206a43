// One token of a Llama on a device that runs thousands of threads at once, byte by byte: what goes into a product is rounded
// to 8 bits, 32 numbers with one scale, as in bytewise.metal. Weights lie as in wide.metal.
//
// Threadgroups are as many as the device has multiprocessors, or fewer. Their SIMD-groups take rows in turns; the first rows
// are on their way before the input is looked at, those of the next turn while those of this one are multiplied.
#include "weights.h"

constant constexpr uint MOST = 32;  // SIMD-groups of a threadgroup
constant constexpr uint STRETCH = 64;  // blocks of a row that a SIMD-group takes at once, two of each lane

// What rounded inputs look like in threadgroup memory, block by block: 16 bytes, 16 bytes, and what their sum begins with.
struct Begin {
    float d;
    int sum;
};

struct Inputs {
    threadgroup uint4* near;
    threadgroup uint4* far;
    threadgroup Begin* begin;
    Inputs(threadgroup uint4* lines, uint blocks) {
        near = lines;
        far = lines + blocks;
        begin = (threadgroup Begin*)(lines + 2 * blocks);
    }
};

// Integers up to 2^22 either way that are added to these bits are added to the number that the bits are.
constant constexpr uint RAISED = 0x4b400000;
constant constexpr float RAISED_BY = 12582912;

// Eight threads round a block, four numbers each: v[j] are numbers 4 * (n + j * threads) and on. All threads come here, and
// store what there is. What is not a number has larger bits than any that is. A number is rounded by what is too small for
// the number it is added to.
template <uint COUNT>
inline void put(thread const float4* v, Inputs to, uint n, uint threads, uint columns) {
    uint most[COUNT];
    uint4 q[COUNT];
    uint sum[COUNT];
    for (uint j = 0; j < COUNT; j++) {
        uint4 bits = as_type<uint4>(abs(v[j]));
        most[j] = max(max(bits.x, bits.y), max(bits.z, bits.w));
    }
    for (ushort step = 1; step < 8; step *= 2)
        for (uint j = 0; j < COUNT; j++) most[j] = max(most[j], simd_shuffle_xor(most[j], step));
    for (uint j = 0; j < COUNT; j++) {
        float top = as_type<float>(most[j]), scale = top > 0 ? 127 / top : 0.0f;
        q[j] = as_type<uint4>(fma(v[j], scale, RAISED_BY));
        sum[j] = q[j].x + q[j].y + q[j].z + q[j].w;
    }
    for (ushort step = 1; step < 8; step *= 2)
        for (uint j = 0; j < COUNT; j++) sum[j] += simd_shuffle_xor(sum[j], step);
    for (uint j = 0; j < COUNT; j++) {
        uint at = n + j * threads, block = at / 8, part = at % 8;
        if (4 * at >= columns) continue;
        threadgroup uint4* side = part < 4 ? to.near : to.far;
        ((threadgroup uint*)(side + block))[part % 4] = as_type<uint>(uchar4(q[j]));
        float top = as_type<float>(most[j]);
        if (part == 0) to.begin[block] = {top * (1 / 127.0f) + (top - top), int(RAISED - 8 * (sum[j] - 32 * RAISED))};
    }
}

// A thread's first numbers of `gain`, which can be had before those of `x`.
inline float4 first_of(device const float* gain, uint columns, uint t) {
    return *(device const float4*)(gain + min(4 * t, columns - 4));
}

// All numbers of x times gain; the sum of the squares of those of this thread.
inline float put_all(device const float* x, device const float* gain, float4 first, uint columns, Inputs to, uint t,
                     uint threads) {
    float squares = 0;
    for (uint from = 0; from < columns / 4; from += threads) {
        uint n = from + t, at = min(4 * n, columns - 4);
        float4 v = *(device const float4*)(x + at), g = from == 0 ? first : *(device const float4*)(gain + at);
        squares += 4 * n < columns ? dot(v, v) : 0.0f;
        v *= g;
        put<1>(&v, to, n, threads, columns);
    }
    return squares;
}

// All numbers of x, COUNT times four of each thread at once.
template <uint COUNT>
inline void put_all(device const float* x, uint columns, Inputs to, uint t, uint threads) {
    for (uint from = 0; from < columns / 4; from += COUNT * threads) {
        float4 v[COUNT];
        for (uint j = 0; j < COUNT; j++)
            v[j] = *(device const float4*)(x + min(4 * (from + j * threads + t), columns - 4));
        put<COUNT>(v, to, from + t, threads, columns);
    }
}

// 1 / sqrt(mean(x^2) + eps). All threads come here, so what was put is there too.
inline float norm_of(float squares, uint columns, float eps, threadgroup float* parts, uint t, uint threads) {
    squares = simd_sum(squares);
    if (t % 32 == 0) parts[t / 32] = squares;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = 0;
    for (uint n = 0; n < threads / 32; n++) total += parts[n];
    return rsqrt(total / float(columns) + eps);
}

inline int dot4(uint a, uint b, int sum) {
    char4 x = as_type<char4>(a), y = as_type<char4>(b);
    return sum + int(x.x) * y.x + int(x.y) * y.y + int(x.z) * y.z + int(x.w) * y.w;
}

// Blocks of ROWS rows: those of a lane in a stretch.
template <uint ROWS>
struct Loaded {
    uint4 q[2 * ROWS];
    half d[2 * ROWS];

    // `at` are the first groups of the rows, which have `blocks` blocks.
    void load(device const Q4_0x8* weights, thread const uint* at, uint stretch, uint blocks, uint lane) {
        for (uint n = 0; n < 2; n++) {
            uint b = stretch * STRETCH + 32 * n + lane;
            if (b >= blocks) continue;
            for (uint r = 0; r < ROWS; r++) {
                device const Q4_0x8& group = weights[at[r] + b / 8];
                q[n * ROWS + r] = group.q[b % 8];
                d[n * ROWS + r] = group.d[b % 8];
            }
        }
    }
    void add(Inputs x, uint stretch, uint blocks, uint lane, thread float* sum) const {
        for (uint n = 0; n < 2; n++) {
            uint b = stretch * STRETCH + 32 * n + lane;
            if (b >= blocks) continue;
            uint4 near = x.near[b], far = x.far[b];
            Begin begin = x.begin[b];
            for (uint r = 0; r < ROWS; r++) {
                uint4 w = q[n * ROWS + r];
                int all = begin.sum;
                for (uint j = 0; j < 4; j++) {
                    all = dot4(w[j] & 0x0f0f0f0f, near[j], all);
                    all = dot4(w[j] >> 4 & 0x0f0f0f0f, far[j], all);
                }
                sum[r] = fma(float(d[n * ROWS + r]) * begin.d, as_type<float>(all) - RAISED_BY, sum[r]);
            }
        }
    }
};

// The first groups of rows, ROWS from `first`; where there are no more rows, those of the last.
template <uint ROWS>
struct Rows {
    uint at[ROWS];
    Rows(uint first, uint rows, uint columns) {
        for (uint r = 0; r < ROWS; r++) at[r] = min(first + r, rows - 1) * (columns / 256);
    }
};

// out = weights @ rms_norm(x)
template <uint ROWS>
kernel void norm_matvec(device const Q4_0x8* weights, device const float* x, device const float* gain,
                        device float* out, constant uint& rows, constant uint& columns, constant float& eps,
                        threadgroup uint4* lines [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
                        uint groups [[threadgroups_per_grid]], uint t [[thread_index_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[MOST];
    uint width = columns, blocks = width / 32, stretches = (blocks + STRETCH - 1) / STRETCH;
    uint first = (group * (threads / 32) + simd) * ROWS, step = groups * (threads / 32) * ROWS;
    Inputs inputs(lines, blocks);
    Loaded<ROWS> now;
    now.load(weights, Rows<ROWS>(first, rows, width).at, 0, blocks, lane);
    float4 early = first_of(gain, width, t);
    float scale = norm_of(put_all(x, gain, early, width, inputs, t, threads), width, eps, parts, t, threads);
    float sum[ROWS] = {};
    uint stretch = 0;
    while (first < rows) {
        uint next = stretch + 1 < stretches ? first : first + step, then = stretch + 1 < stretches ? stretch + 1 : 0;
        Loaded<ROWS> soon;
        if (next < rows) soon.load(weights, Rows<ROWS>(next, rows, width).at, then, blocks, lane);
        now.add(inputs, stretch, blocks, lane, sum);
        if (then == 0) {
            float mine = gathered<ROWS>(sum, lane) * scale;
            uint row = first + lane / (32 / ROWS);
            if (lane % (32 / ROWS) == 0 && row < rows) out[row] = mine;
            for (uint r = 0; r < ROWS; r++) sum[r] = 0;
        }
        first = next;
        stretch = then;
        now = soon;
    }
}
template [[host_name("norm_matvec")]] kernel decltype(norm_matvec<4>) norm_matvec<4>;

// out = silu(gate @ rms_norm(x)) * (up @ rms_norm(x))
template <uint ROWS>
kernel void norm_gate_up(device const Q4_0x8* gate, device const Q4_0x8* up, device const float* x,
                         device const float* gain, device float* out, constant uint& rows, constant uint& columns,
                         constant float& eps, threadgroup uint4* lines [[threadgroup(0)]],
                         uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]],
                         uint t [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[MOST];
    uint width = columns, blocks = width / 32, stretches = (blocks + STRETCH - 1) / STRETCH;
    uint first = (group * (threads / 32) + simd) * ROWS, step = groups * (threads / 32) * ROWS;
    Inputs inputs(lines, blocks);
    Loaded<ROWS> one, two;
    Rows<ROWS> begin(first, rows, width);
    one.load(gate, begin.at, 0, blocks, lane);
    two.load(up, begin.at, 0, blocks, lane);
    float4 early = first_of(gain, width, t);
    float scale = norm_of(put_all(x, gain, early, width, inputs, t, threads), width, eps, parts, t, threads);
    float sum[2 * ROWS] = {};
    uint stretch = 0;
    while (first < rows) {
        uint next = stretch + 1 < stretches ? first : first + step, then = stretch + 1 < stretches ? stretch + 1 : 0;
        Loaded<ROWS> soon, later;
        if (next < rows) {
            Rows<ROWS> own(next, rows, width);
            soon.load(gate, own.at, then, blocks, lane);
            later.load(up, own.at, then, blocks, lane);
        }
        one.add(inputs, stretch, blocks, lane, sum);
        two.add(inputs, stretch, blocks, lane, sum + ROWS);
        if (then == 0) {
            float g = gathered<2 * ROWS>(sum, lane) * scale, u = simd_shuffle_xor(g, ushort(16));
            uint row = first + lane / (16 / ROWS);
            if (lane < 16 && lane % (16 / ROWS) == 0 && row < rows) out[row] = g / (1 + exp(-g)) * u;
            for (uint r = 0; r < 2 * ROWS; r++) sum[r] = 0;
        }
        first = next;
        stretch = then;
        one = soon;
        two = later;
    }
}
template [[host_name("norm_gate_up")]] kernel decltype(norm_gate_up<2>) norm_gate_up<2>;

// out += weights @ x. SLICES SIMD-groups share ROWS rows: each takes every SLICES-th stretch. A threadgroup's rows are its own.
template <uint ROWS, uint SLICES>
kernel void matvec_add(device const Q4_0x8* weights, device const float* x, device float* out, constant uint& rows,
                       constant uint& columns, threadgroup uint4* lines [[threadgroup(0)]],
                       uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                       uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                       uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[MOST * ROWS];
    uint slice = simd % SLICES, width = columns, blocks = width / 32;
    uint stretches = (blocks + STRETCH - 1) / STRETCH, own = threads / 32 / SLICES * ROWS;
    uint first = group * own, row = first + simd / SLICES * ROWS;
    Inputs inputs(lines, blocks);
    Rows<ROWS> begin(row, rows, width);
    Loaded<ROWS> now;
    now.load(weights, begin.at, slice, blocks, lane);
    uint to = SLICES == 1 ? row + lane / (32 / ROWS) : first + t;  // what this thread adds to, where it does
    bool ends = (SLICES == 1 || t < own) && to < rows;
    float before = ends ? out[to] : 0.0f;
    put_all<SLICES>(x, width, inputs, t, threads);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum[ROWS] = {};
    now.add(inputs, slice, blocks, lane, sum);
    for (uint s = slice + SLICES; s < stretches; s += SLICES) {
        now.load(weights, begin.at, s, blocks, lane);
        now.add(inputs, s, blocks, lane, sum);
    }
    float mine = gathered<ROWS>(sum, lane);
    if (SLICES == 1) {
        if (lane % (32 / ROWS) == 0 && ends) out[to] = before + mine;
        return;
    }
    if (lane % (32 / ROWS) == 0) parts[simd * ROWS + lane / (32 / ROWS)] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!ends) return;
    float all = 0;
    for (uint n = 0; n < SLICES; n++) all += parts[(t / ROWS * SLICES + n) * ROWS + t % ROWS];
    out[to] = before + all;
}
template [[host_name("matvec_add_short")]] kernel decltype(matvec_add<1, 1>) matvec_add<1, 1>;
template [[host_name("matvec_add_long")]] kernel decltype(matvec_add<4, 4>) matvec_add<4, 4>;

struct Shape {
    uint heads, kv_heads, head, context, interleaved;
};

struct Place {
    uint position, count;
};

// Queries, keys and values of one token: a SIMD-group takes two rows that are turned with each other. wide_attend.metal puts
// keys and values into the cache.
kernel void norm_heads(device const Q4_0x8* weights, device const float* x, device const float* gain,
                       device float* q, device float* k, device float* v, device const float2* turns,
                       constant Shape& shape, constant Place& place, constant uint& columns, constant float& eps,
                       threadgroup uint4* lines [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
                       uint t [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[MOST];
    uint pairs = shape.head / 2, one = group * (threads / 32) + simd, width = columns;
    uint blocks = width / 32, stretches = (blocks + STRETCH - 1) / STRETCH;
    uint heads = shape.heads + 2 * shape.kv_heads, head = min(one / pairs, heads - 1), pair = one % pairs;
    bool query = head < shape.heads, key = !query && head < shape.heads + shape.kv_heads;
    uint own = query ? head : key ? head - shape.heads : head - shape.heads - shape.kv_heads;
    uint a = shape.interleaved ? 2 * pair : pair, b = shape.interleaved ? 2 * pair + 1 : pair + pairs;
    uint rows[2] = {head * shape.head + a, head * shape.head + b};
    uint at[2] = {rows[0] * (width / 256), rows[1] * (width / 256)};
    Inputs inputs(lines, blocks);
    Loaded<2> now;
    now.load(weights, at, 0, blocks, lane);
    float4 early = first_of(gain, width, t);
    float2 turn = turns[ulong(place.position) * pairs + pair];
    float scale = norm_of(put_all(x, gain, early, width, inputs, t, threads), width, eps, parts, t, threads);
    float sum[2] = {};
    now.add(inputs, 0, blocks, lane, sum);
    for (uint s = 1; s < stretches; s++) {
        now.load(weights, at, s, blocks, lane);
        now.add(inputs, s, blocks, lane, sum);
    }
    float u = gathered<2>(sum, lane) * scale, w = simd_shuffle_xor(u, ushort(16));
    if (lane > 0 || one >= heads * pairs) return;
    float x0 = u * turn.x - w * turn.y, x1 = w * turn.x + u * turn.y;
    a += own * shape.head;
    b += own * shape.head;
    if (query) {
        q[a] = x0;
        q[b] = x1;
    } else if (key) {
        k[a] = x0;
        k[b] = x1;
    } else {
        v[a] = u;
        v[b] = w;
    }
}

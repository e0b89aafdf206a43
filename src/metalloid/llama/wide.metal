// One token of a Llama on a device that runs thousands of threads at once: a threadgroup has eight SIMD-groups, a lane
// takes a whole block of weights, and what a launch can do at once it does, because the next one waits for all of it.
#include "choice.h"
#include "weights.h"

constant constexpr uint SIMDS = 8, THREADS = 32 * SIMDS;

// Inputs lie in threadgroup memory in lines of eight float4 for each block of 32 columns, in an order that is another for
// neighbouring lines: lanes that read the same part of their own lines find it in different banks.
inline uint place_of(uint block, uint part) { return block * 8 + (part ^ (block & 7)); }

// What bytes of weights are multiplied with, 16 floats for their low halves and 16 for whole bytes: weight i is in the low
// half of byte i and weight i + 16 in the high one, so that a high half is the byte less the low half, over 16. Every second
// byte is seen 256 times as large.
template <typename X>
inline float stage(X x, uint from, uint columns, threadgroup float4* lines, uint t) {
    float squares = 0;
    for (uint n = t; n < columns / 8; n += THREADS) {
        uint block = n / 4, part = n % 4, k = from + block * 32 + part * 4;
        float4 near = x(k, squares), high = x(k + 16, squares) / 16, each = {1, 0x1p-8f, 1, 0x1p-8f};
        lines[place_of(block, part)] = (near - high) * each;
        lines[place_of(block, part + 4)] = high * each;
    }
    return squares;
}

struct Vector {
    device const float* x;
    float4 operator()(uint k, thread float& squares) const { return *(device const float4*)(x + k); }
};

struct Gained {
    device const float* x;
    device const float* gain;
    float4 operator()(uint k, thread float& squares) const {
        float4 v = *(device const float4*)(x + k);
        squares += dot(v, v);
        return v * *(device const float4*)(gain + k);
    }
};

// 1 / sqrt(mean(x^2) + eps) of the squares that threads have seen. All of them come here, so what was staged is there too.
inline float norm_of(float squares, uint columns, float eps, threadgroup float* parts, uint t) {
    squares = simd_sum(squares);
    if (t % 32 == 0) parts[t / 32] = squares;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = 0;
    for (uint n = 0; n < SIMDS; n++) total += parts[n];
    return rsqrt(total / float(columns) + eps);
}

// A byte, or its low half, as a float: in a float of 2^23 and more the last bits count ones, so that a number is put there
// by its bits alone. The second byte is put there where it is, and comes out 256 times as large.
inline float2 two_of(uint word, uint mask, uint exponent, float2 less) {
    return float2(as_type<float>(word & mask | exponent), as_type<float>(word & mask << 8 | exponent)) - less;
}

// The bits of 2^23. No compiler sees that this is always the same: a number in a register is masked and joined with them
// in one instruction, which has room for one number of its own.
inline uint exponent_of(uint blocks) { return blocks > 1 << 26 ? 0 : 0x4b000000; }

inline float times(uint4 q, threadgroup const float4* lines, uint block, uint exponent) {
    const float raised = 8388608;
    const float2 less = {raised + 8, raised + 256 * 8}, more = {raised + 16 * 8 + 8, raised + 256 * (16 * 8 + 8)};
    float sum = 0;
    for (uint w = 0; w < 4; w++) {
        float4 low = lines[place_of(block, w)], high = lines[place_of(block, w + 4)];
        float2 a = two_of(q[w], 15, exponent, less), b = two_of(q[w], 255, exponent, more);
        float2 c = two_of(q[w] >> 16, 15, exponent, less), d = two_of(q[w] >> 16, 255, exponent, more);
        sum = fma(low.x, a.x, fma(low.y, a.y, fma(low.z, c.x, fma(low.w, c.y, sum))));
        sum = fma(high.x, b.x, fma(high.y, b.y, fma(high.z, d.x, fma(high.w, d.y, sum))));
    }
    return sum;
}

// Blocks of rows that a lane has loaded, DEPTH of each.
template <uint ROWS, uint DEPTH>
struct Loaded {
    uint4 q[DEPTH * ROWS];
    half d[DEPTH * ROWS];

    // `row` are the first groups of the rows, `block` counts from there; there are blocks up to `end`.
    void load(device const Q4_0x8* weights, thread const uint* row, uint block, uint end) {
        for (uint n = 0; n < DEPTH; n++) {
            uint b = block + 32 * n;
            if (b >= end) continue;
            for (uint r = 0; r < ROWS; r++) {
                device const Q4_0x8& group = weights[row[r] + b / 8];
                q[n * ROWS + r] = group.q[b % 8];
                d[n * ROWS + r] = group.d[b % 8];
            }
        }
    }
    void add(threadgroup const float4* lines, uint block, uint end, thread float* sum) const {
        for (uint n = 0; n < DEPTH; n++) {
            uint b = block + 32 * n, i = n * ROWS;
            if (b >= end) continue;
            for (uint r = 0; r < ROWS; r++)
                sum[r] = fma(float(d[i + r]), times(q[i + r], lines, b, exponent_of(end)), sum[r]);
        }
    }
};

// The rest of the blocks of a lane, after the first ones.
template <uint ROWS, uint DEPTH>
inline void add_rest(device const Q4_0x8* weights, thread const uint* row, uint lane, uint end,
                     threadgroup const float4* lines, thread float* sum) {
    for (uint b = lane + 32 * DEPTH; b < end; b += 32 * DEPTH) {
        Loaded<ROWS, DEPTH> more;
        more.load(weights, row, b, end);
        more.add(lines, b, end, sum);
    }
}

// The first groups of the rows that a SIMD-group takes; where there are no more rows, those of the last.
template <uint ROWS>
struct Rows {
    uint at[ROWS];
    Rows(uint first, uint rows, uint columns) {
        for (uint r = 0; r < ROWS; r++) at[r] = min(first + r, rows - 1) * (columns / 256);
    }
};

// out = weights @ rms_norm(x). Weights are on their way before the input is looked at.
template <uint ROWS>
kernel void norm_matvec(device const Q4_0x8* weights, device const float* x, device const float* gain,
                        device float* out, constant uint& rows, constant uint& columns, constant float& eps,
                        threadgroup float4* lines [[threadgroup(0)]],
                        uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float parts[SIMDS];
    uint lane = t % 32, first = (group * SIMDS + t / 32) * ROWS, width = columns, blocks = width / 32;
    Rows<ROWS> own(first, rows, width);
    Loaded<ROWS, 2> loaded;
    loaded.load(weights, own.at, lane, blocks);
    float sum[ROWS] = {};
    float scale = norm_of(stage(Gained{x, gain}, 0, width, lines, t), width, eps, parts, t);
    loaded.add(lines, lane, blocks, sum);
    add_rest<ROWS, 2>(weights, own.at, lane, blocks, lines, sum);
    float mine = collected<ROWS>(sum, lane) * scale;
    if (lane < ROWS && first + lane < rows) out[first + lane] = mine;
}
template [[host_name("norm_matvec_q4_0x8")]] kernel decltype(norm_matvec<4>) norm_matvec<4>;

// out += weights @ x, of the columns from `from` to `from + count`.
kernel void matvec_add_q4_0x8(device const Q4_0x8* weights, device const float* x, device float* out,
                              constant uint& rows, constant uint& columns, constant uint& from,
                              constant uint& count, threadgroup float4* lines [[threadgroup(0)]],
                              uint group [[threadgroup_position_in_grid]],
                              uint t [[thread_index_in_threadgroup]]) {
    uint lane = t % 32, row = group * SIMDS + t / 32, blocks = count / 32;
    Rows<1> own(row, rows, columns);
    own.at[0] += from / 256;
    Loaded<1, 8> loaded;
    loaded.load(weights, own.at, lane, blocks);
    float sum[1] = {};
    stage(Vector{x}, from, count, lines, t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    loaded.add(lines, lane, blocks, sum);
    add_rest<1, 8>(weights, own.at, lane, blocks, lines, sum);
    float mine = simd_sum(sum[0]);
    if (lane == 0 && row < rows) out[row] += mine;
}

// out = silu(gate @ rms_norm(x)) * (up @ rms_norm(x))
template <uint ROWS>
kernel void norm_gate_up(device const Q4_0x8* gate, device const Q4_0x8* up, device const float* x,
                         device const float* gain, device float* out, constant uint& rows, constant uint& columns,
                         constant float& eps, threadgroup float4* lines [[threadgroup(0)]],
                         uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float parts[SIMDS];
    uint lane = t % 32, row = (group * SIMDS + t / 32) * ROWS, width = columns, blocks = width / 32;
    Rows<ROWS> own(row, rows, width);
    Loaded<ROWS, 2> one, two;
    one.load(gate, own.at, lane, blocks);
    two.load(up, own.at, lane, blocks);
    float first[ROWS] = {}, second[ROWS] = {};
    float scale = norm_of(stage(Gained{x, gain}, 0, width, lines, t), width, eps, parts, t);
    one.add(lines, lane, blocks, first);
    two.add(lines, lane, blocks, second);
    add_rest<ROWS, 2>(gate, own.at, lane, blocks, lines, first);
    add_rest<ROWS, 2>(up, own.at, lane, blocks, lines, second);
    float g = collected<ROWS>(first, lane) * scale, u = collected<ROWS>(second, lane) * scale;
    if (lane < ROWS && row + lane < rows) out[row + lane] = g / (1 + exp(-g)) * u;
}
template [[host_name("norm_gate_up_q4_0x8")]] kernel decltype(norm_gate_up<2>) norm_gate_up<2>;

struct Shape {
    uint heads, kv_heads, head, context, interleaved;
};

struct Place {
    uint position, count;
};

// The first groups of two rows that are turned with each other.
struct Turned {
    uint at[2];
    Turned(thread const uint* row, uint rows, uint columns) {
        for (uint r = 0; r < 2; r++) at[r] = min(row[r], rows - 1) * (columns / 256);
    }
};

// Queries, keys and values of one token; `weights` has the rows of the one below those of the other. A SIMD-group takes
// the two rows that are turned with each other; queries stay, keys and values go into the cache, which is
// [head][dimension][position].
kernel void norm_heads_q4_0x8(device const Q4_0x8* weights, device const float* x, device const float* gain,
                              device float* q, device float* keys, device float* values, device const float2* turns,
                              constant Shape& shape, constant Place& place, constant uint& columns,
                              constant float& eps, threadgroup float4* lines [[threadgroup(0)]],
                              uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float parts[SIMDS];
    uint lane = t % 32, pairs = shape.head / 2, one = group * SIMDS + t / 32, width = columns, blocks = width / 32;
    uint heads = shape.heads + 2 * shape.kv_heads, head = min(one / pairs, heads - 1), pair = one % pairs;
    bool query = head < shape.heads, key = !query && head < shape.heads + shape.kv_heads;
    uint own = query ? head : key ? head - shape.heads : head - shape.heads - shape.kv_heads;
    uint a = shape.interleaved ? 2 * pair : pair, b = shape.interleaved ? 2 * pair + 1 : pair + pairs;
    uint rows[2] = {head * shape.head + a, head * shape.head + b};
    Turned turned(rows, heads * shape.head, width);
    Loaded<2, 2> loaded;
    loaded.load(weights, turned.at, lane, blocks);
    float sum[2] = {};
    float scale = norm_of(stage(Gained{x, gain}, 0, width, lines, t), width, eps, parts, t);
    loaded.add(lines, lane, blocks, sum);
    add_rest<2, 2>(weights, turned.at, lane, blocks, lines, sum);
    float u = simd_sum(sum[0]) * scale, v = simd_sum(sum[1]) * scale;
    if (lane > 0 || one >= heads * pairs) return;
    float2 turn = turns[ulong(place.position) * pairs + pair];
    float x0 = u * turn.x - v * turn.y, x1 = v * turn.x + u * turn.y;
    ulong at = ulong(own) * shape.head * shape.context + place.position;
    if (query) {
        q[rows[0]] = x0;
        q[rows[1]] = x1;
    } else if (!key) {
        values[at + ulong(a) * shape.context] = u;
        values[at + ulong(b) * shape.context] = v;
    } else {
        keys[at + ulong(a) * shape.context] = x0;
        keys[at + ulong(b) * shape.context] = x1;
    }
}

// One threadgroup per head, for one token. Eight SIMD-groups share the dimensions of 32 positions, so that all loads are on
// their way at once; after that each takes dimensions of its own.
kernel void attend(device const float* q, device const float* keys, device const float* values, device float* scores,
                   device float* out, constant Shape& shape, constant Place& place,
                   uint head [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float query[256], sums[1024], parts[2 * 32];
    uint lane = t % 32, simd = t / 32, size = min(shape.head, 256u), context = shape.context;
    uint seen = min(place.position + 1, context);
    if (t < size) query[t] = q[head * size + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong cache = ulong(head / (shape.heads / shape.kv_heads)) * size * context;
    device float* score = scores + ulong(head) * context;
    float scale = rsqrt(float(size)), most = -INFINITY, total = 0;
    for (uint base = 0; base < seen; base += 128) {
        uint at = base + simd / 8 * 32 + lane;
        float sum = 0;
        if (at < seen)
            for (uint d = simd % 8; d < size; d += 8) sum = fma(query[d], keys[cache + ulong(d) * context + at], sum);
        sums[simd % 8 * 128 + simd / 8 * 32 + lane] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < 128 && base + t < seen) {
            float all = 0;
            for (uint n = 0; n < 8; n++) all += sums[n * 128 + t];
            score[base + t] = all * scale;
            most = max(most, all * scale);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    most = simd_max(most);
    if (lane == 0) parts[simd] = most;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    most = simd_max(parts[lane]);
    for (uint at = t; at < seen; at += 1024) {
        float weight = exp(score[at] - most);
        score[at] = weight;
        total += weight;
    }
    total = simd_sum(total);
    if (lane == 0) parts[32 + simd] = total;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    total = simd_sum(parts[32 + lane]);
    for (uint d = simd; d < size; d += 32) {
        float sum = 0;
        for (uint at = lane; at < seen; at += 32) sum = fma(score[at], values[cache + ulong(d) * context + at], sum);
        sum = simd_sum(sum);
        if (lane == 0) out[head * size + d] = sum / total;
    }
}

// The first of the largest of a stretch of numbers, for each threadgroup: its value and its place.
kernel void largest(device const float* x, device float* values, device uint* places, constant uint& n,
                    constant uint& stretch, uint group [[threadgroup_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]]) {
    threadgroup float best_of[SIMDS];
    threadgroup uint place_of[SIMDS];
    uint end = min(n, (group + 1) * stretch), place = 0xffffffff;
    float best = -INFINITY;
    for (uint i = group * stretch + t; i < end; i += THREADS) {
        if (x[i] > best || place == 0xffffffff) {
            best = x[i];
            place = i;
        }
    }
    float top = simd_max(place == 0xffffffff ? -INFINITY : best);
    place = simd_min(place != 0xffffffff && best == top ? place : 0xffffffff);
    if (t % 32 == 0) {
        best_of[t / 32] = top;
        place_of[t / 32] = place;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        for (uint s = 1; s < SIMDS; s++)
            if (best_of[s] > top || (best_of[s] == top && place_of[s] < place)) {
                top = best_of[s];
                place = place_of[s];
            }
        values[group] = top;
        places[group] = place;
    }
}

// The sum over all 1024 threads, or the least.
inline float total_of(float v, threadgroup float* parts, uint t) {
    v = simd_sum(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 32 == 0) parts[t / 32] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(parts[t % 32]);
}
inline uint count_of(uint v, threadgroup float* parts, uint t) {
    v = simd_sum(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 32 == 0) parts[t / 32] = as_type<float>(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(as_type<uint>(parts[t % 32]));
}
inline uint least_of(uint v, threadgroup float* parts, uint t) {
    v = simd_min(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 32 == 0) parts[t / 32] = as_type<float>(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_min(as_type<uint>(parts[t % 32]));
}

// As `sample` of sampling.metal, by one threadgroup of 1024 threads; `values` and `places` are what `largest` found.
kernel void choose(device const float* logits, device float* kept, device int* out, constant uint& n,
                   constant Choice& choice, constant uint& step, device const float* values,
                   device const uint* places, constant uint& found, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float parts[32];
    float best = -INFINITY;
    for (uint i = t; i < found; i += 1024) best = max(best, values[i]);
    best = simd_max(best);
    if (t % 32 == 0) parts[t / 32] = best;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    best = simd_max(parts[t % 32]);
    uint mine = 0xffffffff;
    for (uint i = t; i < found; i += 1024) mine = values[i] == best ? min(mine, places[i]) : mine;
    uint likeliest = least_of(mine, parts, t);
    if (choice.temperature <= 0) {
        if (t == 0) out[0] = int(likeliest);
        return;
    }
    uint edge = 0;  // the largest key that at least top_k logits reach
    if (choice.top_k > 0 && choice.top_k < n) {
        for (uint bit = 0x80000000; bit > 0; bit >>= 1) {
            uint count = 0;
            for (uint i = t; i < n; i += 1024) count += ordered(logits[i]) >= (edge | bit) ? 1 : 0;
            if (count_of(count, parts, t) >= choice.top_k) edge |= bit;
        }
    }
    float most = logits[min(likeliest, n - 1)], total = 0;
    for (uint i = t; i < n; i += 1024) {
        float weight = ordered(logits[i]) >= edge ? exp((logits[i] - most) / choice.temperature) : 0.0f;
        kept[i] = weight;
        total += weight;
    }
    total = total_of(total, parts, t);
    if (choice.top_p < 1) {
        uint cut = 0;  // the largest weight, as a key, such that those that reach it have the share
        for (uint bit = 0x80000000; bit > 0; bit >>= 1) {
            float share = 0;
            for (uint i = t; i < n; i += 1024) share += ordered(kept[i]) >= (cut | bit) ? kept[i] : 0.0f;
            if (total_of(share, parts, t) >= choice.top_p * total) cut |= bit;
        }
        float left = 0;
        for (uint i = t; i < n; i += 1024) {
            float weight = ordered(kept[i]) >= cut ? kept[i] : 0.0f;
            kept[i] = weight;
            left += weight;
        }
        total = total_of(left, parts, t);
    }
    // Walk along until the weights passed reach the random share. The last kept token catches what rounding loses.
    float target = chance(choice.seed, step) * total, passed = 0;
    uint chosen = likeliest;
    for (uint start = 0; start < n; start += 1024) {
        float weight = start + t < n ? kept[start + t] : 0.0f, sum = simd_sum(weight);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t % 32 == 0) parts[t / 32] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float of = parts[t % 32], before = simd_prefix_exclusive_sum(of);
        float up_to = passed + simd_shuffle(before, ushort(t / 32)) + simd_prefix_inclusive_sum(weight);
        uint last = least_of(weight > 0 ? 0xfffffffe - (start + t) : 0xffffffff, parts, t);
        uint hit = least_of(weight > 0 && up_to > target ? start + t : 0xffffffff, parts, t);
        if (hit != 0xffffffff) {
            chosen = hit;
            break;
        }
        chosen = last != 0xffffffff ? 0xfffffffe - last : chosen;
        passed += simd_sum(of);
    }
    if (t == 0) out[0] = int(chosen);
}

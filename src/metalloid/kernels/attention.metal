// Attention with an online softmax: scores are never stored, and each key and value is read once for all queries
// that share them.
//
// A SIMD-group takes ROWS queries of one key-value head. It goes over the keys in blocks of 32: lanes along the
// dimensions for a score, one key per lane for the softmax, lanes along the dimensions again for the sum of values.
#include <metal_stdlib>
using namespace metal;

constant uint D [[function_constant(0)]];  // size of a head, at most 256
constant uint ROWS [[function_constant(1)]];  // queries that a SIMD-group takes, at most 4
constant constexpr uint WIDTH = 32, MOST = 256 / WIDTH;
constant uint PARTS = (D + WIDTH - 1) / WIDTH;

struct Attention {
    uint heads, kv_heads, queries, keys;     // queries per head; keys of all sequences, where they are not paged
    uint q_head, q_row, k_row, v_row;        // elements between neighbours; the result has no gaps
    ulong q_batch, k_head, k_batch, v_head, v_batch;
    uint causal, page, most_pages;           // whether the last query sees all keys and the one before one less; ...
    float scale;
};

template <typename T>
struct InRows {  // keys or values that lie equally far apart
    device const T* first;
    uint stride;
    device const T* operator()(uint j) const { return first + ulong(j) * stride; }
};

template <typename T>
struct InPages {  // pages of `size` keys, wherever the table says
    device const T* first;  // of this head in page 0
    device const uint* table;
    uint size, stride;
    ulong apart;
    device const T* operator()(uint j) const { return first + table[j / size] * apart + ulong(j % size) * stride; }
};

// The elements of a row that belong to this lane.
template <typename T>
inline void load(thread float (&to)[MOST], device const T* row, uint lane, float scale) {
    for (uint i = 0; i < PARTS; i++)
        to[i] = (i + 1) * WIDTH <= D || i * WIDTH + lane < D ? float(row[i * WIDTH + lane]) * scale : 0.0f;
}

template <typename TQ, typename Rows>
inline void attend(device const TQ* q, Rows key_at, Rows value_at, device TQ* out, constant Attention& a, uint keys,
                   uint3 group, uint lane) {
    uint shared = a.heads / a.kv_heads;
    uint first = group.x * ROWS, count = shared * a.queries;  // the queries of all heads that share this one
    float query[4][MOST], sum[4][MOST] = {};
    float highest[4], weight[4] = {};
    uint limit[4], last = 0;
    for (uint r = 0; r < ROWS; r++) {
        uint n = min(first + r, count - 1), head = group.y * shared + n / a.queries, at = n % a.queries;
        load(query[r], q + group.z * a.q_batch + ulong(head) * a.q_head + ulong(at) * a.q_row, lane, a.scale);
        uint hidden = a.causal ? a.queries - 1 - at : 0;
        limit[r] = keys > hidden ? keys - hidden : 0;
        last = max(last, limit[r]);
        highest[r] = -MAXFLOAT;
    }
    for (uint base = 0; base < last; base += WIDTH) {
        uint inside = min(WIDTH, last - base);
        float score[4];
        for (uint r = 0; r < ROWS; r++) score[r] = -INFINITY;
        for (uint j = 0; j < inside; j++) {
            float key[MOST];
            load(key, key_at(base + j), lane, 1.0f);
            for (uint r = 0; r < ROWS; r++) {
                float dot = 0;
                for (uint i = 0; i < PARTS; i++) dot = fma(query[r][i], key[i], dot);
                dot = simd_sum(dot);
                if (lane == j) score[r] = dot;
            }
        }
        for (uint r = 0; r < ROWS; r++) {
            if (base + lane >= limit[r]) score[r] = -INFINITY;
            float top = max(highest[r], simd_max(score[r])), shrink = exp(highest[r] - top);
            score[r] = exp(score[r] - top);
            weight[r] = weight[r] * shrink + simd_sum(score[r]);
            highest[r] = top;
            for (uint i = 0; i < PARTS; i++) sum[r][i] *= shrink;
        }
        for (uint j = 0; j < inside; j++) {
            float value[MOST];
            load(value, value_at(base + j), lane, 1.0f);
            for (uint r = 0; r < ROWS; r++) {
                float share = simd_broadcast(score[r], ushort(j));
                for (uint i = 0; i < PARTS; i++) sum[r][i] = fma(share, value[i], sum[r][i]);
            }
        }
    }
    for (uint r = 0; r < ROWS; r++) {
        if (first + r >= count) break;
        uint n = first + r, head = group.y * shared + n / a.queries, at = n % a.queries;
        device TQ* row = out + ((ulong(group.z) * a.heads + head) * a.queries + at) * D;
        float whole = weight[r] > 0 ? 1 / weight[r] : 0;  // a query that sees no key gives zeros
        for (uint i = 0; i < PARTS; i++)
            if ((i + 1) * WIDTH <= D || i * WIDTH + lane < D) row[i * WIDTH + lane] = TQ(sum[r][i] * whole);
    }
}

template <typename TQ, typename TK>
kernel void attention(device const TQ* q, device const TK* k, device const TK* v, device TQ* out,
                      constant Attention& a, uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    InRows<TK> keys = {k + group.z * a.k_batch + group.y * a.k_head, a.k_row};
    InRows<TK> values = {v + group.z * a.v_batch + group.y * a.v_head, a.v_row};
    attend(q, keys, values, out, a, a.keys, group, lane);
}

template <typename TQ, typename TK>
kernel void paged_attention(device const TQ* q, device const TK* k, device const TK* v, device TQ* out,
                            constant Attention& a, device const uint* table, device const uint* lengths,
                            uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    table += group.z * a.most_pages;
    InPages<TK> keys = {k + group.y * a.k_head, table, a.page, a.k_row, a.k_batch};
    InPages<TK> values = {v + group.y * a.v_head, table, a.page, a.v_row, a.v_batch};
    attend(q, keys, values, out, a, lengths[group.z], group, lane);
}

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
#define PAIR(TQ, TK, types)                                     \
    KERNEL("attention_" types, attention<TQ, TK>)               \
    KERNEL("paged_attention_" types, paged_attention<TQ, TK>)

PAIR(float, float, "float32_float32")
PAIR(float, half, "float32_float16")
PAIR(float, bfloat, "float32_bfloat16")
PAIR(half, half, "float16_float16")
PAIR(bfloat, bfloat, "bfloat16_bfloat16")

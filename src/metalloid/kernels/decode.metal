// What a Llama needs beside plain products: norms that are taken on the way into a product, rotated positions on the
// way into the cache, and attention over it. Where a text has come to lies in memory, so that a token's launches can be
// recorded once and run again for every token.
#include "weights.h"

// The input of a product, scaled by a norm's gain. The norm itself is one number for the whole vector and comes last:
// sum of w[k] * gain[k] * x[k] / sqrt(mean(x^2) + eps).
struct Gained {
    device const float* x;
    device const float* gain;
    float operator()(uint k) const { return x[k] * gain[k]; }
};

inline float norm_of(device const float* x, uint n, float eps, uint lane) {
    float squares = 0;
    for (uint k = lane; k < n; k += 32) squares += x[k] * x[k];
    return rsqrt(simd_sum(squares) / float(n) + eps);
}

// out = weights @ rms_norm(x)
template <typename F, uint ROWS>
kernel void norm_matvec(device const uchar* weights, device const float* x, device const float* gain,
                        device float* out, constant uint& rows, constant uint& columns, constant float& eps,
                        uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float sum[ROWS] = {};
    rows_times<F, ROWS>(weights, Gained{x, gain}, group * ROWS, rows, columns, lane, sum);
    float mine = collected<ROWS>(sum, lane) * norm_of(x, columns, eps, lane);
    if (lane < ROWS && group * ROWS + lane < rows) out[group * ROWS + lane] = mine;
}

// out = silu(gate @ rms_norm(x)) * (up @ rms_norm(x))
template <typename F, uint ROWS>
kernel void norm_gate_up(device const uchar* gate, device const uchar* up, device const float* x,
                         device const float* gain, device float* out, constant uint& rows, constant uint& columns,
                         constant float& eps, uint group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    float first[ROWS] = {}, second[ROWS] = {};
    rows_times<F, ROWS>(gate, Gained{x, gain}, group * ROWS, rows, columns, lane, first);
    rows_times<F, ROWS>(up, Gained{x, gain}, group * ROWS, rows, columns, lane, second);
    float scale = norm_of(x, columns, eps, lane);
    float g = collected<ROWS>(first, lane) * scale, u = collected<ROWS>(second, lane) * scale;
    if (lane < ROWS && group * ROWS + lane < rows) out[group * ROWS + lane] = g / (1 + exp(-g)) * u;
}

// out = silu(gate) * up, for several inputs at once
kernel void gate_up(device float* gate, device const float* up, uint i [[thread_position_in_grid]]) {
    float g = gate[i];
    gate[i] = g / (1 + exp(-g)) * up[i];
}

struct Shape {
    uint heads, kv_heads, head, context, interleaved;
};

struct Place {
    uint position, count;  // of the first token, and how many there are
};

// Turn the queries to their positions in place; turn the keys and put them, and the values, into the cache.
// `turns` has the cosine and the sine of each position and pair of dimensions. The caches are [head][dimension][position],
// so that attention reads neighbouring positions side by side.
kernel void rotate(device float* q, device const float* k, device const float* v, device float* keys,
                   device float* values, device const float2* turns, constant Shape& shape,
                   constant Place& place, uint3 i [[thread_position_in_grid]]) {
    uint pair = i.x, head = i.y, token = i.z, pairs = shape.head / 2;
    if (pair >= pairs || token >= place.count) return;
    uint a = shape.interleaved ? 2 * pair : pair, b = shape.interleaved ? 2 * pair + 1 : pair + pairs;
    uint at = place.position + token;
    float2 turn = turns[ulong(at) * pairs + pair];
    if (head < shape.heads) {
        device float* query = q + (ulong(token) * shape.heads + head) * shape.head;
        float x = query[a], y = query[b];
        query[a] = x * turn.x - y * turn.y;
        query[b] = y * turn.x + x * turn.y;
        return;
    }
    head -= shape.heads;
    ulong from = (ulong(token) * shape.kv_heads + head) * shape.head, to = ulong(head) * shape.head;
    float x = k[from + a], y = k[from + b];
    keys[(to + a) * shape.context + at] = x * turn.x - y * turn.y;
    keys[(to + b) * shape.context + at] = y * turn.x + x * turn.y;
    values[(to + a) * shape.context + at] = v[from + a];
    values[(to + b) * shape.context + at] = v[from + b];
}

// One SIMD-group per head and token, its lanes side by side over the positions. A lane comes back to the scores it wrote
// itself, so nothing has to wait. All lanes go as far as the last one has to: the context is a multiple of 32, and what is
// read of positions that nobody has come to is not used.
kernel void attend(device const float* q, device const float* keys, device const float* values,
                   device float* scores, device float* out, constant Shape& shape, constant Place& place,
                   uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint head = group.x, token = group.y, seen = place.position + token + 1;
    if (token >= place.count) return;
    ulong one = ulong(token) * shape.heads + head;
    device const float* query = q + one * shape.head;
    ulong cache = ulong(head / (shape.heads / shape.kv_heads)) * shape.head * shape.context;
    device float* score = scores + one * shape.context;
    float scale = rsqrt(float(shape.head)), most = -INFINITY, total = 0;
    for (uint base = 0; base < seen; base += 32) {
        uint at = base + lane;
        float sum = 0;
        for (uint d = 0; d < shape.head; d++) sum += query[d] * keys[cache + ulong(d) * shape.context + at];
        sum = at < seen ? sum * scale : -INFINITY;
        score[at] = sum;
        most = max(most, sum);
    }
    most = simd_max(most);
    for (uint base = 0; base < seen; base += 32) {
        float weight = exp(score[base + lane] - most);
        score[base + lane] = weight;
        total += weight;
    }
    total = simd_sum(total);
    for (uint d = 0; d < shape.head; d++) {
        float sum = 0;
        for (uint base = 0; base < seen; base += 32) {
            float value = values[cache + ulong(d) * shape.context + base + lane];
            sum += select(0.0f, score[base + lane] * value, base + lane < seen);
        }
        sum = simd_sum(sum);
        if (lane == 0) out[one * shape.head + d] = sum / total;
    }
}

#define FOR_FORMAT(name, F)                                                                                         \
    template [[host_name("norm_matvec_" name)]] kernel decltype(norm_matvec<F, 8>) norm_matvec<F, 8>;               \
    template [[host_name("norm_gate_up_" name)]] kernel decltype(norm_gate_up<F, 8>) norm_gate_up<F, 8>;

FOR_FORMAT("f32", Plain<float>)
FOR_FORMAT("f16", Plain<half>)
FOR_FORMAT("bf16", Plain<bfloat>)
FOR_FORMAT("q8_0", Q8_0)
FOR_FORMAT("q4_0", Q4_0)
FOR_FORMAT("q4_K", Q4_K)
FOR_FORMAT("q6_K", Q6_K)

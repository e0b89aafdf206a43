// Attention for one token on a device with memory of its own. The cache is [head][dimension][position].
#include "weights.h"

constant constexpr uint SIMDS = 16, SHARE = 4;     // SIMD-groups of a threadgroup; those that share the dimensions of 32 positions
constant constexpr uint WIDE = SIMDS / SHARE * 32;  // positions whose scores are computed at once
constant constexpr uint OWN = 64 / SIMDS, DIMS = 64 / SHARE;  // dimensions of a SIMD-group whose values and keys come early

struct Shape {
    uint heads, kv_heads, head, context, interleaved;
};

struct Place {
    uint position, count;
};

// Numbers of the cache that are on their way.
template <uint N>
struct Early {
    float of[N];

    // One position's, of each SHARE-th dimension.
    void keys(device const float* cache, uint first, uint size, uint at, uint before, uint context) {
        for (uint n = 0; n < N; n++) {
            uint d = first + SHARE * n;
            of[n] = d < size && at < before ? cache[d * context + at] : 0.0f;
        }
    }

    // Four positions', each 32 behind the one before, of each SIMDS-th dimension.
    void values(device const float* cache, uint first, uint size, uint at, uint before, uint context) {
        for (uint n = 0; n < N; n++) {
            uint d = first + SIMDS * (n / 4), place = at + 32 * (n % 4);
            of[n] = d < size && place < before ? cache[d * context + place] : 0.0f;
        }
    }
};

// One threadgroup per head, for one token, whose keys and values are put into the cache; scores of all positions fit into
// threadgroup memory. SHARE SIMD-groups share the dimensions of 32 positions; after that each takes dimensions of its own.
// Of the first positions what is in the cache is on its way before the token's own query, key and value are known; of the
// next ones while those before them are worked on.
kernel void attend_near(device const float* q, device const float* k, device const float* v, device float* keys,
                        device float* values, device float* out, constant Shape& shape, constant Place& place,
                        threadgroup float* score [[threadgroup(0)]], uint head [[threadgroup_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float query[256], key[256], value[256], sums[SIMDS * 32];
    uint size = min(shape.head, 256u), context = shape.context, before = min(place.position, context - 1);
    uint share = shape.heads / shape.kv_heads, shared = head / share, dim = simd % SHARE, spot = simd / SHARE * 32 + lane;
    keys += ulong(shared) * size * context;
    values += ulong(shared) * size * context;
    Early<DIMS> near;
    Early<4 * OWN> far;
    near.keys(keys, dim, size, spot, before, context);
    far.values(values, simd, size, lane, before, context);
    for (uint d = t; d < size; d += SIMDS * 32) {
        query[d] = q[head * size + d];
        key[d] = k[shared * size + d];
        value[d] = v[shared * size + d];
        if (head % share == 0) {
            keys[d * context + before] = key[d];
            values[d * context + before] = value[d];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float scale = rsqrt(float(size)), own = 0;
    for (uint d = lane; d < size; d += 32) own = fma(query[d], key[d], own);
    own = simd_sum(own) * scale;
    for (uint base = 0; base < before; base += WIDE) {
        uint at = base + spot;
        float sum = 0;
        Early<DIMS> now = near;
        if (base + WIDE < before) near.keys(keys, dim, size, at + WIDE, before, context);
        for (uint block = 0; block < size; block += 64) {
            if (block > 0) now.keys(keys, block + dim, size, at, before, context);
            for (uint n = 0; n < DIMS; n++) {
                uint d = block + dim + SHARE * n;
                sum = fma(d < size ? query[d] : 0.0f, now.of[n], sum);
            }
        }
        sums[dim * WIDE + spot] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < WIDE && base + t < before) {
            float all = 0;
            for (uint n = 0; n < SHARE; n++) all += sums[n * WIDE + t];
            score[base + t] = all * scale;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    // Every SIMD-group finds the largest, and the weights of its lanes' positions, for itself.
    float most = own;
    for (uint at = lane; at < before; at += 32) most = max(most, score[at]);
    most = simd_max(most);
    own = exp(own - most);
    for (uint block = 0; block < size; block += 64) {
        float sum[OWN] = {}, total = 0;
        if (block > 0) far.values(values, block + simd, size, lane, before, context);
        for (uint base = 0; base < before; base += 128) {
            Early<4 * OWN> now = far;
            if (base + 128 < before) far.values(values, block + simd, size, base + 128 + lane, before, context);
            for (uint m = 0; m < 4; m++) {
                uint at = base + lane + 32 * m;
                float weight = at < before ? exp(score[at] - most) : 0.0f;
                total += weight;
                for (uint n = 0; n < OWN; n++) sum[n] = fma(weight, now.of[4 * n + m], sum[n]);
            }
        }
        total = simd_sum(total) + own;
        float mine = gathered<OWN>(sum, lane);
        uint d = block + simd + SIMDS * (lane / (32 / OWN));
        if (lane % (32 / OWN) == 0 && d < size) out[head * size + d] = fma(own, value[d], mine) / total;
    }
}

// Choose the next token from the logits of a model.
#include "choice.h"

// The first of the largest elements.
inline uint largest(device const float* x, uint n, uint lane) {
    float best = -INFINITY;
    uint place = 0xffffffff;
    for (uint i = lane; i < n; i += 32) {
        if (x[i] > best || place == 0xffffffff) {
            best = x[i];
            place = i;
        }
    }
    float top = simd_max(place == 0xffffffff ? -INFINITY : best);
    return simd_min(place != 0xffffffff && best == top ? place : 0xffffffff);
}

// One SIMD-group per row. `kept` has room for one weight per logit. Ties at the edge of top_k and top_p are all kept.
kernel void sample(device const float* logits, device float* kept, device int* out, constant uint& n,
                   constant Choice& choice, constant uint& step, uint row [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    logits += ulong(row) * n;
    kept += ulong(row) * n;
    uint likeliest = largest(logits, n, lane);
    if (choice.temperature <= 0) {
        if (lane == 0) out[row] = int(likeliest);
        return;
    }
    uint edge = 0;  // the largest key that at least top_k logits reach
    if (choice.top_k > 0 && choice.top_k < n) {
        for (uint bit = 0x80000000; bit > 0; bit >>= 1) {
            uint count = 0;
            for (uint i = lane; i < n; i += 32) count += ordered(logits[i]) >= (edge | bit) ? 1 : 0;
            if (simd_sum(count) >= choice.top_k) edge |= bit;
        }
    }
    float most = logits[likeliest], total = 0;
    for (uint i = lane; i < n; i += 32) {
        float weight = ordered(logits[i]) >= edge ? exp((logits[i] - most) / choice.temperature) : 0.0f;
        kept[i] = weight;
        total += weight;
    }
    total = simd_sum(total);
    if (choice.top_p < 1) {
        uint cut = 0;  // the largest weight, as a key, such that those that reach it have the share
        for (uint bit = 0x80000000; bit > 0; bit >>= 1) {
            float share = 0;
            for (uint i = lane; i < n; i += 32) share += ordered(kept[i]) >= (cut | bit) ? kept[i] : 0.0f;
            if (simd_sum(share) >= choice.top_p * total) cut |= bit;
        }
        float left = 0;
        for (uint i = lane; i < n; i += 32) {
            float weight = ordered(kept[i]) >= cut ? kept[i] : 0.0f;
            kept[i] = weight;
            left += weight;
        }
        total = simd_sum(left);
    }
    // Walk along until the weights passed reach the random share. The last kept token catches what rounding loses.
    float target = chance(choice.seed, step + row) * total, passed = 0;
    uint found = likeliest;
    for (uint start = 0; start < n; start += 32) {
        float weight = start + lane < n ? kept[start + lane] : 0.0f;
        float up_to = passed + simd_prefix_inclusive_sum(weight);
        uint hit = simd_min(weight > 0 && up_to > target ? start + lane : 0xffffffff);
        if (hit != 0xffffffff) {
            found = hit;
            break;
        }
        uint last = simd_max(weight > 0 ? start + lane + 1 : 0);
        found = last > 0 ? last - 1 : found;
        passed += simd_sum(weight);
    }
    if (lane == 0) out[row] = int(found);
}

// The k largest of each row with their places, the largest first; equals in the order of their places. Each round looks
// for the largest that comes after the one found before.
kernel void top_k(device const float* x, device float* values, device int* places, constant uint& n,
                  constant uint& k, uint row [[threadgroup_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    x += ulong(row) * n;
    uint last = 0xffffffff, at = 0;  // the key and the place found before
    for (uint round = 0; round < k; round++) {
        uint best = 0, place = 0xffffffff;
        for (uint i = lane; i < n; i += 32) {
            uint key = ordered(x[i]);
            bool after = round == 0 || key < last || (key == last && i > at);
            if (after && (place == 0xffffffff || key > best)) {
                best = key;
                place = i;
            }
        }
        uint top = simd_max(place == 0xffffffff ? 0 : best);
        at = simd_min(place != 0xffffffff && best == top ? place : 0xffffffff);
        last = top;
        if (lane == 0) {
            values[ulong(row) * k + round] = x[at];
            places[ulong(row) * k + round] = int(at);
        }
    }
}

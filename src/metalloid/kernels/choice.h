// How a token is chosen, and what choosing needs.
#pragma once
#include <metal_stdlib>
using namespace metal;

struct Choice {
    float temperature;  // 0: always the likeliest
    float top_p;        // keep the likeliest tokens that together have this share; 1: all
    uint top_k;         // keep this many; 0: all
    uint seed;
};

// Floats in their order as unsigned integers, so that thresholds can be searched bit by bit.
inline uint ordered(float x) {
    uint bits = as_type<uint>(x);
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

// A number from 0 to 1 for each seed and step: the bits are stirred until none of the input can be seen.
inline float chance(uint seed, uint step) {
    uint x = seed * 0x9e3779b9 + step * 0x85ebca6b + 0x2545f491;
    x = (x ^ (x >> 16)) * 0x7feb352d;
    x = (x ^ (x >> 15)) * 0x846ca68b;
    x ^= x >> 16;
    return float(x >> 8) * 0x1p-24f;
}

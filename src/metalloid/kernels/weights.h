// How the weights of a matrix lie in memory. All kernels look at 32 neighbours of a row at a time, a chunk; lane l of
// a SIMD-group takes weight l. A format says how many bytes a row has and what a lane's weight is.
#pragma once
#include <metal_stdlib>
using namespace metal;

template <typename T>
struct Plain {
    static constexpr constant bool blocks = false;
    static ulong row(uint columns) { return ulong(columns) * sizeof(T); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        return float(((device const T*)row)[chunk * 32 + lane]);
    }
};

// ggml's formats keep blocks of 32 or 256 weights as small integers. A block of 32 has one scale: weight = d * q.
struct Q8_0 {
    half d;
    char q[32];

    static constexpr constant bool blocks = true;
    static ulong row(uint columns) { return ulong(columns) / 32 * sizeof(Q8_0); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        device const Q8_0& block = ((device const Q8_0*)row)[chunk];
        return float(block.d) * float(block.q[lane]);
    }
};

// Byte i holds weight i in its low half and weight i + 16 in its high half: weight = d * (q - 8).
struct Q4_0 {
    half d;
    uchar q[16];

    static constexpr constant bool blocks = true;
    static ulong row(uint columns) { return ulong(columns) / 32 * sizeof(Q4_0); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        device const Q4_0& block = ((device const Q4_0*)row)[chunk];
        uint q = (block.q[lane % 16] >> (lane / 16 * 4)) & 15;
        return float(block.d) * float(int(q) - 8);
    }
};

// 256 weights in eight chunks, each with a scale and a minimum of 6 bits: weight = d * scale * q - dmin * minimum.
// Two chunks share 32 bytes, one in the low halves, one in the high ones.
struct Q4_K {
    half d, dmin;
    uchar scales[12];
    uchar q[128];

    static constexpr constant bool blocks = true;
    static ulong row(uint columns) { return ulong(columns) / 256 * sizeof(Q4_K); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        device const Q4_K& block = ((device const Q4_K*)row)[chunk / 8];
        uint part = chunk % 8, scale, minimum;
        if (part < 4) {
            scale = block.scales[part] & 63;
            minimum = block.scales[part + 4] & 63;
        } else {  // four bits here, two on top of the earlier ones
            scale = (block.scales[part + 4] & 15) | (block.scales[part - 4] >> 6 << 4);
            minimum = (block.scales[part + 4] >> 4) | (block.scales[part] >> 6 << 4);
        }
        uint q = (block.q[part / 2 * 32 + lane] >> (part % 2 * 4)) & 15;
        return float(block.d) * float(scale) * float(q) - float(block.dmin) * float(minimum);
    }
};

// 256 weights of 6 bits, the low four and the high two apart, with a scale for every 16:
// weight = d * scale * (q - 32).
struct Q6_K {
    uchar low[128];
    uchar high[64];
    char scales[16];
    half d;

    static constexpr constant bool blocks = true;
    static ulong row(uint columns) { return ulong(columns) / 256 * sizeof(Q6_K); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        device const Q6_K& block = ((device const Q6_K*)row)[chunk / 8];
        uint side = chunk % 8 / 4, part = chunk % 4;
        uint low = (block.low[side * 64 + part % 2 * 32 + lane] >> (part / 2 * 4)) & 15;
        uint high = (block.high[side * 32 + lane] >> (part * 2)) & 3;
        float scale = float(block.d) * float(block.scales[side * 8 + part * 2 + lane / 16]);
        return scale * float(int(low | high << 4) - 32);
    }
};

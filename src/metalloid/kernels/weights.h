// How the weights of a matrix lie in memory, and rows of them times a vector.
//
// Kernels look at 32 neighbours of a row at a time, a chunk; lane l of a SIMD-group takes weight l. A format says how many
// bytes a row has and what a lane's weight is.
#pragma once
#include <metal_stdlib>
using namespace metal;

// What a lane multiplies with a row: one chunk at a time, unless a format knows better.
template <typename F>
struct OneByOne {
    static constexpr constant uint step = 32;
    float value;

    template <typename X>
    OneByOne(X x, uint at, uint lane) : value(x(at + lane)) {}
    float onto(float sum, device const uchar* row, uint at, uint lane) const {
        return sum + value * F::at(row, at / 32, lane);
    }
};

template <typename T>
struct Plain {
    using Input = OneByOne<Plain<T>>;
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

    // Two blocks at a time: a lane takes two weights of a block and multiplies with the scale once.
    struct Input {
        static constexpr constant uint step = 64;
        float near, far;

        template <typename X>
        Input(X x, uint at, uint lane) {
            uint k = at + lane / 16 * 32 + lane % 16;
            near = x(k);
            far = x(k + 16);
        }
        float onto(float sum, device const uchar* row, uint at, uint lane) const {
            device const Q8_0& block = ((device const Q8_0*)row)[at / 32 + lane / 16];
            return sum + float(block.d) * (near * float(block.q[lane % 16]) + far * float(block.q[lane % 16 + 16]));
        }
    };
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

    // Two blocks at a time: a lane takes a byte, low + 16 * high, and the scale once. The high half is not cut out: the whole
    // byte is multiplied with a sixteenth of its input, and what that is too much is taken from the low half's input. That
    // and the subtraction of 8 are done once for all rows.
    struct Input {
        static constexpr constant uint step = 64;
        float low, high, eight;

        template <typename X>
        Input(X x, uint at, uint lane) {
            uint k = at + lane / 16 * 32 + lane % 16;
            low = x(k);
            high = x(k + 16);
            eight = -8 * (low + high);
            high /= 16;
            low -= high;
        }
        float onto(float sum, device const uchar* row, uint at, uint lane) const {
            device const Q4_0& block = ((device const Q4_0*)row)[at / 32 + lane / 16];
            uint q = block.q[lane % 16];
            return sum + float(block.d) * (eight + low * float(q & 15) + high * float(q));
        }
    };
};

// q4_0 with eight blocks together, for devices that load 16 bytes at once: their weights, then their scales.
struct Q4_0x8 {
    uint4 q[8];
    half d[8];

    static constexpr constant bool blocks = true;
    using Input = OneByOne<Q4_0x8>;
    static ulong row(uint columns) { return ulong(columns) / 256 * sizeof(Q4_0x8); }
    static float at(device const uchar* row, uint chunk, uint lane) {
        device const uchar* group = row + ulong(chunk / 8) * sizeof(Q4_0x8);
        uint q = (group[chunk % 8 * 16 + lane % 16] >> (lane / 16 * 4)) & 15;
        return float(((device const Q4_0x8*)group)->d[chunk % 8]) * float(int(q) - 8);
    }
};

// 256 weights in eight chunks, each with a scale and a minimum of 6 bits: weight = d * scale * q - dmin * minimum.
// Two chunks share 32 bytes, one in the low halves, one in the high ones.
struct Q4_K {
    half d, dmin;
    uchar scales[12];
    uchar q[128];

    static constexpr constant bool blocks = true;
    using Input = OneByOne<Q4_K>;
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

    // Half a block at a time: a lane takes three bytes, which have a weight of each of four chunks.
    struct Input {
        static constexpr constant uint step = 128;
        float value[4];

        template <typename X>
        Input(X x, uint at, uint lane) {
            for (uint part = 0; part < 4; part++) value[part] = x(at + part * 32 + lane);
        }
        float onto(float sum, device const uchar* row, uint at, uint lane) const {
            device const Q6_K& block = ((device const Q6_K*)row)[at / 256];
            uint side = at / 128 % 2;
            uint a = block.low[side * 64 + lane], b = block.low[side * 64 + 32 + lane];
            uint high = block.high[side * 32 + lane];
            uint q[4] = {(a & 15) | (high << 4 & 48), (b & 15) | (high << 2 & 48), (a >> 4) | (high & 48),
                         (b >> 4) | (high >> 2 & 48)};
            float total = 0;
            for (uint part = 0; part < 4; part++) {
                float scale = float(block.scales[side * 8 + part * 2 + lane / 16]);
                total += scale * (value[part] * float(q[part]) - 32 * value[part]);
            }
            return sum + float(block.d) * total;
        }
    };
};

// sum[r] += the part of a lane in weights[first + r] times x, which is called with a column. Lanes go over the columns
// side by side; each x that is loaded serves ROWS rows.
template <typename F, uint ROWS, typename X>
inline void rows_times(device const uchar* weights, X x, uint first, uint rows, uint columns, uint lane,
                       thread float* sum) {
    using Input = typename F::Input;
    ulong bytes = F::row(columns);
    for (uint n = 0; n < columns / Input::step; n++) {
        Input input(x, n * Input::step, lane);
        for (uint r = 0; r < ROWS; r++)
            sum[r] = input.onto(sum[r], weights + min(first + r, rows - 1) * bytes, n * Input::step, lane);
    }
    uint at = columns / Input::step * Input::step;
    if (Input::step > 32 && at + 32 <= columns) {
        OneByOne<F> input(x, at, lane);
        for (uint r = 0; r < ROWS; r++)
            sum[r] = input.onto(sum[r], weights + min(first + r, rows - 1) * bytes, at, lane);
    }
    if (!F::blocks && lane < columns % 32) {
        OneByOne<F> input(x, at, lane);
        for (uint r = 0; r < ROWS; r++)
            sum[r] = input.onto(sum[r], weights + min(first + r, rows - 1) * bytes, at, lane);
    }
}

// The sums of all lanes: lane r gets sum[r].
template <uint ROWS>
inline float collected(thread const float* sum, uint lane) {
    float mine = 0;
    for (uint r = 0; r < ROWS; r++) {
        float total = simd_sum(sum[r]);
        mine = lane == r ? total : mine;
    }
    return mine;
}

// Sums over all lanes of COUNT numbers, a power of two: lane n gets that of v[n / (32 / COUNT)].
template <uint COUNT>
inline float gathered(thread float* v, uint lane) {
    ushort bit = 16;
    for (uint left = COUNT / 2; left > 0; left /= 2, bit /= 2) {
        bool upper = lane & bit;
        for (uint n = 0; n < left; n++) {
            float kept = upper ? v[n + left] : v[n], given = upper ? v[n] : v[n + left];
            v[n] = kept + simd_shuffle_xor(given, bit);
        }
    }
    float sum = v[0];
    for (; bit > 0; bit /= 2) sum += simd_shuffle_xor(sum, bit);
    return sum;
}

// Products of weights in small integers with inputs that are rounded to bytes, 32 of them with one scale, so that bytes are
// multiplied with bytes and summed up exactly: for devices that add four such products in one instruction.
//
// Weights lie in another order than in their file. For each block of 32 columns come the scales of ROWS rows, then their
// first four bytes, row by row, then their next four: a thread takes a row, neighbours take neighbouring words.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint ROWS = 16;  // that lie side by side; a threadgroup takes them

// 32 numbers of an input: value = d * q. `sum` is that of all q.
struct Block {
    float d;
    int sum;
    uint q[8];
};

inline int dot4(uint a, uint b) {
    char4 x = as_type<char4>(a), y = as_type<char4>(b);
    return int(x.x) * y.x + int(x.y) * y.y + int(x.z) * y.z + int(x.w) * y.w;
}

// Byte i of a block has weight i in its low half and weight i + 16 in its high half: weight = d * (q - 8).
struct Q4_0 {
    static constexpr constant uint words = 4;
    static int times(device const uint* q, device const Block& x, uint lane) {
        int sum = -8 * x.sum;
        for (uint j = 0; j < 4; j++) {
            uint w = q[j * ROWS + lane];
            sum += dot4(w & 0x0f0f0f0f, x.q[j]);
            sum += dot4(w >> 4 & 0x0f0f0f0f, x.q[j + 4]);
        }
        return sum;
    }
};

// weight = d * q
struct Q8_0 {
    static constexpr constant uint words = 8;
    static int times(device const uint* q, device const Block& x, uint lane) {
        int sum = 0;
        for (uint j = 0; j < 8; j++) sum += dot4(q[j * ROWS + lane], x.q[j]);
        return sum;
    }
};

// A row of a group times INPUTS inputs from `first`; there are as many as `inputs`. Groups lie `apart` times their own size
// from each other: in between are those of other weights that are read next.
template <typename F, uint INPUTS>
inline void row_times(device const uint* weights, device const Block* x, uint group, uint lane, uint blocks, uint apart,
                      uint first, uint inputs, thread float* total) {
    const uint size = ROWS / 2 + F::words * ROWS;
    device const uint* at = weights + ulong(group) * blocks * size * apart;
    for (uint b = 0; b < blocks; b++) {
        float d = float(((device const half*)at)[lane]);
        for (uint n = 0; n < INPUTS; n++) {
            device const Block& in = x[min(first + n, inputs - 1) * blocks + b];
            total[n] += d * in.d * float(F::times(at + ROWS / 2, in, lane));
        }
        at += size;
    }
}

// out[n][r] = weights[r] @ x[n]; ADD: onto what `out` holds.
template <typename F, uint INPUTS, bool ADD>
kernel void times(device const uint* weights, device const Block* x, device float* out, constant uint& rows,
                  constant uint& columns, constant uint& apart, constant uint& inputs,
                  uint2 group [[threadgroup_position_in_grid]], uint2 lane [[thread_position_in_threadgroup]]) {
    float total[INPUTS] = {};
    uint first = group.y * INPUTS, row = group.x * ROWS + lane.x;
    row_times<F, INPUTS>(weights, x, group.x, lane.x, columns / 32, apart, first, inputs, total);
    for (uint n = 0; n < INPUTS; n++) {
        if (first + n >= inputs) return;
        device float& place = out[(first + n) * rows + row];
        place = ADD ? place + total[n] : total[n];
    }
}

// out = silu(gate @ x) * (up @ x), for one input
template <typename F>
kernel void gate_up(device const uint* gate, device const uint* up, device const Block* x, device float* out,
                    constant uint& columns, constant uint& apart, uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_position_in_threadgroup]]) {
    float g = 0, u = 0;
    row_times<F, 1>(gate, x, group, lane, columns / 32, apart, 0, 1, &g);
    row_times<F, 1>(up, x, group, lane, columns / 32, apart, 0, 1, &u);
    out[group * ROWS + lane] = g / (1 + exp(-g)) * u;
}

// A SIMD-group rounds 32 numbers. What is not a number stays none: the scale is not either then.
inline void put(float v, device Block& out, uint lane) {
    float most = simd_max(abs(v));
    float d = most / 127 + simd_sum(v * 0), scale = most > 0 ? 127 / most : 0.0f;
    int q = int(rint(v * scale));
    ((device char*)out.q)[lane] = char(q);
    int sum = simd_sum(q);
    if (lane == 0) {
        out.d = d;
        out.sum = sum;
    }
}

kernel void rounded(device const float* x, device Block* out, uint block [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    put(x[block * 32 + lane], out[block], lane);
}

// The same of rms_norm(x), a threadgroup for each input.
kernel void normed(device const float* x, device const float* gain, device Block* out, constant uint& columns,
                   constant float& eps, uint n [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    x += n * columns;
    out += n * (columns / 32);
    float squares = 0;
    for (uint k = lane; k < columns; k += 32) squares += x[k] * x[k];
    float scale = rsqrt(simd_sum(squares) / float(columns) + eps);
    for (uint b = 0; b < columns / 32; b++) put(x[b * 32 + lane] * scale * gain[b * 32 + lane], out[b], lane);
}

#define FOR_FORMAT(name, F)                                                                                         \
    template [[host_name("times_" name)]] kernel decltype(times<F, 1, false>) times<F, 1, false>;                    \
    template [[host_name("times_add_" name)]] kernel decltype(times<F, 1, true>) times<F, 1, true>;                  \
    template [[host_name("times_many_" name)]] kernel decltype(times<F, 4, false>) times<F, 4, false>;               \
    template [[host_name("times_many_add_" name)]] kernel decltype(times<F, 4, true>) times<F, 4, true>;             \
    template [[host_name("gate_up_" name)]] kernel decltype(gate_up<F>) gate_up<F>;

FOR_FORMAT("q4_0x16", Q4_0)
FOR_FORMAT("q8_0x16", Q8_0)

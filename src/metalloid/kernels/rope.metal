// Rotary position embedding: pairs of a head's numbers are turned by an angle that grows with the position.
#include <metal_stdlib>
using namespace metal;

struct Rope {
    uint dims, size, rows;  // numbers that are turned, numbers of a head, positions
    uint row;               // elements between positions
    ulong apart;            // elements between heads
    float turn;             // 1: forwards; -1: back
};

// One thread per pair, and one for each number that stays. `table` has cosine and sine by position and pair.
template <typename T, bool INTERLEAVED>
kernel void rope(device const T* x, device const float2* table, device T* out, constant Rope& r,
                 uint3 at [[thread_position_in_grid]]) {
    uint half_dims = r.dims / 2, i = at.x;
    if (half_dims + i >= r.size) return;
    x += at.z * r.apart + ulong(at.y) * r.row;
    out += (ulong(at.z) * r.rows + at.y) * r.size;
    if (i >= half_dims) {
        out[half_dims + i] = x[half_dims + i];
        return;
    }
    uint first = INTERLEAVED ? 2 * i : i, second = INTERLEAVED ? 2 * i + 1 : i + half_dims;
    float2 angle = table[at.y * half_dims + i];
    float a = float(x[first]), b = float(x[second]), cosine = angle.x, sine = angle.y * r.turn;
    out[first] = T(a * cosine - b * sine);
    out[second] = T(b * cosine + a * sine);
}

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
KERNEL("rope_split_float32", rope<float, false>)
KERNEL("rope_split_float16", rope<half, false>)
KERNEL("rope_split_bfloat16", rope<bfloat, false>)
KERNEL("rope_interleaved_float32", rope<float, true>)
KERNEL("rope_interleaved_float16", rope<half, true>)
KERNEL("rope_interleaved_bfloat16", rope<bfloat, true>)

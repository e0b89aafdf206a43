// MLX's quantised weights: groups of 32, 64 or 128 neighbours with a scale and a bias, weight = scale * q + bias, as numbers
// of 4 or 8 bits, the first in the lowest bits. Scales and biases are arrays of their own.
#include <metal_stdlib>
using namespace metal;

// What a lane's weight of a chunk of 32 is.
template <typename T, uint BITS>
inline float weight(device const uchar* q, device const T* scales, device const T* biases, uint group, ulong row,
                    uint columns, uint chunk, uint lane) {
    ulong at = row * columns + chunk * 32;
    uint byte = q[at * BITS / 8 + lane * BITS / 8];
    uint number = BITS == 8 ? byte : (byte >> (lane % 2 * 4)) & 15;
    return float(scales[at / group]) * float(number) + float(biases[at / group]);
}

template <typename T, uint BITS>
kernel void dequantize(device const uchar* q, device const T* scales, device const T* biases, device T* out,
                       constant uint& columns, constant uint& group, uint2 i [[thread_position_in_grid]]) {
    float value = weight<T, BITS>(q, scales, biases, group, i.y, columns, i.x / 32, i.x % 32);
    out[ulong(i.y) * columns + i.x] = T(value);
}

// out[n][r] = sum of weights[r][k] * x[n][k]: one SIMD-group for ROWS rows and INPUTS inputs, lanes over the columns.
template <typename T, uint BITS, uint ROWS, uint INPUTS>
kernel void matmul(device const uchar* q, device const T* scales, device const T* biases, device const T* x,
                   device T* out, constant uint& rows, constant uint& columns, constant uint& inputs,
                   constant uint& group, uint2 tile [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    uint first = tile.x * ROWS, from = tile.y * INPUTS;
    float sum[ROWS][INPUTS] = {};
    for (uint chunk = 0; chunk < columns / 32; chunk++) {
        float value[INPUTS];
        for (uint n = 0; n < INPUTS; n++)
            value[n] = float(x[ulong(min(from + n, inputs - 1)) * columns + chunk * 32 + lane]);
        for (uint r = 0; r < ROWS; r++) {
            float w = weight<T, BITS>(q, scales, biases, group, min(first + r, rows - 1), columns, chunk, lane);
            for (uint n = 0; n < INPUTS; n++) sum[r][n] += w * value[n];
        }
    }
    float mine = 0;  // lane n * ROWS + r writes row r of input n
    for (uint n = 0; n < INPUTS; n++) {
        for (uint r = 0; r < ROWS; r++) {
            float total = simd_sum(sum[r][n]);
            mine = lane == n * ROWS + r ? total : mine;
        }
    }
    uint row = first + lane % ROWS, input = from + lane / ROWS;
    if (lane < ROWS * INPUTS && row < rows && input < inputs) out[ulong(input) * rows + row] = T(mine);
}

#define FOR_TYPE(type, T, bits)                                                                                     \
    template [[host_name("dequantize_" #bits "_" type)]] kernel decltype(dequantize<T, bits>) dequantize<T, bits>;  \
    template [[host_name("matvec_" #bits "_" type)]] kernel decltype(matmul<T, bits, 8, 1>) matmul<T, bits, 8, 1>;  \
    template [[host_name("matmul_" #bits "_" type)]] kernel decltype(matmul<T, bits, 2, 8>) matmul<T, bits, 2, 8>;

FOR_TYPE("float32", float, 4)
FOR_TYPE("float16", half, 4)
FOR_TYPE("bfloat16", bfloat, 4)
FOR_TYPE("float32", float, 8)
FOR_TYPE("float16", half, 8)
FOR_TYPE("bfloat16", bfloat, 8)

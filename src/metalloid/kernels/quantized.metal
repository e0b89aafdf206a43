// Products with weights that stay as they lie in a model's file. Each weight is unpacked in a register on its way
// into the product; sums are float.
#include "weights.h"

// out = weights
template <typename F>
kernel void dequantize(device const uchar* weights, device float* out, constant uint& columns,
                       uint2 i [[thread_position_in_grid]]) {
    if (i.x >= columns) return;
    out[ulong(i.y) * columns + i.x] = F::at(weights + i.y * F::row(columns), i.x / 32, i.x % 32);
}

template <typename T>
struct Vector {
    device const T* x;
    float operator()(uint k) const { return float(x[k]); }
};

// out[r] = sum of weights[r][k] * x[k], ROWS rows for each SIMD-group. ADD: onto what `out` holds.
template <typename F, typename T, uint ROWS, bool ADD>
kernel void matvec(device const uchar* weights, device const T* x, device T* out, constant uint& rows,
                   constant uint& columns, uint group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    float sum[ROWS] = {};
    rows_times<F, ROWS>(weights, Vector<T>{x}, group * ROWS, rows, columns, lane, sum);
    float mine = collected<ROWS>(sum, lane);
    uint row = group * ROWS + lane;
    if (lane < ROWS && row < rows) out[row] = T(ADD ? float(out[row]) + mine : mine);
}

// out[n][r] = sum of weights[r][k] * x[n][k]. A SIMD-group takes a tile of ROWS rows and INPUTS inputs: a weight is
// unpacked once for all of them.
template <typename F, typename T, uint ROWS, uint INPUTS, bool ADD>
kernel void matmul(device const uchar* weights, device const T* x, device T* out, constant uint& rows,
                   constant uint& columns, constant uint& inputs, uint2 group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    ulong bytes = F::row(columns);
    uint first = group.x * ROWS, from = group.y * INPUTS;
    float sum[ROWS][INPUTS] = {};
    for (uint chunk = 0; chunk < columns / 32; chunk++) {
        float value[INPUTS];
        for (uint n = 0; n < INPUTS; n++)
            value[n] = float(x[ulong(min(from + n, inputs - 1)) * columns + chunk * 32 + lane]);
        for (uint r = 0; r < ROWS; r++) {
            float weight = F::at(weights + min(first + r, rows - 1) * bytes, chunk, lane);
            for (uint n = 0; n < INPUTS; n++) sum[r][n] += weight * value[n];
        }
    }
    if (!F::blocks && lane < columns % 32) {
        for (uint r = 0; r < ROWS; r++) {
            float weight = F::at(weights + min(first + r, rows - 1) * bytes, columns / 32, lane);
            for (uint n = 0; n < INPUTS; n++)
                sum[r][n] += weight * float(x[ulong(min(from + n, inputs - 1)) * columns + columns / 32 * 32 + lane]);
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
    if (lane < ROWS * INPUTS && row < rows && input < inputs) {
        device T& place = out[ulong(input) * rows + row];
        place = T(ADD ? float(place) + mine : mine);
    }
}

// out[n] = table[ids[n]]
template <typename F, typename T>
kernel void embedding(device const uchar* table, device const int* ids, device T* out, constant uint& columns,
                      uint2 i [[thread_position_in_grid]]) {
    if (i.x >= columns) return;
    device const uchar* row = table + ids[i.y] * F::row(columns);
    out[ulong(i.y) * columns + i.x] = T(F::at(row, i.x / 32, i.x % 32));
}

// table[ids[u]] = sum of change[order[n]] over the n from starts[u] to starts[u + 1]: the places that had that id
template <typename T>
kernel void embedding_vjp(device const T* change, device const int* order, device const int* starts,
                          device const int* ids, device T* table, constant uint& columns,
                          uint2 i [[thread_position_in_grid]]) {
    if (i.x >= columns) return;
    float sum = 0;
    for (int n = starts[i.y]; n < starts[i.y + 1]; n++) sum += float(change[ulong(order[n]) * columns + i.x]);
    table[ulong(ids[i.y]) * columns + i.x] = T(sum);
}

#define PRODUCTS(name, F, type, T)                                                                                  \
    template [[host_name("matvec_" name "_" type)]] kernel decltype(matvec<F, T, 8, false>) matvec<F, T, 8, false>; \
    template [[host_name("matmul_" name "_" type)]] kernel decltype(matmul<F, T, 2, 8, false>) matmul<F, T, 2, 8, false>;

#define EMBEDDING(name, F, type, T)                                                                                 \
    template [[host_name("embedding_" name "_" type)]] kernel decltype(embedding<F, T>) embedding<F, T>;

// For all: what a Llama needs.
#define FOR_FORMAT(name, F)                                                                                         \
    template [[host_name("matvec_add_" name)]] kernel decltype(matvec<F, float, 8, true>) matvec<F, float, 8, true>;\
    template [[host_name("matmul_add_" name)]] kernel                                                               \
        decltype(matmul<F, float, 2, 8, true>) matmul<F, float, 2, 8, true>;                                        \
    PRODUCTS(name, F, "float32", float)                                                                             \
    EMBEDDING(name, F, "float32", float)

#define FOR_BLOCKS(name, F)                                                                                         \
    template [[host_name("dequantize_" name)]] kernel decltype(dequantize<F>) dequantize<F>;                        \
    FOR_FORMAT(name, F)                                                                                             \
    PRODUCTS(name, F, "float16", half)                                                                              \
    PRODUCTS(name, F, "bfloat16", bfloat)

FOR_FORMAT("f32", Plain<float>)
FOR_FORMAT("f16", Plain<half>)
FOR_FORMAT("bf16", Plain<bfloat>)
EMBEDDING("f16", Plain<half>, "float16", half)
EMBEDDING("bf16", Plain<bfloat>, "bfloat16", bfloat)
FOR_BLOCKS("q8_0", Q8_0)
FOR_BLOCKS("q4_0", Q4_0)
FOR_BLOCKS("q4_K", Q4_K)
FOR_BLOCKS("q6_K", Q6_K)

// For the prompts of a Llama; its tokens have kernels of their own (llama/wide.metal).
template [[host_name("matmul_add_q4_0x8")]] kernel
    decltype(matmul<Q4_0x8, float, 2, 8, true>) matmul<Q4_0x8, float, 2, 8, true>;
template [[host_name("matmul_q4_0x8_float32")]] kernel
    decltype(matmul<Q4_0x8, float, 2, 8, false>) matmul<Q4_0x8, float, 2, 8, false>;
EMBEDDING("q4_0x8", Q4_0x8, "float32", float)

#define EMBEDDING_VJP(type, T) \
    template [[host_name("embedding_vjp_" type)]] kernel decltype(embedding_vjp<T>) embedding_vjp<T>;

EMBEDDING_VJP("float32", float)
EMBEDDING_VJP("float16", half)
EMBEDDING_VJP("bfloat16", bfloat)

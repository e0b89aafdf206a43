// Matrix products: out = A @ B, or A @ B^T where B is stored by its columns. Inputs of 16 bits are summed in float.
//
// A is M x K, out is M x N; lda and ldb are how far rows lie apart, and z of the grid counts a batch of products.
// Four ways to the same numbers: tiles in threadgroup memory, tiles of simdgroup matrices, blocks in registers
// with one column per thread, and blocks of dot products with one SIMD-group per block.
#include <metal_stdlib>
using namespace metal;

struct Shape {
    uint M, N, K, lda, ldb;
    ulong batch_a, batch_b;  // elements from one product of the batch to the next; 0: the same for all
};

// ---- tiles in threadgroup memory: every number is read from memory once per tile instead of once per product ----

template <typename T, uint TILE, bool TRANSPOSED>
kernel void matmul_tiled(device const T* a, device const T* b, device T* out, constant Shape& s,
                         uint3 group [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]]) {
    threadgroup float a_tile[TILE][TILE], b_tile[TILE][TILE];
    a += group.z * s.batch_a;
    b += group.z * s.batch_b;
    uint row = group.y * TILE + t.y, col = group.x * TILE + t.x;
    // With B^T a thread loads from a row that its y chooses, as for A: neighbours in x read neighbours in memory.
    uint b_row = group.x * TILE + t.y;
    float sum = 0;
    for (uint k = 0; k < s.K; k += TILE) {
        a_tile[t.y][t.x] = row < s.M && k + t.x < s.K ? float(a[ulong(row) * s.lda + k + t.x]) : 0.0f;
        if (TRANSPOSED)
            b_tile[t.y][t.x] = b_row < s.N && k + t.x < s.K ? float(b[ulong(b_row) * s.ldb + k + t.x]) : 0.0f;
        else
            b_tile[t.y][t.x] = k + t.y < s.K && col < s.N ? float(b[ulong(k + t.y) * s.ldb + col]) : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i++) sum = fma(a_tile[t.y][i], TRANSPOSED ? b_tile[t.x][i] : b_tile[i][t.x], sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < s.M && col < s.N) out[(ulong(group.z) * s.M + row) * s.N + col] = T(sum);
}

// ---- simdgroup matrices: four SIMD-groups make a tile of 32 x 32, each a quarter of 2 x 2 matrices of 8 x 8 ----

template <typename T, bool TRANSPOSED>
kernel void matmul_simdgroup(device const T* a, device const T* b, device T* out, constant Shape& s,
                             uint3 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                             uint simd [[simdgroup_index_in_threadgroup]]) {
    constexpr uint TILE = 32, THREADS = 128;
    threadgroup float a_tile[TILE * TILE], b_tile[TILE * TILE];
    a += group.z * s.batch_a;
    b += group.z * s.batch_b;
    uint row = group.y * TILE, col = group.x * TILE;
    uint y = simd / 2 * 16, x = simd % 2 * 16;  // the quarter of this SIMD-group
    simdgroup_float8x8 sum[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint k = 0; k < s.K; k += TILE) {
        for (uint i = t; i < TILE * TILE; i += THREADS) {
            uint slow = i / TILE, fast = i % TILE;
            a_tile[i] = row + slow < s.M && k + fast < s.K ? float(a[ulong(row + slow) * s.lda + k + fast]) : 0.0f;
            if (TRANSPOSED)
                b_tile[i] = col + slow < s.N && k + fast < s.K ? float(b[ulong(col + slow) * s.ldb + k + fast]) : 0.0f;
            else
                b_tile[i] = k + slow < s.K && col + fast < s.N ? float(b[ulong(k + slow) * s.ldb + col + fast]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i += 8) {
            simdgroup_float8x8 left[2], right[2];
            for (int j = 0; j < 2; j++) {
                simdgroup_load(left[j], a_tile + (y + 8 * j) * TILE + i, TILE);
                if (TRANSPOSED)
                    simdgroup_load(right[j], b_tile + (x + 8 * j) * TILE + i, TILE, ulong2(0, 0), true);
                else
                    simdgroup_load(right[j], b_tile + i * TILE + x + 8 * j, TILE);
            }
            for (int p = 0; p < 2; p++)
                for (int q = 0; q < 2; q++) simdgroup_multiply_accumulate(sum[p][q], left[p], right[q], sum[p][q]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    // Through the tile to memory: the last tile of a row or column is only partly inside the result.
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) simdgroup_store(sum[p][q], a_tile + (y + 8 * p) * TILE + x + 8 * q, TILE);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < TILE * TILE; i += THREADS) {
        uint slow = row + i / TILE, fast = col + i % TILE;
        if (slow < s.M && fast < s.N) out[(ulong(group.z) * s.M + slow) * s.N + fast] = T(a_tile[i]);
    }
}

// ---- one column per thread, several rows in its registers ----

// Panels: 64 columns of B as floats, row after row, so that the product reads memory from front to back.
constant constexpr uint PANEL = 64;

template <typename TB>
kernel void pack_columns(device const TB* b, device float* panels, constant Shape& s,
                         uint3 at [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {
    uint col = at.x, k = at.y;
    ulong panel = at.z * (grid.x / PANEL) + col / PANEL;
    b += at.z * s.batch_b + ulong(k) * s.ldb;
    panels[(panel * s.K + k) * PANEL + col % PANEL] = col < s.N ? float(b[col]) : 0.0f;
}

// The same of B^T: each thread takes eight neighbours of a row, which become a column.
template <typename TB>
kernel void pack_rows(device const TB* b, device float* panels, constant Shape& s,
                      uint3 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                      uint3 groups [[threadgroups_per_grid]]) {
    constexpr uint EACH = 8;
    uint col = group.x * PANEL + t, k = group.y * EACH;
    b += group.z * s.batch_b + ulong(min(col, s.N - 1)) * s.ldb + k;  // past the end: any number will do
    panels += ((ulong(group.z) * groups.x + group.x) * s.K + k) * PANEL + t;
    if (k + EACH <= s.K) {
        TB row[EACH];
        for (uint i = 0; i < EACH; i++) row[i] = b[i];
        for (uint i = 0; i < EACH; i++) panels[i * PANEL] = float(row[i]);
    } else {
        for (uint i = 0; k + i < s.K; i++) panels[i * PANEL] = float(b[i]);
    }
}

template <typename T>
kernel void to_float(device const T* a, device float* out, constant Shape& s, uint3 at [[thread_position_in_grid]]) {
    if (at.x >= s.K) return;
    out[(ulong(at.z) * s.M + at.y) * s.K + at.x] = float(a[at.z * s.batch_a + ulong(at.y) * s.lda + at.x]);
}

template <typename T>
kernel void matmul_registers(device const float* a, device const float* panels, device T* out, constant Shape& s,
                             uint3 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    constexpr uint ROWS = 6;  // sums of 6 x 4 registers, 4 of B and one of A are 29; of 7 rows they would be 33
    uint row = group.y * ROWS, col = group.x * PANEL + t;
    a += group.z * s.batch_a;
    device const float* b = panels + group.z * s.batch_b + ulong(group.x) * s.K * PANEL + t;
    device const float* from[ROWS];  // rows past the end repeat the last one, and are not stored
    for (uint r = 0; r < ROWS; r++) from[r] = a + ulong(min(row + r, s.M - 1)) * s.lda;
    float sum[ROWS] = {};
    for (uint k = 0; k < s.K; k++) {
        float value = b[k * PANEL];
        for (uint r = 0; r < ROWS; r++) sum[r] = fma(from[r][k], value, sum[r]);
    }
    if (col >= s.N) return;
    for (uint r = 0; r < ROWS; r++)
        if (row + r < s.M) out[(ulong(group.z) * s.M + row + r) * s.N + col] = T(sum[r]);
}

// Without panels, for so few rows that making them would cost more than the product.
template <typename TA, typename TB, uint ROWS>
kernel void matmul_columns(device const TA* a, device const TB* b, device TA* out, constant Shape& s,
                           uint3 at [[thread_position_in_grid]]) {
    uint row = at.y * ROWS, col = at.x;
    if (col >= s.N) return;
    a += at.z * s.batch_a;
    b += at.z * s.batch_b + col;
    device const TA* from[ROWS];
    for (uint r = 0; r < ROWS; r++) from[r] = a + ulong(min(row + r, s.M - 1)) * s.lda;
    float sum[ROWS] = {};
    for (uint k = 0; k < s.K; k++) {
        float value = b[ulong(k) * s.ldb];
        for (uint r = 0; r < ROWS; r++) sum[r] = fma(float(from[r][k]), value, sum[r]);
    }
    for (uint r = 0; r < ROWS; r++)
        if (row + r < s.M) out[(ulong(at.z) * s.M + row + r) * s.N + col] = TA(sum[r]);
}

// ---- A @ B^T as dot products: a SIMD-group goes along ROWS rows of A and COLS rows of B together ----

template <typename TA, typename TB, uint ROWS, uint COLS>
kernel void matmul_dots(device const TA* a, device const TB* b, device TA* out, constant Shape& s,
                        uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint row = group.y * ROWS, col = group.x * COLS;
    device const TA* left[ROWS];
    device const TB* right[COLS];
    for (uint r = 0; r < ROWS; r++) left[r] = a + group.z * s.batch_a + ulong(min(row + r, s.M - 1)) * s.lda;
    for (uint c = 0; c < COLS; c++) right[c] = b + group.z * s.batch_b + ulong(min(col + c, s.N - 1)) * s.ldb;
    float sum[ROWS][COLS] = {};
    for (uint k = lane; k < s.K; k += 32) {
        float x[ROWS];
        for (uint r = 0; r < ROWS; r++) x[r] = float(left[r][k]);
        for (uint c = 0; c < COLS; c++) {
            float y = float(right[c][k]);
            for (uint r = 0; r < ROWS; r++) sum[r][c] = fma(x[r], y, sum[r][c]);
        }
    }
    for (uint r = 0; r < ROWS; r++)
        for (uint c = 0; c < COLS; c++) {
            float total = simd_sum(sum[r][c]);
            if (lane == 0 && row + r < s.M && col + c < s.N)
                out[(ulong(group.z) * s.M + row + r) * s.N + col + c] = TA(total);
        }
}

// ---- names for Python: operation, dtype of A and the result, dtype of B ----

#define KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;
#define SAME(T, types)                                                  \
    KERNEL("matmul_tile16_nn_" types, matmul_tiled<T, 16, false>)       \
    KERNEL("matmul_tile16_nt_" types, matmul_tiled<T, 16, true>)        \
    KERNEL("matmul_tile32_nn_" types, matmul_tiled<T, 32, false>)       \
    KERNEL("matmul_tile32_nt_" types, matmul_tiled<T, 32, true>)        \
    KERNEL("matmul_simdgroup_nn_" types, matmul_simdgroup<T, false>)    \
    KERNEL("matmul_simdgroup_nt_" types, matmul_simdgroup<T, true>)
#define PAIR(TA, TB, types)                                             \
    KERNEL("matmul_columns1_" types, matmul_columns<TA, TB, 1>)         \
    KERNEL("matmul_columns4_" types, matmul_columns<TA, TB, 4>)         \
    KERNEL("matmul_dots1_" types, matmul_dots<TA, TB, 1, 4>)            \
    KERNEL("matmul_dots3_" types, matmul_dots<TA, TB, 3, 4>)
#define ONE(T, type)                                                    \
    KERNEL("pack_columns_" type, pack_columns<T>)                       \
    KERNEL("pack_rows_" type, pack_rows<T>)                             \
    KERNEL("matmul_registers_" type, matmul_registers<T>)

SAME(float, "float32_float32")
SAME(half, "float16_float16")
SAME(bfloat, "bfloat16_bfloat16")
PAIR(float, float, "float32_float32")
PAIR(float, half, "float32_float16")
PAIR(float, bfloat, "float32_bfloat16")
PAIR(half, half, "float16_float16")
PAIR(bfloat, bfloat, "bfloat16_bfloat16")
ONE(float, "float32")
ONE(half, "float16")
ONE(bfloat, "bfloat16")
KERNEL("to_float_float16", to_float<half>)
KERNEL("to_float_bfloat16", to_float<bfloat>)

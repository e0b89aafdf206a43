#include <metal_stdlib>
using namespace metal;
constant uint TILE = 16;

kernel void transpose(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                      constant uint2& size [[buffer(2)]],  // rows, columns of x
                      uint2 t [[thread_position_in_threadgroup]],
                      uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[TILE][TILE + 1];
    uint row = group.y * TILE + t.y, column = group.x * TILE + t.x;
    if (row < size.x && column < size.y) tile[t.y][t.x] = x[row * size.y + column];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    row = group.y * TILE + t.x, column = group.x * TILE + t.y;
    if (row < size.x && column < size.y) y[column * size.x + row] = tile[t.x][t.y];
}

#include <metal_stdlib>
using namespace metal;

template <typename T, uint TILE>
void load_tile(threadgroup T (&tile)[TILE][TILE], const device T* source, uint2 at, uint2 lid, uint width) {
    tile[lid.y][lid.x] = source[(at.y + lid.y) * width + at.x + lid.x];
}

template <typename T, uint TILE>
[[kernel]] void matmul(const device T* a [[buffer(0)]], const device T* b [[buffer(1)]], device T* c [[buffer(2)]],
                       constant uint3& size [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                       uint2 lid [[thread_position_in_threadgroup]]) {
    threadgroup T left[TILE][TILE];
    threadgroup T right[TILE][TILE];
    float sum = 0;
    for (uint k = 0; k < size.z; k += TILE) {
        load_tile<T, TILE>(left, a, uint2(k, group.y * TILE), lid, size.z);
        load_tile<T, TILE>(right, b, uint2(group.x * TILE, k), lid, size.x);
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint i = 0; i < TILE; i++) {
            sum += float(left[lid.y][i]) * float(right[i][lid.x]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[(group.y * TILE + lid.y) * size.x + group.x * TILE + lid.x] = T(sum);
}

template [[host_name("matmul_f32")]] kernel void matmul<float, 16>(const device float*, const device float*, device float*, constant uint3&, uint2, uint2);
template [[host_name("matmul_f16")]] kernel void matmul<half, 8>(const device half*, const device half*, device half*, constant uint3&, uint2, uint2);

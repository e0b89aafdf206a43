#include <metal_stdlib>
using namespace metal;

enum class Mode : uint { copy = 0, scale = 1 };
struct alignas(16) Params {
    float4 weight;
    packed_float3 offset;
    uint count;
    Mode mode;
};
union Bits {
    float f;
    uint u;
};
namespace tools {
constant float table[4] = {0.5, 1.0f, 2.0, 4e-1};
inline float pick(float4 v, uint i) { return v[i & 3] + table[i & 3]; }
struct Adder {
    float base;
    float operator()(float x) const { return base + x; }
};
}
using Vector = float4;

kernel void types(device Vector* x [[buffer(0)]], constant Params& params [[buffer(1)]],
                  device half* h [[buffer(2)]], device bfloat* b [[buffer(3)]], device char4* c [[buffer(4)]],
                  uint3 gid [[thread_position_in_grid]], uint3 size [[threads_per_grid]]) {
    uint i = gid.x + gid.y * size.x;
    Vector v = x[i];
    v.xyz = v.zyx * params.weight.xyz + float3(params.offset);
    v.w = dot(v, params.weight) - 1.0;
    float2x2 m = float2x2(v.xy, v.zw);
    v.xy = m * v.zw;
    auto square = [&](float a) { return a * a; };
    Bits bits;
    bits.f = square(v.x);
    bits.u ^= 0x80000000u;
    tools::Adder add{bits.f};
    h[i] = half(add(tools::pick(v, i))) + 1.0h;
    b[i] = bfloat(v.y);
    c[i] = char4(int4(clamp(v, -128.0f, 127.0f)));
    switch (params.mode) {
        case Mode::copy: x[i] = v; break;
        default: x[i] = select(v, -v, v > 0) * as_type<float>(params.count);
    }
}

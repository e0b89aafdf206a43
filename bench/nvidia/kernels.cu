// The kernels of kernels.metal, written in CUDA by hand; compiled by nvcc -O3.
#include <cuda_fp16.h>
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
#define KERNEL extern "C" __global__ void
#define FULL 0xffffffffu

__device__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d);
    return v;
}
__device__ float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(FULL, v, d));
    return v;
}
__device__ float warp_scan(float v) {
    for (int d = 1; d < 32; d *= 2) {
        float o = __shfl_up_sync(FULL, v, d);
        if ((threadIdx.x & 31) >= d) v += o;
    }
    return v;
}

KERNEL add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, uint n) {
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

KERNEL rms_norm(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, uint n) {
    __shared__ float part[8];
    uint t = threadIdx.x, lane = t & 31, warp = t / 32;
    const float4* from = (const float4*)(x + (size_t)blockIdx.x * n);
    float4* to = (float4*)(y + (size_t)blockIdx.x * n);
    const float4* scale = (const float4*)w;
    float sum = 0;
    for (uint i = t; i < n / 4; i += 256) {
        float4 v = from[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    sum = warp_sum(sum);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    float all = 0;
    for (uint k = 0; k < 8; k++) all += part[k];
    float f = rsqrtf(all / (float)n + 1e-5f);
    for (uint i = t; i < n / 4; i += 256) {
        float4 v = from[i], s = scale[i];
        to[i] = make_float4(v.x * f * s.x, v.y * f * s.y, v.z * f * s.z, v.w * f * s.w);
    }
}

KERNEL softmax(const float* __restrict__ x, float* __restrict__ y, uint n) {
    __shared__ float part[8];
    uint t = threadIdx.x, lane = t & 31, warp = t / 32;
    const float* from = x + (size_t)blockIdx.x * n;
    float* to = y + (size_t)blockIdx.x * n;
    float most = -INFINITY;
    for (uint i = t; i < n; i += 256) most = fmaxf(most, from[i]);
    most = warp_max(most);
    if (lane == 0) part[warp] = most;
    __syncthreads();
    for (uint k = 0; k < 8; k++) most = fmaxf(most, part[k]);
    __syncthreads();
    float sum = 0;
    for (uint i = t; i < n; i += 256) sum += expf(from[i] - most);
    sum = warp_sum(sum);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    float all = 0;
    for (uint k = 0; k < 8; k++) all += part[k];
    for (uint i = t; i < n; i += 256) to[i] = expf(from[i] - most) / all;
}

KERNEL tree(const float* __restrict__ x, float* __restrict__ y) {
    __shared__ float part[256];
    uint t = threadIdx.x;
    const float* from = x + (size_t)blockIdx.x * 2048;
    float sum = 0;
    for (uint k = 0; k < 8; k++) sum += from[t + 256 * k];
    part[t] = sum;
    __syncthreads();
    for (uint half_ = 128; half_ > 0; half_ /= 2) {
        if (t < half_) part[t] += part[t + half_];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}

template <uint T>
__device__ void product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, uint n) {
    __shared__ float x[T][T], y[T][T];
    uint lx = threadIdx.x, ly = threadIdx.y, row = blockIdx.y * T + ly, column = blockIdx.x * T + lx;
    float sum = 0;
    for (uint k = 0; k < n; k += T) {
        x[ly][lx] = a[row * n + k + lx];
        y[ly][lx] = b[(k + ly) * n + column];
        __syncthreads();
        for (uint j = 0; j < T; j++) sum += x[ly][j] * y[j][lx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
KERNEL product16(const float* a, const float* b, float* c, uint n) { product<16>(a, b, c, n); }
KERNEL product32(const float* a, const float* b, float* c, uint n) { product<32>(a, b, c, n); }

KERNEL stencil(const float* __restrict__ x, float* __restrict__ y, uint n) {
    uint px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, at = py * n + px;
    if (px == 0 || py == 0 || px + 1 >= n || py + 1 >= n) {
        y[at] = x[at];
        return;
    }
    y[at] = 0.5f * x[at] + 0.125f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
}

KERNEL scan(const float* __restrict__ x, float* __restrict__ y) {
    __shared__ float part[32];
    uint t = threadIdx.x, lane = t & 31, warp = t / 32;
    float sum = warp_scan(x[(size_t)blockIdx.x * 1024 + t]);
    if (lane == 31) part[warp] = sum;
    __syncthreads();
    if (warp == 0) part[lane] = warp_scan(part[lane]);
    __syncthreads();
    y[(size_t)blockIdx.x * 1024 + t] = warp ? sum + part[warp - 1] : sum;
}

KERNEL histogram(const uchar* __restrict__ x, uint* __restrict__ y, uint n) {
    __shared__ uint bins[256];
    uint t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (uint i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    atomicAdd(&y[t], bins[t]);
}

KERNEL transpose(const float* __restrict__ x, float* __restrict__ y, uint n) {
    __shared__ float tile[32][33];
    uint lx = threadIdx.x, ly = threadIdx.y, gx = blockIdx.x, gy = blockIdx.y;
    for (uint k = 0; k < 32; k += 8) tile[ly + k][lx] = x[(gy * 32 + ly + k) * n + gx * 32 + lx];
    __syncthreads();
    for (uint k = 0; k < 32; k += 8) y[(gx * 32 + ly + k) * n + gy * 32 + lx] = tile[lx][ly + k];
}

KERNEL nbody(const float4* __restrict__ p, float4* __restrict__ a, uint n) {
    __shared__ float4 tile[256];
    uint t = threadIdx.x, i = blockIdx.x * 256 + t;
    float4 me = p[i];
    float x = 0, y = 0, z = 0;
    for (uint k = 0; k < n; k += 256) {
        tile[t] = p[k + t];
        __syncthreads();
        for (uint j = 0; j < 256; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = tile[j].w * r * r * r;
            x += dx * f, y += dy * f, z += dz * f;
        }
        __syncthreads();
    }
    a[i] = make_float4(x, y, z, 0);
}

__device__ float normal(float d) {
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - c : c;
}

KERNEL black_scholes(const float* __restrict__ s, const float* __restrict__ x, const float* __restrict__ t,
                     float* __restrict__ call, float* __restrict__ put, uint n) {
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float root = sqrtf(t[i]), d1 = (logf(s[i] / x[i]) + (0.02f + 0.5f * 0.3f * 0.3f) * t[i]) / (0.3f * root);
    float d2 = d1 - 0.3f * root, n1 = normal(d1), n2 = normal(d2), e = expf(-0.02f * t[i]);
    call[i] = s[i] * n1 - x[i] * e * n2;
    put[i] = x[i] * e * (1 - n2) - s[i] * (1 - n1);
}

KERNEL rope(const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ f, uint pairs) {
    uint px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float c, s;
    sincosf((float)py * f[px], &s, &c);
    uint at = py * 2 * pairs + 2 * px;
    float a = x[at], b = x[at + 1];
    y[at] = a * c - b * s;
    y[at + 1] = a * s + b * c;
}

struct block_q4_0 {
    half d;
    uchar q[16];
};

KERNEL q4_0(const block_q4_0* __restrict__ w, const float* __restrict__ x, float* __restrict__ y, uint blocks) {
    uint lane = threadIdx.x & 31, row = blockIdx.x * 4 + threadIdx.x / 32;
    const block_q4_0* mine = w + (size_t)row * blocks;
    float sum = 0;
    for (uint b = lane / 2; b < blocks; b += 16) {
        const ushort* q = (const ushort*)mine[b].q + 4 * (lane & 1);
        const float* v = x + 32 * b + 8 * (lane & 1);
        float part = 0, all = 0;
        for (uint k = 0; k < 4; k++) {
            uint bits = q[k];
            float a = v[2 * k], c = v[2 * k + 1], e = v[2 * k + 16], f = v[2 * k + 17];
            part += (float)(bits & 15) * a + (float)(bits >> 8 & 15) * c + (float)(bits >> 4 & 15) * e + (float)(bits >> 12) * f;
            all += a + c + e + f;
        }
        sum += __half2float(mine[b].d) * (part - 8 * all);
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

__device__ float4 wide(uint2 bits) {
    float2 a = __half22float2(*(half2*)&bits.x), b = __half22float2(*(half2*)&bits.y);
    return make_float4(a.x, a.y, b.x, b.y);
}

KERNEL attention(const float* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
                 float* __restrict__ y, uint n) {
    __shared__ float4 sums[8][32];
    __shared__ float most[8], totals[8];
    uint lane = threadIdx.x & 31, warp = threadIdx.x / 32, head = blockIdx.x;
    float4 mine = ((const float4*)q)[head * 32 + lane], out = make_float4(0, 0, 0, 0);
    mine.x *= 0.088388f, mine.y *= 0.088388f, mine.z *= 0.088388f, mine.w *= 0.088388f;
    const uint2* keys = (const uint2*)k + (size_t)head * n * 32;
    const uint2* values = (const uint2*)v + (size_t)head * n * 32;
    float m = -1e30f, total = 0;
    for (uint i = warp; i < n; i += 8) {
        float4 a = wide(keys[i * 32 + lane]);
        float s = warp_sum(mine.x * a.x + mine.y * a.y + mine.z * a.z + mine.w * a.w);
        float now = fmaxf(m, s), old = expf(m - now), e = expf(s - now);
        float4 b = wide(values[i * 32 + lane]);
        total = total * old + e;
        out.x = out.x * old + e * b.x, out.y = out.y * old + e * b.y;
        out.z = out.z * old + e * b.z, out.w = out.w * old + e * b.w;
        m = now;
    }
    sums[warp][lane] = out;
    if (lane == 0) most[warp] = m, totals[warp] = total;
    __syncthreads();
    if (warp == 0) {
        float all = 0, sum = 0;
        float4 r = make_float4(0, 0, 0, 0);
        for (uint w = 0; w < 8; w++) all = fmaxf(all, most[w]);
        for (uint w = 0; w < 8; w++) {
            float e = expf(most[w] - all);
            float4 o = sums[w][lane];
            sum += totals[w] * e;
            r.x += o.x * e, r.y += o.y * e, r.z += o.z * e, r.w += o.w * e;
        }
        ((float4*)y)[head * 32 + lane] = make_float4(r.x / sum, r.y / sum, r.z / sum, r.w / sum);
    }
}

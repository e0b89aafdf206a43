// The kernels of engine.metal in OpenCL C, for `python -m bench opencl`: line by line the same, where the languages allow.
kernel void add(global const float* a, global const float* b, global float* c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

kernel void scale(global const float* a, global float* c) {
    size_t i = get_global_id(0);
    c[i] = a[i] * 2.5f;
}

kernel void silu(global const float* a, global float* c) {
    size_t i = get_global_id(0);
    float x = a[i];
    c[i] = x / (1.0f + exp(-x));
}

// OpenCL has no simd_sum that both runtimes know: a tree over the work-group.
kernel void rms_norm(global const float* x, global const float* w, global float* o, uint n) {
    local float part[256];
    uint row = get_group_id(0), t = get_local_id(0), threads = get_local_size(0);
    global const float* r = x + row * n;
    float s = 0;
    for (uint i = t; i < n; i += threads) s += r[i] * r[i];
    part[t] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k) part[t] += part[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float k = rsqrt(part[0] / n + 1e-5f);
    for (uint i = t; i < n; i += threads) o[row * n + i] = r[i] * k * w[i];
}

kernel void tree(global const float* a, global float* o) {
    local float s[256];
    uint t = get_local_id(0);
    s[t] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) o[get_group_id(0)] = s[0];
}

kernel void matmul_nt(global const float* A, global const float* B, global float* C, uint N) {
    local float a[16][16], b[16][16];
    uint x = get_local_id(0), y = get_local_id(1), gx = get_group_id(0), gy = get_group_id(1);
    uint row = gy * 16 + y, col = gx * 16 + x;
    float acc = 0;
    for (uint k = 0; k < N; k += 16) {
        a[y][x] = A[row * N + k + x];
        b[y][x] = B[(gx * 16 + y) * N + k + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 16; i++) acc += a[y][i] * b[x][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < N && col < N) C[row * N + col] = acc;
}

kernel void matmul_32(global const float* A, global const float* B, global float* C, uint N) {
    local float a[32][32], b[32][32];
    uint x = get_local_id(0), y = get_local_id(1), gx = get_group_id(0), gy = get_group_id(1);
    uint row = gy * 32 + y, col = gx * 32 + x;
    float acc = 0;
    for (uint k = 0; k < N; k += 32) {
        a[y][x] = A[row * N + k + x];
        b[y][x] = B[(k + y) * N + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 32; i++) acc += a[y][i] * b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[row * N + col] = acc;
}

kernel void matmul_naive(global const float* A, global const float* B, global float* C, uint N) {
    size_t x = get_global_id(0), y = get_global_id(1);
    float acc = 0;
    for (uint k = 0; k < N; k++) acc += A[y * N + k] * B[k * N + x];
    C[y * N + x] = acc;
}

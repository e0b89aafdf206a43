"""Private variables that are set in part, and used where they were set, or where they were not."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.second_round.case import Case, blank, floats

BEFORE = """
struct Point { float a; int b; float3 v; };
struct Bits { uint low : 4; uint high : 28; };
union Word { float f; uint i; };
inline float total(thread const float* a, int n) {
    float s = 0;
    for (int k = 0; k < n; k++) s += a[k];
    return s;
}
inline void add(thread float4& a, float b) { a += b; }
inline Point made(float x) { Point p; p.a = x; p.b = 2; p.v = float3(1, x, 2); return p; }
inline void fill(thread Point& p, float x) { p.a = x; p.b = 2; p.v = float3(1, x, 2); }
template <typename T, int N> struct Tile {
    T v[N];
    Tile() thread {}
    void clear() thread { for (int k = 0; k < N; k++) v[k] = 0; }
    void add(T x) thread { for (int k = 0; k < N; k++) v[k] += x; }
};
kernel void k(device float* out, device const float* x, constant int& n, uint i [[thread_position_in_grid]]) {
"""
FILLED = "float a[8]; for (int k = 0; k < n; k++) a[k] = x[i]; "
SUM = "float s = 0; for (int k = 0; k < {UP}; k++) s += a[k]; out[i] = s;"
MATRICES = """simdgroup_float8x8 a, b, c; simdgroup_load(a, x, 8); simdgroup_load(b, x, 8);
    {WORD} simdgroup_store(c, out, 8);"""
WALK = """float a[8]; thread float* p = a; for (int k = 0; k < {UP}; k++) *p++ = x[i];
    float s = 0; p = a; for (int k = 0; k < 8; k++) s += *p++; out[i] = s;"""
INSERTION = """float a[5]; int c = 0;
    for (int k = 0; k < 20; k++) {
        float v = x[(i + k * 7) % 64];
        int j = c < 5 ? c : 4;
        if (c < 5) c++; else if (a[4] <= v) continue;
        while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; j--; }
        a[j] = v;
    }
    out[i] = a[0] + a[{LAST}];"""
# name: what is wrong, its twin, what is said (n is 4)
PAIRS = {
    "an array that is filled to n and read to its end": (
        FILLED + SUM.replace("{UP}", "8"),
        FILLED + SUM.replace("{UP}", "n"),
        "never set that element of 'a' (the index is ",
    ),
    "an array that a function reads": (
        FILLED + "out[i] = total(a, 8);",
        FILLED + "out[i] = total(a, 4);",
        "'a[k]'",
    ),
    "every second element": (
        "float a[8]; for (int k = 0; k < 8; k += 2) a[k] = x[i]; out[i] = a[int(x[i]) % 8];",
        "float a[8]; for (int k = 0; k < 8; k += 1) a[k] = x[i]; out[i] = a[int(x[i]) % 8];",
        "'a[int(x[i]) % 8]'",
    ),
    "one of two ways forgets an element": (
        "float a[2]; if (n > 5) { a[0] = 1; a[1] = 2; } else a[0] = x[i]; out[i] = a[1];",
        "float a[2]; if (n > 5) { a[0] = 1; a[1] = 2; } else { a[0] = x[i]; a[1] = 3; } out[i] = a[1];",
        "'a[1]'",
    ),
    "a member": (
        "Point p; p.a = x[i]; out[i] = p.a * p.b;",
        "Point p; p.a = x[i]; p.b = 2; out[i] = p.a * p.b;",
        "'p.b' is used",
    ),
    "a member of a copy": (
        "Point p; p.a = x[i]; Point q = p; out[i] = q.a + q.b;",
        "Point p; p.a = x[i]; p.v.x = 2; Point q = p; Point r; r = q; out[i] = r.a + r.v.x;",
        "'q.b'",
    ),
    "a struct that a function sets": (
        "Point p; if (n > 5) fill(p, x[i]); out[i] = p.a + p.b;",
        "Point p; fill(p, x[i]); Point q = made(p.a); out[i] = p.b + p.v.z + q.a + q.v.y;",
        "has never set it",
    ),
    "a part of a vector": (
        "float4 v; v.x = x[i]; v.yz = 1; out[i] = v.x + v.w;",
        "float3 v; v.x = x[i]; v.y = 1; v.z = 3; float3 w = v * 2; out[i] = dot(v, w);",
        "'v.w'",
    ),
    "a vector that is passed on": (
        "float4 v; v.x = x[i]; v.y = 1; v.z = 3; out[i] = dot(v, v);",
        "float3 v[3]; for (int k = 0; k < 3; k++) v[k] = float3(x[i]); v[1].y = 3; out[i] = dot(v[1], v[2]);",
        "what 'dot' is given",
    ),
    "a vector that is stored": (
        "float4 v; v.x = x[i]; v.y = 1; v.z = 2; ((device float4*)out)[i] = v;",
        "float4 v; v.x = x[i]; v.y = 1; v.zw = 2; ((device float4*)out)[i] = v;",
        "'v' was never set by this thread, or not all of it",
    ),
    "a copy by hand": (
        "float a[4], b[4]; a[0] = x[i]; for (int k = 0; k < 4; k++) b[k] = a[k]; out[i] = b[0] + b[3];",
        "float a[4], b[4]; a[0] = x[i]; for (int k = 0; k < 4; k++) b[k] = a[k]; out[i] = b[0];",
        "'b[3]'",
    ),
    "a loop of no rounds": (
        "float best; for (int k = 0; k < n - 4; k++) best = x[k]; out[i] = best;",
        "float best; bool any = false; for (int k = 0; k < n - 4; k++) { best = x[k]; any = true; }"
        " out[i] = any ? best : 0;",
        "'best'",
    ),
    "a row that is too short": (
        "float t[4][4]; for (int r = 0; r < 4; r++) for (int c = 0; c < n - 1; c++) t[r][c] = r; out[i] = t[2][3];",
        "float t[4][4]; for (int r = 0; r < 4; r++) for (int c = 0; c < n; c++) t[r][c] = r; out[i] = t[2][3];",
        "'t[2][3]'",
    ),
    "an accumulator without a start": (
        MATRICES.replace("{WORD}", "simdgroup_multiply_accumulate(c, a, b, c);"),
        MATRICES.replace("{WORD}", "simdgroup_multiply(c, a, b);"),
        "what 'simdgroup_multiply_accumulate' is given",
    ),
    "flags that nobody cleared": (
        "bool seen[8]; seen[n] = true; int c = 0; for (int k = 0; k < 8; k++) if (seen[k]) c++; out[i] = c;",
        "bool seen[8] = {}; seen[n] = true; int c = 0; for (int k = 0; k < 8; k++) if (seen[k]) c++; out[i] = c;",
        "'seen[k]'",
    ),
    "a pointer that walks": (WALK.replace("{UP}", "n"), WALK.replace("{UP}", "8"), ""),
    "an insertion": (
        INSERTION.replace("{LAST}", "4").replace("k < 20", "k < 3"),
        INSERTION.replace("{LAST}", "4"),
        "'a[4]'",
    ),
    "a tile that nobody cleared": (
        "Tile<float, 4> t; t.add(x[i]); out[i] = t.v[2];",
        "Tile<float, 4> t; t.clear(); t.add(x[i]); out[i] = t.v[2];",
        "'v[k]'",
    ),
    "a vector that is added to": (
        "float4 a; for (int k = 0; k < n; k++) a += float4(x[i]); ((device float4*)out)[i] = a;",
        "float4 a = 0; for (int k = 0; k < n; k++) a += float4(x[i]); ((device float4*)out)[i] = a;",
        "'a' is used, and this thread has never set it",
    ),
    "a vector that a function adds to": (
        "float4 a; add(a, x[i]); out[i] = a.x + a.w;",
        "float4 a = 0; add(a, x[i]); out[i] = a.x + a.w;",
        "never set",
    ),
    "vectors of which some were cleared": (
        "float4 a[4]; for (int k = 0; k < n - 1; k++) a[k] = 0;"
        " for (int k = 0; k < 4; k++) a[k] *= x[i]; out[i] = a[3].x;",
        "float4 a[4]; for (int k = 0; k < n; k++) a[k] = 0;"
        " for (int k = 0; k < 4; k++) a[k] *= x[i]; out[i] = a[3].x;",
        "never set",
    ),
    "a pointer that is set later": (
        "float a[4]; thread float* p; p = a; for (int k = 0; k < 4; k++) p[k] += x[i]; out[i] = a[2];",
        "float a[4] = {}; thread float* p; p = a; for (int k = 0; k < 4; k++) p[k] += x[i]; out[i] = a[2];",
        "'p[k]'",
    ),
    "a flag that nobody cleared": (
        "bool any; for (int k = 0; k < n; k++) if (x[i] > 30 + k) any = true; out[i] = any ? 1 : 0;",
        "bool any; if (n == 4) any = x[i] > 30; out[i] = n == 4 && any ? 1 : 0;",
        "'any'",
    ),
    "a narrow array": (
        "half h[3]; h[0] = x[i]; h[2] = h[0] + h[1]; out[i] = h[2];",
        "half h[3]; h[0] = x[i]; h[1] = 1; h[2] = h[0] + h[1]; out[i] = h[2];",
        "'h[1]'",
    ),
}
# Used only where they were set, or not at all: what reads like a use and is none.
QUIET = {
    "a choice leaves it out": "float a[4]; a[0] = x[i]; float v = a[n % 3]; out[i] = n % 3 == 0 ? v : 1;",
    "bit fields": "Bits b; b.low = n; b.high = 3; out[i] = b.low + b.high;",
    "bytes of a word": "union { uint u; uchar c[4]; } q; for (int k = 0; k < 4; k++) q.c[k] = k; out[i] = q.u & 255;",
    "a word that is seen otherwise": "Word u; u.f = x[i]; ushort h[2]; h[0] = n; h[1] = 1;"
    " out[i] = (u.i & 1) + (*(thread uint*)h & 255);",
    "results by reference": "int e; float c; float m = frexp(x[i], e);"
    " float f = modf(x[i], c); out[i] = m + e + f + c;",
    "a lambda fills": "float a[4]; auto set = [&](int k, float v) { a[k] = v; };"
    " for (int k = 0; k < 4; k++) set(k, x[i]); out[i] = a[3];",
    "declared in a loop": "float s = 0; for (int k = 0; k < 4; k++) { float t[2]; t[k & 1] = k; s += t[k & 1]; }"
    " out[i] = s;",
    "metal's own array": "array<float, 4> a; for (uint k = 0; k < a.size(); k++) a[k] = x[i]; out[i] = a[2];",
}


def cases() -> Iterator[Case]:
    for name, (wrong, right, says) in PAIRS.items():
        yield case(f"{name} (unset)", wrong, "M110", says)
        yield case(f"{name} (set)", right)
    for name, body in QUIET.items():
        yield case(f"{name} (set)", body)


def case(name: str, body: str, find: str = "", says: str = "") -> Case:
    out = 128 if "float4*" in body else 64 if "simdgroup" in body else 32
    sizes = {"grid": 32, "threadgroup": 32}
    return Case(name, f"{BEFORE}{body}\n}}", lambda: [blank(out), floats(64), 4], sizes, find, says)


CASES = tuple(cases())

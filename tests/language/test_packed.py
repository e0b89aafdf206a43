"""Packed vectors: no padding, any offset, arithmetic like the vectors they convert to."""

import numpy as np
import pytest

from tests.language.launch import DTYPES, INTEGERS, NUMBERS, check, poisoned, run

WIDTHS = (2, 3, 4)


@pytest.mark.parametrize("kind", NUMBERS)
def test_sizes_and_conversions(kind: str) -> None:
    a = np.array([3, 5, 7, 11], DTYPES[kind])
    cases = []
    for w in WIDTHS:
        members = ", ".join(f"a[{i}]" for i in range(w))
        name = f"{kind}{w}"
        cases += [
            ("ulong", f"sizeof(packed_{name})", w * a.itemsize),
            ("ulong", f"alignof(packed_{name})", a.itemsize),
            (name, f"{name}(packed_{name}({members}))", a[:w]),
            (name, f"[&] {{ packed_{name} p = {name}({members}); {name} v = p; return v; }}()", a[:w]),
            (name, f"[&] {{ packed_{name} p = {{{members}}}; return {name}(p); }}()", a[:w]),
            (name, f"{name}(packed_{name}(a[1]))", [5] * w),
            (name, f"p{w} + p{w}", a[:w] + a[:w]),
            (name, f"p{w} * a[1]", a[:w] * a[1]),
            (name, f"a[3] - p{w}", a[3] - a[:w]),
            (name, f"p{w} - {name}(1)", a[:w] - a.dtype.type(1)),
            (name, f"{name}(2) * p{w}", a[:w] * a.dtype.type(2)),
            (name, f"p{w} * 2", a[:w] * a.dtype.type(2)),
            (f"bool{w}", f"p{w} > {name}(5)", a[:w] > 5),
            (f"bool{w}", f"p{w} == p{w}", [True] * w),
            (f"bool{w}", f"{name}(5) <= p{w}", a[:w] >= 5),
            (f"bool{w}", f"p{w} != a[1]", a[:w] != 5),
            (f"float{w}", f"float{w}(p{w})", a[:w].astype(np.float32)),
            (f"int{w}", f"int{w}({name}(p{w}))", a[:w].astype(np.float32)),
            (name, f"[&] {{ auto q = p{w}; q += p{w}; q *= a[0]; q -= {name}(1); return {name}(q); }}()",
             (a[:w] + a[:w]) * a[0] - a.dtype.type(1)),
            (kind, f"p{w}[1]", 5),
            (kind, f"p{w}[n]", a[1]),
            (kind, f"p{w}.y", 5),
            (kind, f"p{w}.g", 5),
            (f"{kind}2", f"p{w}.yx", [5, 3]),
            (f"{kind}2", f"p{w}.rg", [3, 5]),
            (name, f"[&] {{ auto q = p{w}; q.yx = q.xy; q[n]++; return {name}(q); }}()", [5, 4, *a[2:w]]),
            (name, f"-p{w}" if np.dtype(a.dtype).kind != "u" else f"p{w} + p{w}",
             -a[:w] if np.dtype(a.dtype).kind != "u" else a[:w] * 2),
        ]  # fmt: skip
        if kind in INTEGERS:
            cases += [
                (name, f"p{w} & {name}(6)", a[:w] & 6),
                (name, f"p{w} << 1", a[:w] << 1),
                (name, f"~p{w}", ~a[:w]),
                (
                    name,
                    f"[&] {{ auto q = p{w}; q++; ++q; q--; return {name}(q); }}()",
                    a[:w] + a.dtype.type(1),
                ),
            ]
    setup = "".join(f"packed_{kind}{w} p{w} = ((device const packed_{kind}{w}*)a)[0];\n" for w in WIDTHS)
    check(cases, (f"device const {kind}* a", a), ("constant int& n", np.array([1], np.int32)), setup=setup)


@pytest.mark.parametrize("kind", NUMBERS)
def test_loads_and_stores_at_unaligned_offsets(kind: str) -> None:
    a = np.arange(1, 31).astype(DTYPES[kind])
    out = poisoned(31, DTYPES[kind])
    run(
        f"""
kernel void k(device packed_{kind}3* o, device const {kind}* a, uint i [[thread_position_in_grid]]) {{
  threadgroup packed_{kind}3 t[5];
  device const packed_{kind}3* p = (device const packed_{kind}3*)(a + 1);
  t[i % 5] = p[i];
  t[i % 5].z += {kind}(1);
  device packed_{kind}3& r = *(device packed_{kind}3*)((device {kind}*)o + 1 + 3 * i);
  r = t[i % 5];
  r.xy = r.yx;
}}""",
        *(out, a),
        grid=9,
        threadgroup=5,
    )
    expected = a[1:28].reshape(9, 3)[:, [1, 0, 2]].copy()
    expected[:, 2] += expected.dtype.type(1)
    np.testing.assert_array_equal(out[1:28].reshape(9, 3), expected)
    assert (out[[0, 28, 29, 30]].view(np.uint8) == 0xA5).all()


def test_packed_in_functions_tables_and_structs() -> None:
    check(
        [
            ("float", "dot(float3(p), table[n])", 3 * 4 + 5 * 5 + 7 * 6),
            ("float3", "cross(float3(p), float3(1, 0, 0))", [0, 7, -5]),
            ("float", "length(float2(p.xy) - float2(0, 1))", 5),
            ("float3", "scaled(p)", [6, 10, 14]),
            ("ulong", "sizeof(Pair)", 20),
            ("float3", "float3(Pair{p, 2}.p)", [3, 5, 7]),
            ("float3", "max(float3(p), float3(4))", [4, 5, 7]),
            ("uchar3", "uchar3(packed_uchar3(uchar3(float3(p))))", [3, 5, 7]),
            ("float3", "n > 0 ? float3(p) : float3(1)", [3, 5, 7]),
        ],
        ("device const packed_float3& p_", np.array([3, 5, 7], np.float32)),
        ("constant int& n", np.array([1], np.int32)),
        prelude="""
constant packed_float3 table[2] = {packed_float3(1, 2, 3), packed_float3(4, 5, 6)};
struct Pair { packed_float3 p; float w; packed_uchar3 u; };
float3 scaled(packed_float3 v) { return v * 2.0f; }
""",
        setup="packed_float3 p = p_;",
    )


def test_a_packed_struct_has_no_padding_around_vectors() -> None:
    """As clang packs for Apple's systems: members with constructors, as our packed vectors are, lie at any byte."""
    text = """
struct __attribute__((packed)) Marked { uchar tag; packed_float3 at; short turn; packed_half2 h; };
kernel void marked(device const Marked* in [[buffer(0)]], device float* out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  out[3 * i] = in[i].at.y + float(in[i].turn);
  out[3 * i + 1] = float(in[i].h.y) * float(in[i].tag);
  out[3 * i + 2] = sizeof(Marked) + alignof(Marked);
}"""
    kind = np.dtype([("tag", "u1"), ("at", "<f4", 3), ("turn", "<i2"), ("h", "<f2", 2)])
    rows = np.zeros(5, kind)
    rows["tag"], rows["turn"] = [1, 2, 3, 4, 250], [-5, 7, 300, -300, 9]
    rows["at"], rows["h"] = np.arange(15).reshape(5, 3) / 4, np.arange(10).reshape(5, 2)
    expected = np.stack(
        [rows["at"][:, 1] + rows["turn"], rows["h"][:, 1] * rows["tag"].astype(np.float32), np.full(5, 20)], 1
    )
    out = poisoned(15, np.float32)
    run(text, rows, out, grid=5, threadgroup=5, kernel="marked")
    np.testing.assert_array_equal(out.reshape(5, 3), expected.astype(np.float32))

"""Swizzles, as values and as targets, in every address space."""

from itertools import product

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import DTYPES, build, check, poisoned, run

RGBA = str.maketrans("xyzw", "rgba")


@pytest.mark.parametrize("width", [2, 3, 4])
def test_every_swizzle_as_a_value(width: int) -> None:
    a = np.array([3, 5, 7, 9], np.float32)
    letters = "xyzw"[:width]
    cases = []
    for count in (1, 2, 3, 4):
        for number, chosen in enumerate(product(letters, repeat=count)):
            name = "".join(chosen)
            if number % 3 == 0:
                name = name.translate(RGBA)
            kind = f"float{count}" if count > 1 else "float"
            cases.append((kind, f"v.{name}", [a["xyzw".index(c)] for c in chosen]))
    check(cases, (f"device const float{width}& v_", a), setup=f"float{width} v = v_;")


def test_every_swizzle_as_a_target() -> None:
    names = ["".join(p) for n in (2, 3, 4) for p in product("xyzw", repeat=n) if len(set(p)) == n]
    lines, expected = [], []
    for number, name in enumerate(names):
        spelt = name.translate(RGBA) if number % 2 else name
        values = ", ".join(str(10 + i) for i in range(len(name)))
        lines.append(f"{{ int4 v = a; v.{spelt} = int{len(name)}({values}); o[{number}] = v; }}")
        row = [1, 2, 3, 4]
        for i, letter in enumerate(name):
            row["xyzw".index(letter)] = 10 + i
        expected.append(row)
    out = poisoned((len(names), 4))
    body = "kernel void k(device int4* o, constant int4& a) {\n" + "\n".join(lines) + "}"
    run(body, out, np.array([1, 2, 3, 4], np.int32))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("kind", ["float", "half", "bfloat", "int", "uchar", "long"])
def test_compound_assignment(kind: str) -> None:
    a = np.array([1, 2, 3, 4], DTYPES[kind])
    target = f"{kind}4"
    below = 2 if kind != "uchar" else -254  # 1 - 3
    check(
        [
            (target, f"[&] {{ {target} v = a; v.xy += {kind}2(10, 20); return v; }}()", [11, 22, 3, 4]),
            (target, f"[&] {{ {target} v = a; v.wx *= {kind}(3); return v; }}()", [3, 2, 3, 12]),
            (target, f"[&] {{ {target} v = a; v.zyx -= v.xyz; return v; }}()", [-below, 0, 2, 4]),
            (target, f"[&] {{ {target} v = a; v.rgb = v.bgr; return v; }}()", [3, 2, 1, 4]),
            (target, f"[&] {{ {target} v = a; v.xyzw = v.wzyx; return v; }}()", [4, 3, 2, 1]),
            (target, f"[&] {{ {target} v = a; v.zw = v.xy = {kind}2(7); return v; }}()", [7, 7, 7, 7]),
            (target, f"[&] {{ {target} v = a; v.x = v.y; v.a = v.g; return v; }}()", [2, 2, 3, 2]),
            (target, f"[&] {{ {target} v = a; v.r += {kind}(5); v.b++; return v; }}()", [6, 2, 4, 4]),
            (target, f"[&] {{ {target} v = a; v.yz = 9; return v; }}()", [1, 9, 9, 4]),
            (f"{kind}2", "a.xyz.zy", [3, 2]),
            (f"{kind}3", "(a + a).wyx", [8, 4, 2]),
            (kind, "a.zw[1]", 4),
            (kind, "a.yzw.y", 3),
        ],
        (f"device const {target}& a_", a),
        setup=f"{target} a = a_;",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["float", "uchar"])
def test_parts_of_swizzles_as_targets(kind: str) -> None:
    """In Metal a part of a swizzle is a part of the vector."""
    stores = {
        "v.xy.yx = {kind}2(8, 9);": [9, 8, 3, 4],
        "v.xyz.xy *= {kind}(8);": [8, 16, 3, 4],
        "v.wzyx.xyz.zy = {kind}2(8, 9);": [1, 8, 9, 4],
        "v.rgb.r = 8;": [8, 2, 3, 4],
        "v.yzw.x += 8;": [1, 10, 3, 4],
        "v.bgr.g++; --v.xy.y; ++v.zw.y;": [1, 2, 3, 5],
        "v.xyz[1] = 8;": [1, 8, 3, 4],
        "v.zw[n - 1] += 8;": [1, 2, 3, 12],
        "v.yz[0]++; v.xyz.yz[v.xy[0]] = 7;": [1, 3, 7, 4],
        "v.zw[1] /= 2; v.rg[0] <<= 3;" if kind == "uchar" else "v.zw[1] /= 2; v.rg[0] = 8;": [8, 2, 3, 2],
        "packed_{kind}4 p(v); p.xyz[1] = 7; p.zw.x = 6; v = p;": [1, 7, 6, 4],
        "{kind}4* p = &v; p->yz[1] = 7; (*p).xy.x = v.xy.y;": [2, 2, 7, 4],
        "*o = v; o->xyz[2] = 7; o[0].xy.x = 6; v = *o;": [6, 2, 7, 4],
        "part(v);": [1, 8, 3, 4],
    }
    cases = [
        (f"{kind}4", f"[&] {{ {kind}4 v(1, 2, 3, 4); {text.replace('{kind}', kind)} return v; }}()", expected)
        for text, expected in stores.items()
    ]
    check(
        cases,
        ("constant int& n", np.array([2], np.int32)),
        (f"device {kind}4* o", poisoned(4, DTYPES[kind])),
        prelude="template <class V> void part(thread V& v) { v.yzw[0] = 8; }",
    )


def test_a_part_of_what_nothing_keeps_is_refused() -> None:
    with pytest.raises(CompileError, match="is of a value that nothing keeps"):
        build("float4 f() { return 1; }\nkernel void k(device float4* o) { f().xy = 2; o[0] = 1; }")
    with pytest.raises(CompileError, match="is a value and no variable"):
        build("kernel void k(device float4* o) { o[0].xz[1] = 2; }")


def test_through_device_and_threadgroup_memory() -> None:
    out = poisoned((9, 4), np.float32)
    given = np.arange(36, dtype=np.float32).reshape(9, 4)
    run(
        """
struct S { float4 v; };
void twice(device float4& v) { v.xz *= 2; }
void turn(threadgroup float4* v) { v->xyzw = v->wxyz; }
void turn(thread float4& v) { v.xy = v.yx; }
kernel void k(device float4* o, device const float4* a, device S* s, uint i [[thread_position_in_grid]]) {
  threadgroup float4 t[4];
  threadgroup S ts[2];
  const uint l = i % 4;
  o[i].xy = a[i].zw;
  (o + i)->zw = a[i].xx;
  twice(o[i]);
  t[l].yzw = o[i].xyz;
  t[l].x = 1;
  t[l].zw += float2(100, 200);
  turn(&t[l]);
  device float4& r = o[i];
  r.rgba = t[l].abgr;
  if (i < 2) {
    ts[i].v = r;
    ts[i].v.xw = ts[i].v.wx;
    r.yx += ts[i].v.xy;
  }
  float4 mine = r;
  turn(mine);
  r.xyz = mine.xyz;
  device S* p = s + i;
  p->v.wz = r.xy;
  p->v.yx = p->v.zw;
}""",
        *(out, given, (other := poisoned((9, 4), np.float32))),
        grid=9,
        threadgroup=4,
    )
    for i in range(9):
        a = given[i]
        o = np.array([a[2] * 2, a[3], a[0] * 2, a[0]])
        t = np.array([1, o[0], o[1] + 100, o[2] + 200])
        t = t[[3, 0, 1, 2]]
        r = t[[3, 2, 1, 0]]
        if i < 2:
            v = r[[3, 1, 2, 0]]
            r[1] += v[0]
            r[0] += v[1]
        r = r[[1, 0, 2, 3]]
        np.testing.assert_array_equal(out[i], r)
        np.testing.assert_array_equal(other[i], [r[0], r[1], r[1], r[0]])


def test_in_templates_before_their_type_is_known() -> None:
    out = poisoned((3, 4), np.float32)
    run(
        """
template <typename T> struct Four { using type = vec<T, 4>; };
template <typename V, typename T> void f(device float4* o, V v, T s) {
  v.xy = v.zw * s + s * v.rg;
  v.zw *= s;
  v.zw += v.xy; v.r = v.g + v.x;
  bool2 b = v.xy > s && v.zw != v.xy;
  o[0] = float4(v);
  vec<T, 2> q = -v.xy;
  q = (q) + v.yx.yx / v.zz - v.wz
      * v.a;
  o[1] = float4(q.x, q.y, b.x, b.y);
  typename Four<T>::type w = v;
  o[2] = float4(float2(w.xy + w.wz), float(dot(w.xy, w.zw)), float(max(w.xy, w.yx).x));
}
kernel void k(device float4* o, constant half4& v) { f(o, half4(v), 2.0h); }""",
        *(out, np.array([1, 2, 4, 8], np.float16)),
    )
    v = np.array([1.0, 2, 4, 8])
    v[:2] = v[2:] * 2 + 2 * v[:2]
    v[2:] *= 2
    v[2:] += v[:2]
    v[0] = v[1] + v[0]
    q = -v[:2] + v[:2] / v[2] - v[[3, 2]] * v[3]
    np.testing.assert_array_equal(out[0], v)
    np.testing.assert_allclose(out[1], [*q, 1, 1], rtol=1e-3)
    np.testing.assert_array_equal(out[2], [*(v[:2] + v[[3, 2]]), v[0] * v[2] + v[1] * v[3], max(v[:2])])

"""Signatures: each parameter's name, kind, index, type, layout, access and line."""
# ruff: noqa: E501  a row of a table is one line

from typing import Any

import pytest

from metalloid.types import Array, DType, Matrix, Parameter, Pointer, Scalar, Struct, Vector
from tests.language.launch import build

F32, I32, U32, F16, BF16 = (
    Scalar(d) for d in (DType.FLOAT32, DType.INT32, DType.UINT32, DType.FLOAT16, DType.BFLOAT16)
)


def parameter(declaration: str, use: str, prelude: str = "", **constants: Any) -> Parameter:
    body = f"{prelude}\nkernel void k(device int* out_ [[buffer(20)]], {declaration}) {{ {use} }}"
    return build(body, constants=constants or None).signature.parameters[1]


ELEMENTS = {
    "bool": Scalar(DType.BOOL), "char": Scalar(DType.INT8), "uchar": Scalar(DType.UINT8), "short": Scalar(DType.INT16),
    "ushort": Scalar(DType.UINT16), "int": I32, "uint": U32, "long": Scalar(DType.INT64), "ulong": Scalar(DType.UINT64),
    "half": F16, "bfloat": BF16, "float": F32, "size_t": Scalar(DType.UINT64), "int8_t": Scalar(DType.INT8),
    "uint16_t": Scalar(DType.UINT16), "float2": Vector(F32, 2), "half3": Vector(F16, 3), "uchar4": Vector(Scalar(DType.UINT8), 4),
    "bool4": Vector(Scalar(DType.BOOL), 4), "packed_float3": Vector(F32, 3, packed=True), "float4x4": Matrix(F32, 4, 4),
    "half2x3": Matrix(F16, 2, 3), "atomic_int": Scalar(DType.INT32, atomic=True), "atomic<float>": Scalar(DType.FLOAT32, atomic=True),
    "array<float, 3>": Array(F32, 3), "Shape": I32, "Small": Scalar(DType.UINT8), "Alias": Vector(F32, 4),
}  # fmt: skip


@pytest.mark.parametrize("kind", ELEMENTS)
def test_element_types(kind: str) -> None:
    prelude = "enum class Shape { a }; enum Small : uchar { b }; using Alias = vec<float, 4>;"
    got = parameter(f"device {kind}* a", "out_[0] = int((ulong)a);", prelude)
    assert (got.name, got.kind, got.index, got.space) == ("a", "buffer", 0, "device")
    assert got.type == ELEMENTS[kind]


SIZES = {"float3": 16, "packed_float3": 12, "half3": 8, "float3x3": 48, "float4x3": 64, "char3": 4, "bool2": 2, "packed_half3": 6, "array<float3, 2>": 32}  # fmt: skip


def test_sizes_are_metals() -> None:
    for kind, size in SIZES.items():
        assert parameter(f"device {kind}* a", "out_[0] = int((ulong)a);").type.size == size, kind


ACCESS = {
    "read": ("device int* a", "out_[0] = a[1];"),
    "write": ("device int* a", "a[1] = 3;"),
    "read_write": ("device int* a", "a[1] += 3;"),
    "none": ("device int* a", "out_[0] = 1;"),
}
MORE_ACCESS = [
    ("read", "constant int& a", "out_[0] = a;"),
    ("read", "device const float4* a", "out_[0] = int(a[1].x + a[out_[1]].y);"),
    ("write", "device float4* a", "a[0].xy = float2(1);"),
    ("read_write", "device atomic_int* a", "atomic_fetch_add_explicit(a, 1, memory_order_relaxed);"),
    ("write", "device atomic_int* a", "atomic_store_explicit(a, 1, memory_order_relaxed);"),
    ("read", "device atomic_int* a", "out_[0] = atomic_load_explicit(a, memory_order_relaxed);"),
    ("read", "device const float* a", "simdgroup_float8x8 m; simdgroup_load(m, a); out_[0] = int(m.thread_elements()[0]);"),
    ("write", "device float* a", "simdgroup_store(simdgroup_float8x8(1.0f), a);"),
    ("read", "device int* a", "for (device int* p = a; p < a + 5; p++) out_[0] += *p;"),
    ("write", "threadgroup int* a [[threadgroup(0)]]", "a[0] = 1;"),
]  # fmt: skip


@pytest.mark.parametrize(("access", "declaration", "use"), [(k, *v) for k, v in ACCESS.items()] + MORE_ACCESS)
def test_access(access: str, declaration: str, use: str) -> None:
    assert parameter(declaration, use).access == access


def test_every_shape_of_a_parameter() -> None:
    body = """
struct Inner { half2 h; bool on; };
struct Params { int n; float3 v; Inner inner[2]; uchar tail; device float* p; };
union Either { float f; int i; };
kernel void k(device float* a,
              const device float* b [[buffer(3)]],
              constant Params& params,
              constant float table[4] [[buffer(5)]],
              device Either& either,
              threadgroup float4* shared [[threadgroup(1)]],
              device const void* raw,
              uint2 gid [[thread_position_in_grid]],
              ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float own[5];
  threadgroup half4 more;
  own[lane] = b[0] + params.n + table[0] + either.f;
  more = half4(lane);
  shared[0] = float4(own[0]);
  a[gid.x] = own[lane] + float(more.x) + params.inner[1].h.x + float(((device const uchar*)raw)[0]);
}"""
    signature = build(body).signature
    by_name = {p.name: p for p in signature.parameters}
    assert [(p.name, p.kind, p.index, p.line) for p in signature.parameters] == [
        ("a", "buffer", 0, 7),
        ("b", "buffer", 3, 8),
        ("params", "buffer", 1, 9),
        ("table", "buffer", 5, 10),
        ("either", "buffer", 2, 11),
        ("shared", "threadgroup", 1, 12),
        ("raw", "buffer", 4, 13),
        ("gid", "builtin", -1, 14),
        ("lane", "builtin", -1, 15),
    ]
    assert {n: (p.space, p.const, p.reference) for n, p in by_name.items()} == {
        "a": ("device", False, False),
        "b": ("device", True, False),
        "params": ("constant", True, True),
        "table": ("constant", True, False),
        "either": ("device", False, True),
        "shared": ("threadgroup", False, False),
        "raw": ("device", True, False),
        "gid": ("thread", False, False),
        "lane": ("thread", False, False),
    }
    assert (by_name["gid"].builtin, by_name["gid"].type) == ("thread_position_in_grid", Vector(U32, 2))
    assert (by_name["lane"].builtin, by_name["lane"].type) == (
        "thread_index_in_simdgroup",
        Scalar(DType.UINT16),
    )
    params = by_name["params"].type
    assert isinstance(params, Struct) and (params.name, params.size, params.alignment) == ("Params", 64, 16)
    assert [(f.name, f.offset, f.type.size) for f in params.fields] == [
        ("n", 0, 4),
        ("v", 16, 16),
        ("inner", 32, 16),
        ("tail", 48, 1),
        ("p", 56, 8),
    ]
    inner = params.fields[2].type
    assert isinstance(inner, Array) and isinstance(inner.element, Struct) and inner.length == 2
    assert [(f.name, f.offset) for f in inner.element.fields] == [("h", 0), ("on", 4)]
    assert params.fields[4].type == Pointer("device", F32)
    either = by_name["either"].type
    assert isinstance(either, Struct) and either.union and [f.offset for f in either.fields] == [0, 0]
    assert by_name["table"].type == F32
    assert (signature.name, signature.line, signature.max_total_threads) == ("k", 7, 1024)
    assert signature.threadgroup_memory == 32 + 16
    assert [p.name for p in signature.buffers] == ["a", "params", "either", "b", "raw", "table"]


def test_templates_are_reflected_as_instantiated() -> None:
    body = """
template <typename T> struct Pair { T a; vec<T, 2> b; };
template <typename T, int N>
[[max_total_threads_per_threadgroup(N)]] kernel void f(device Pair<T>* p, constant array<T, N>& t, uint i [[thread_position_in_grid]]) {
  p[i].a = t[0];
}
template [[host_name("f_half")]] kernel void f<half, 6>(device Pair<half>*, constant array<half, 6>&, uint);
template [[host_name("f_int")]] kernel void f<int, 128>(device Pair<int>*, constant array<int, 128>&, uint);
"""
    for name, element, n in [("f_half", F16, 6), ("f_int", I32, 128)]:
        signature = build(body, name).signature
        pair, table, _ = (p.type for p in signature.parameters)
        assert isinstance(pair, Struct)
        assert [(f.name, f.type, f.offset) for f in pair.fields] == [
            ("a", element, 0),
            ("b", Vector(element, 2), 2 * element.size),
        ]
        assert table == Array(element, n)
        assert signature.name == name and signature.max_total_threads == n


def test_inheritance_bit_fields_and_linked_structs() -> None:
    body = """
struct Base { int a; };
struct Derived : Base { float b; };
struct Node { int value; device Node* next; device const packed_float3* points; };
kernel void k(device Derived* d, device Node* n) { d->b = d->a + n->next->value + n->points[1].y; }"""
    derived, node = (p.type for p in build(body).signature.parameters)
    assert isinstance(derived, Struct) and isinstance(node, Struct)
    assert derived.size == 8 and derived.fields[-1].offset == 4
    assert [(f.name, f.offset) for f in node.fields] == [("value", 0), ("next", 8), ("points", 16)]
    points = node.fields[2].type
    assert isinstance(points, Pointer) and points.element == Vector(F32, 3, packed=True)


def test_a_signature_reads_like_metal() -> None:
    body = "kernel void k(device const float4* a, constant int& n, device half* o [[buffer(7)]], uint3 p [[thread_position_in_grid]]) { o[p.x] = half(a[n].x); }"
    text = str(build(body).signature)
    for part in (
        "device const float4* a [[buffer(0)]]",
        "constant int& n [[buffer(1)]]",
        "device half* o [[buffer(7)]]",
        "uint3 p [[thread_position_in_grid]]",
    ):
        assert part in text


def test_the_members_of_an_argument_buffer() -> None:
    body = """
struct Arguments {
  device const float* a [[id(0)]];
  device float* o [[id(5)]];  constant int* n [[ id(6) ]];
  const device void* anything;
  array<constant half2*, 3> tables [[id(8)]];
  float scale [[id(20)]];
};
kernel void k(constant Arguments& x, uint i [[thread_position_in_grid]]) { x.o[i] = x.a[i] * x.scale + *x.n; }"""
    [arguments, _] = build(body).signature.parameters
    assert isinstance(arguments.type, Struct)
    assert [(f"{f}", f.offset) for f in arguments.type.fields] == [
        ("device const float* a [[id(0)]]", 0),
        ("device float* o [[id(5)]]", 8),
        ("constant int* n [[id(6)]]", 16),
        ("device const void* anything", 24),
        ("constant half2*[3] tables [[id(8)]]", 32),
        ("float scale [[id(20)]]", 56),
    ]


UNTOUCHED = ("atomic_uint", "float4x4", "uchar4", "packed_short2", "bfloat4", "array<float4, 2>", "array<array<int, 3>, 2>")  # fmt: skip


def test_members_that_a_kernel_does_not_touch_have_their_types() -> None:
    members = "".join(f"device {kind}* m{n};\n" for n, kind in enumerate(UNTOUCHED))
    body = f"struct A {{\n{members}device float* o; }};\nkernel void k(constant A& a) {{ a.o[0] = 1; }}"
    [arguments] = build(body).signature.parameters
    assert isinstance(arguments.type, Struct)
    found = [f.type.element for f in arguments.type.fields if isinstance(f.type, Pointer)]
    assert found == [
        *(parameter(f"device {kind}* a", "out_[0] = int((ulong)a);").type for kind in UNTOUCHED),
        F32,
    ]

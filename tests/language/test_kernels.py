"""How kernels are declared, instantiated and named; how their arguments are bound; where threads are."""
# ruff: noqa: E501  a row of a table is one line

from itertools import product

import numpy as np
import pytest

from metalloid.backends.base import Launch
from metalloid.errors import CompileError
from metalloid.frontend import find_kernels
from metalloid.source import Source
from tests.language.launch import HEAD, build, poisoned, run

DECLARATIONS = {
    "kernel void k(device int* o, uint i [[thread_position_in_grid]])": None,
    "[[kernel]] void k(device int* o, uint i [[thread_position_in_grid]])": None,
    "kernel void k(device int* o [[ buffer(0) ]], uint i [[ thread_position_in_grid ]])": None,
    '[[host_name("named")]] kernel void k(device int* o, uint i [[thread_position_in_grid]])': "named",
    'kernel [[host_name("named")]] void k(device int* o, uint i [[thread_position_in_grid]])': "named",
    '[[kernel]] [[host_name("na" "med")]] void k(device int* o, uint i [[thread_position_in_grid]])': "named",
    '[[kernel, host_name("named")]] void k(device int* o, uint i [[thread_position_in_grid]])': "named",
    "[[max_total_threads_per_threadgroup(64)]] kernel void k(device int* o, uint i [[thread_position_in_grid]])": 64,
    "kernel [[max_total_threads_per_threadgroup(64)]] void k(device int* o, uint i [[thread_position_in_grid]])": 64,
    "[[kernel, max_total_threads_per_threadgroup(64)]] void k(device int* o, uint i [[thread_position_in_grid]])": 64,
    "kernel void k [[max_total_threads_per_threadgroup(64)]] (device int* o, uint i [[thread_position_in_grid]])": 64,
    "kernel void k(device int* o, uint i [[thread_position_in_grid]]) [[max_total_threads_per_threadgroup(64)]]": 64,
    "[[max_total_threads_per_threadgroup(4 * LIMIT)]] kernel void k(device int* o, uint i [[thread_position_in_grid]])": 64,
    "static kernel void k(device int* o, uint i [[thread_position_in_grid]])": None,
    "kernel void k(device int *o [[buffer(0)]], const uint i [[thread_position_in_grid]])": None,
    "kernel void\nk(\n  device int * o,\n\n  uint i [[thread_position_in_grid]]\n)": None,
    'extern "C" kernel void k(device int* o, uint i [[thread_position_in_grid]])': None,
    "kernel METAL_FUNC void k(device int* o, uint i [[thread_position_in_grid]])": None,
}


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_declarations(declaration: str) -> None:
    expected = DECLARATIONS[declaration]
    out = poisoned(5)
    name = expected if isinstance(expected, str) else "k"
    built = run(
        f"#define LIMIT 16\n{declaration} {{ o[i] = i * 3; }}", out, grid=5, threadgroup=3, kernel=name
    )
    np.testing.assert_array_equal(out, np.arange(5) * 3)
    assert built.signature.name == name
    assert built.signature.max_total_threads == (expected if isinstance(expected, int) else 1024)


def test_buffer_indices_written_implied_and_mixed() -> None:
    out = poisoned(4)
    body = """
enum Slot { First = 4, Second };
enum class Place : uint { third = 7 };
constexpr constant int fourth = 9;
#define FIFTH 11
kernel void k(constant int& a, device int* o [[buffer(2)]], constant int& b [[buffer(First)]], constant int& c,
              constant int& d [[buffer(Second)]], constant int& e [[buffer(fourth)]],
              constant int& f [[buffer(FIFTH)]], constant int& g [[buffer(FIFTH + 1)]], constant int& h [[ buffer( 30 ) ]]) {
  o[0] = a + b * 10 + c * 100;
  o[1] = d + e * 10;
  o[2] = f + g * 10;
  o[3] = h;
}"""
    values = {
        index: np.array([value], np.int32)
        for index, value in {0: 1, 4: 2, 1: 3, 5: 4, 9: 5, 11: 6, 12: 7, 30: 8}.items()
    }
    built = run(body, {2: out, **values})
    np.testing.assert_array_equal(out, [321, 54, 76, 8])
    assert [p.index for p in built.signature.parameters] == [0, 2, 4, 1, 5, 9, 11, 12, 30]


def test_every_way_to_take_memory() -> None:
    out = poisoned(9, np.float32)
    body = """
struct Params { int n; float scale; float3 v; };
typedef device float* FloatPointer;
kernel void k(device float* o, constant Params& p, constant Params* q, device Params& r, const device float* s,
              device const float& t, constant float u[4], constant float4* v, FloatPointer w, device void* x,
              constant float (&y)[2], device const packed_float3* z) {
  o[0] = p.n * p.scale + p.v.z;
  o[1] = q->scale + q[1].v.y;
  r.n += 1;
  o[2] = r.n;
  o[3] = s[1] + t;
  o[4] = u[3];
  o[5] = v->w + v[0].x;
  o[6] = w[1];
  ((device float*)x)[1] = 77;
  o[7] = y[1] + z[1].y;
}"""
    dtype = np.dtype(
        {"names": ["n", "scale", "v"], "formats": ["i4", "f4", "3f4"], "offsets": [0, 4, 16], "itemsize": 32}
    )
    params = np.zeros(2, dtype)
    params["n"], params["scale"], params["v"] = [3, 4], [0.5, 1.5], [[1, 2, 3], [4, 5, 6]]
    r = params[:1].copy()
    f = np.array([2, 3, 5, 7, 11, 13], np.float32)
    x = poisoned(3, np.float32)
    run(body, out, params, params, r, f, f, f, f, f, x, f, f)
    np.testing.assert_array_equal(out[:8], [4.5, 5.5, 4, 5, 7, 9, 3, 3 + 11])
    assert (out[8:].view(np.uint8) == 0xA5).all()
    assert r["n"] == 4 and x[1] == 77 and (x[[0, 2]].view(np.uint8) == 0xA5).all()


def test_threadgroup_arguments() -> None:
    out = poisoned((2, 4))
    run(
        """
kernel void k(device int* o, threadgroup int* a [[threadgroup(0)]], threadgroup int2* b [[threadgroup(3)]],
              threadgroup int& c, uint l [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  a[l] = l * 10; b[l] = int2(l, g);
  if (l == 0) c = 1000;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[g * 4 + l] = a[3 - l] + b[(l + 1) % 4].x + b[l].y * 100 + c;
}""",
        out,
        grid=8,
        threadgroup=4,
        threadgroup_memory={0: 16, 3: 32, 1: 16},
    )
    lane = np.arange(4)
    np.testing.assert_array_equal(out, [(3 - lane) * 10 + (lane + 1) % 4 + g * 100 + 1000 for g in range(2)])


VECTORS = {
    "thread_position_in_grid": lambda p, g, s: p,
    "thread_position_in_threadgroup": lambda p, g, s: tuple(
        a % b for a, b in zip(p, s.threadgroup, strict=True)
    ),
    "threadgroup_position_in_grid": lambda p, g, s: g,
    "threads_per_grid": lambda p, g, s: s.grid,
    "threads_per_threadgroup": lambda p, g, s: s.size_of(g),
    "dispatch_threads_per_threadgroup": lambda p, g, s: s.threadgroup,
    "threadgroups_per_grid": lambda p, g, s: s.threadgroups,
    "grid_origin": lambda p, g, s: (0, 0, 0),
    "grid_size": lambda p, g, s: s.grid,
}


def index_in_group(p: tuple[int, ...], g: tuple[int, ...], s: Launch) -> int:
    x, y, z = (a % b for a, b in zip(p, s.threadgroup, strict=True))
    w, h, _ = s.size_of(g)
    return x + w * (y + h * z)


def threads(g: tuple[int, ...], s: Launch) -> int:
    return int(np.prod(s.size_of(g)))


SCALARS = {
    "thread_index_in_threadgroup": index_in_group,
    "thread_index_in_simdgroup": lambda p, g, s: index_in_group(p, g, s) % 32,
    "simdgroup_index_in_threadgroup": lambda p, g, s: index_in_group(p, g, s) // 32,
    "simdgroups_per_threadgroup": lambda p, g, s: -(-threads(g, s) // 32),
    "dispatch_simdgroups_per_threadgroup": lambda p, g, s: -(-int(np.prod(s.threadgroup)) // 32),
    "threads_per_simdgroup": lambda p, g, s: 32,
    "thread_execution_width": lambda p, g, s: 32,
    "thread_index_in_quadgroup": lambda p, g, s: index_in_group(p, g, s) % 4,
    "quadgroup_index_in_threadgroup": lambda p, g, s: index_in_group(p, g, s) // 4,
    "quadgroups_per_threadgroup": lambda p, g, s: -(-threads(g, s) // 4),
    "dispatch_quadgroups_per_threadgroup": lambda p, g, s: -(-int(np.prod(s.threadgroup)) // 4),
}


@pytest.mark.parametrize("element", ["uint", "ushort"])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_positions_on_a_ragged_grid(element: str, width: int) -> None:
    grid = (7, 5, 3)[:width] + (1,) * (3 - width)
    group = (5, 2, 2)[:width] + (1,) * (3 - width)
    kind = f"{element}{width}" if width > 1 else element
    parameters = [f"{kind} v{n} [[{name}]]" for n, name in enumerate(VECTORS)]
    parameters += [f"{element} s{n} [[{name}]]" for n, name in enumerate(SCALARS)]
    members = ["" if width == 1 else f".{c}" for c in "xyz"[:width]]
    words = [f"v{n}{m}" for n in range(len(VECTORS)) for m in members] + [
        f"s{n}" for n in range(len(SCALARS))
    ]
    total = int(np.prod(grid))
    out = poisoned((total, len(words)), np.uint32)
    stores = "".join(f"  r[{n}] = {word};\n" for n, word in enumerate(words))
    body = (
        f"kernel void k(device uint* o, uint3 p [[thread_position_in_grid]], {', '.join(parameters)}) {{\n"
        f"  device uint* r = o + {len(words)} * (p.x + {grid[0]} * (p.y + {grid[1]} * p.z));\n{stores}}}"
    )
    launch = Launch(grid, group)
    run(body, out, grid=grid, threadgroup=group)
    for z, y, x in product(*(range(n) for n in grid[::-1])):
        p, g = (x, y, z), (x // group[0], y // group[1], z // group[2])
        expected = [v for f in VECTORS.values() for v in f(p, g, launch)[:width]]
        expected += [f(p, g, launch) for f in SCALARS.values()]
        np.testing.assert_array_equal(out[x + grid[0] * (y + grid[1] * z)], expected)


INSTANTIATIONS = """
template <typename T, int N = 2>
[[max_total_threads_per_threadgroup(N * 32)]] kernel void add(device T* o [[buffer(0)]], constant T& by [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { o[i] = T(i) * N + by; }
template <typename T> [[kernel]] void one(device T* o, uint i [[thread_position_in_grid]]) { o[i] = T(i); }

template [[host_name("full")]] kernel void add<float, 3>(device float* o [[buffer(0)]],
    constant float& by [[buffer(1)]], uint i [[thread_position_in_grid]]);
template [[host_name("bare")]] kernel void add<int>(device int*, constant int&, uint);
template [[host_name("typeof")]] [[kernel]] decltype(add<half, 4>) add<half, 4>;
template [[host_name("plain_typeof")]] kernel decltype(one<int>) one<int>;
typedef decltype(one<float>) one_t;
template [[host_name("typedefed")]] kernel one_t one<uint>;
using two_t = decltype(add<short, 5>);
template [[host_name("used")]] [[kernel]] two_t add<short, 5>;
#define MAKE(name, type, n) template [[host_name(#name "_" #type)]] [[kernel]] decltype(add<type, n>) add<type, n>;
MAKE(made, uchar, 6)
MAKE(made, long, 7)
""".replace("typedef decltype(one<float>) one_t;", "typedef decltype(one<uint>) one_t;")


@pytest.mark.parametrize(
    ("name", "dtype", "factor", "limit"),
    [
        ("full", np.float32, 3, 96),
        ("bare", np.int32, 2, 64),
        ("typeof", np.float16, 4, 128),
        ("used", np.int16, 5, 160),
        ("made_uchar", np.uint8, 6, 192),
        ("made_long", np.int64, 7, 224),
    ],
)
def test_explicit_instantiations(name: str, dtype: type, factor: int, limit: int) -> None:
    out = poisoned(5, dtype)
    built = run(INSTANTIATIONS, out, np.array([9], dtype), grid=5, threadgroup=2, kernel=name)
    np.testing.assert_array_equal(out, np.arange(5) * factor + 9)
    assert built.signature.max_total_threads == limit


@pytest.mark.parametrize(("name", "dtype"), [("plain_typeof", np.int32), ("typedefed", np.uint32)])
def test_instantiations_by_type_name(name: str, dtype: type) -> None:
    out = poisoned(5, dtype)
    run(INSTANTIATIONS, out, grid=5, threadgroup=2, kernel=name)
    np.testing.assert_array_equal(out, np.arange(5))


def test_specialised_kernels_and_functions() -> None:
    body = """
template <typename T> T value(T x) { return x; }
template <> int value<int>(int x) { return x * 100; }
template <typename T> kernel void f(device T* o, uint i [[thread_position_in_grid]]) { o[i] = value(T(1)); }
template <> kernel void f<half>(device half* o, uint i [[thread_position_in_grid]]) { o[i] = 7; }
template [[host_name("f_int")]] kernel void f<int>(device int*, uint);
template [[host_name("f_half")]] kernel void f<half>(device half*, uint);
template [[host_name("f_float")]] kernel void f<float>(device float*, uint);
kernel void none(void) {}
"""
    for name, dtype, value in [
        ("f_int", np.int32, 100),
        ("f_half", np.float16, 7),
        ("f_float", np.float32, 1),
    ]:
        out = poisoned(3, dtype)
        run(body, out, grid=3, threadgroup=3, kernel=name)
        np.testing.assert_array_equal(out, value)
    assert build(body, "none").signature.parameters == ()


def test_the_names_a_source_offers() -> None:
    names = [entry.name for entry in find_kernels(Source(HEAD + INSTANTIATIONS))]
    assert names == ["full", "bare", "typeof", "plain_typeof", "typedefed", "used", "made_uchar", "made_long"]


def test_a_kernel_may_call_another_and_be_declared_before() -> None:
    out = poisoned(4)
    body = """
kernel void helper(device int* o, uint i);
kernel void k(device int* o, uint i [[thread_position_in_grid]]) { helper(o, i); o[i] += 1; }
kernel void helper(device int* o, uint i [[thread_position_in_grid]]) { o[i] = i * 2; }
"""
    run(body, out, grid=4, threadgroup=4)
    np.testing.assert_array_equal(out, np.arange(4) * 2 + 1)
    run(body, out, grid=4, threadgroup=4, kernel="helper")
    np.testing.assert_array_equal(out, np.arange(4) * 2)


def test_early_return() -> None:
    out = poisoned(8)
    body = "kernel void k(device int* o, constant uint& n, uint i [[thread_position_in_grid]]) { if (i >= n) return; o[i] = 5; }"
    run(body, out, np.array([5], np.uint32), grid=8, threadgroup=4)
    assert (out[:5] == 5).all() and (out[5:].view(np.uint8) == 0xA5).all()
    assert build(body).signature.parameters[0].access == "write"


@pytest.mark.parametrize(
    "declaration",
    ["int i [[thread_position_in_grid]]", "float i [[thread_index_in_simdgroup]]", "ulong i [[threads_per_grid]]", "uint4 i [[thread_position_in_grid]]", "uint3 i [[thread_index_in_simdgroup]]", "ushort2 i [[simdgroup_index_in_threadgroup]]"],
)  # fmt: skip
def test_positions_of_a_wrong_type_are_refused(declaration: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(f"kernel void k(device int* o,\n  {declaration}) {{ o[0] = 1; }}")
    found = caught.value.diagnostics[0]
    assert found.rule == "M612" and found.line == 4 and "uint" in found.hint, found


@pytest.mark.parametrize(
    "words",
    [
        "__attribute__((noinline)) static",
        "static __attribute__((unused, __noinline__))",
        "[[clang::noinline]] static",
        "[[gnu::noinline]] inline",
    ],
)
def test_functions_that_ask_not_to_be_inlined(words: str) -> None:
    out = poisoned(4)
    run(
        f"""
{words} int add(device int* p, thread int& sum, int noinline) {{ sum += noinline; return p[0] = sum; }}
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {{ int sum = 3; add(o + i, sum, i); o[i] *= sum; }}""",
        out,
        grid=4,
    )
    np.testing.assert_array_equal(out, [9, 16, 25, 36])

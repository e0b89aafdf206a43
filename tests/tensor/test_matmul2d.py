"""matmul2d of MetalPerformancePrimitives: operands in registers and in memory, in every type, shape and direction that
MLX's kernels use, on the oracle and the engine, against numpy."""
# ruff: noqa: E501  a row of a table is one line

from itertools import product

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import build, poisoned, run
from tests.tensor.products import HEAD, Product, check

IN_MEMORY = "  op.run(tA, tB, tC);"
TURNS = list(product((False, True), repeat=2))
MIXES = [("half", "half", "float"), ("bfloat", "bfloat", "float"), ("float", "float", "float"), ("float", "half", "float"), ("float", "bfloat", "float"), ("half", "half", "half")]  # fmt: skip


def in_registers(p: Product) -> str:
    a, b, c = p.types
    return f"""
  auto left = op.get_left_input_cooperative_tensor<{a}, {b}, {c}>();
  auto right = op.get_right_input_cooperative_tensor<{a}, {b}, {c}>();
  auto sum = op.get_destination_cooperative_tensor<decltype(left), decltype(right), {c}>();
  left.load(tA);
  right.load(tB);
  sum.load(tC);
  op.run(left, right, sum);
  sum.store(tC);"""


def mixed(p: Product) -> str:
    """The left operand in registers, the right one in memory, as MLX's thin products have them."""
    a, b, c = p.types
    return f"""
  auto left = op.get_left_input_cooperative_tensor<{a}, {b}, {c}>();
  auto sum = op.get_destination_cooperative_tensor<decltype(tA), decltype(tB), {c}>();
  sum.load(tC);
  auto part = tA.slice<{p.m if p.turned[0] else p.k}, {p.k if p.turned[0] else p.m}>(0, 0);
  left.load(part);
  op.run(left, tB, sum);
  sum.store(tC);"""


REGISTERS = [
    *(Product(16, 32, 16, turned=t) for t in TURNS),
    *(Product(16, 16, 32, mix, turned=(False, True)) for mix in MIXES[1:]),
    Product(16, 32, 16, ("float",) * 3, adds=False),
    Product(32, 32, 16, turned=(True, True)),
    Product(8, 24, 20, turned=(False, True)),
]


# The engine's code of a product takes seconds to make: it runs those that differ most, and the oracle all.
ENGINE = (REGISTERS[3], REGISTERS[-1])


@pytest.mark.parametrize("p", REGISTERS, ids=str)
def test_operands_in_registers(p: Product) -> None:
    check(p, in_registers(p), engine=p in ENGINE)


MEMORY = [
    Product(16, 32, 0, size=(13, 27, 37), turned=(False, True)),
    Product(32, 16, 0, ("bfloat", "bfloat", "float"), size=(19, 16, 50), turned=(True, False), adds=False),
    Product(32, 32, 0, ("float",) * 3, groups=4, size=(27, 32, 21)),
    Product(16, 32, 32, ("char", "char", "int"), size=(16, 30, 29), turned=(False, True)),
]


@pytest.mark.parametrize("p", MEMORY, ids=str)
def test_operands_in_memory(p: Product) -> None:
    check(p, IN_MEMORY, engine=p is MEMORY[0])


def test_one_operand_in_registers() -> None:
    p = Product(16, 32, 32, turned=(False, True))
    check(p, mixed(p), engine=False)


@pytest.mark.fuzz
@pytest.mark.parametrize("mix", MIXES, ids="-".join)
@pytest.mark.parametrize("turned", TURNS)
@pytest.mark.parametrize("shape", [(16, 32, 16), (16, 16, 32), (32, 32, 64), (16, 16, 16), (7, 9, 11)])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("where", ["registers", "memory", "shared"])
def test_every_type_shape_and_direction(
    mix: tuple[str, str, str], turned: tuple[bool, bool], shape: tuple[int, int, int], adds: bool, where: str
) -> None:
    """MLX's kernels have operands in registers, 16x32x16 and 16x16x32."""
    p = Product(*shape, mix, turned, adds, groups=2 if where == "shared" else 1)
    check(p, in_registers(p) if where == "registers" else IN_MEMORY)


def test_a_cooperative_tensor_lies_in_the_lanes_as_kernels_take_it() -> None:
    """The map that MLX's kernels address elements by, and the coordinates that a tensor tells."""
    out = poisoned((32, 16, 2))
    body = """
kernel void k(device int* out, uint lane [[thread_index_in_simdgroup]]) {
  matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> op;
  auto right = op.get_right_input_cooperative_tensor<half, half, float>();
  static_assert(decltype(right)::get_capacity() == 16);
  for (ushort i = 0; i < right.get_capacity(); i++) {
    auto at = right.get_multidimensional_index(i);
    out[(lane * 16 + i) * 2] = right.is_valid_element(i) ? at[0] : -1;
    out[(lane * 16 + i) * 2 + 1] = at[1];
  }
}"""
    run(body, out, grid=32, threadgroup=32, head=HEAD)
    lane, i = np.mgrid[:32, :16]
    quad = lane >> 2
    row = (quad & 4 | lane >> 1 & 3) + (i % 8 >> 2) * 8
    column = (quad & 2 | lane & 1) * 4 + i % 4 + i // 8 * 16
    np.testing.assert_array_equal(out[..., 0], column)
    np.testing.assert_array_equal(out[..., 1], row)


def test_slices_end_where_their_tensor_ends() -> None:
    out = poisoned(12)
    body = """
kernel void k(device int* out) {
  auto t = tensor(out, dextents<int, 2>(10, 7), array<int, 2>{1, 10});
  auto rest = t.slice(4, 3u);
  auto part = t.slice<4, dynamic_extent>(8, 5);
  auto fixed = tensor(out, extents<int, 3, dynamic_extent>(5));
  int numbers[] = {rest.get_extent(0), rest.get_extent(1), part.get_extent(0), part.get_extent(1), int(part.get_data_handle() - out),
                   fixed.get_extent(0), fixed.get_extent(1), fixed.get_stride(1), int(t.get_rank()), int(&t.at(3, 2) - out)};
  for (int i = 0; i < 10; i++) out[i] = numbers[i];
}"""
    run(body, out, head=HEAD)
    assert list(out[:10]) == [6, 4, 2, 2, 58, 3, 5, 3, 2, 23]


@pytest.mark.parametrize("kind", ["half", "float", "short"])
def test_vectors_of_eight(kind: str) -> None:
    dtype = {"half": np.float16, "float": np.float32, "short": np.int16}[kind]
    a, b, out = np.arange(1, 9, dtype=dtype), np.arange(8, 0, -1, dtype=dtype), poisoned((4, 8), dtype)
    body = f"""
struct tile {{ float held[2]; }};
template <typename T> T operator*(const thread T& a, float s) {{ T out; out.held[0] = a.held[0] * s; return out; }}
kernel void k(device const vec<{kind}, 8>* a, device const vec<{kind}, 8>* b, device vec<{kind}, 8>* out) {{
  vec<{kind}, 8> x = a[0], y = b[0], z{{1, 2}};
  out[0] = x * y - x * {kind}(1);
  x += {kind}(2);
  out[1] = -x;
  out[2] = z;
  vec<bool, 8> less = x < y;
  for (int i = 0; i < 8; i++) out[3][i] = less[i];
}}"""
    run(body, a, b, out)
    np.testing.assert_array_equal(out, [a * b - a, -(a + 2), [1, 2, 0, 0, 0, 0, 0, 0], a + 2 < b])


def test_tensors_that_the_host_binds_are_refused() -> None:
    body = "kernel void k(tensor<device half, dextents<int, 2>> a [[buffer(0)]], device half* o [[buffer(1)]]) { o[0] = 0; }"
    with pytest.raises(CompileError, match="a tensor that the host binds is not supported yet"):
        build(body, head=HEAD)
    with pytest.raises(CompileError, match="is not supported yet"):
        build(body.replace("2>>", "2>, tensor_handle>"), head=HEAD)
    made = "kernel void k(device half* a) { tensor<device half, dextents<int, 2>> t; }"
    with pytest.raises(CompileError, match=r"take a buffer, and make a tensor<\.\.\., tensor_inline> of it"):
        build(made, head=HEAD)

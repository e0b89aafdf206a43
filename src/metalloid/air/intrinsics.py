"""AIR's intrinsics and what they are in metalloid: one row each, as a function of the project's own Metal header.

`air.fast_exp.f32` becomes the exp(float) behind `metal::fast`. The rows are compiled once into a library of bitcode
(`library.py`), and a kernel is linked with it, so that the math, the SIMD-group functions and the atomics of a binary
are those of a source. Vectors are taken apart before (`vectors.py`): only scalars stand here. What a row cannot say
(matrices, votes over vectors, casts) is in `calls.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from metalloid.ir.intrinsics import BARRIER, FENCE, SIMD_BARRIER, full

REAL = {"f32": "float", "f16": "half", "bf16": "bfloat"}
SIGNED = {"s.i8": "char", "s.i16": "short", "s.i32": "int", "s.i64": "long"}
UNSIGNED = {"u.i8": "uchar", "u.i16": "ushort", "u.i32": "uint", "u.i64": "ulong"}
INTEGER = SIGNED | UNSIGNED
PLAIN = {"i8": "uchar", "i16": "ushort", "i32": "uint", "i64": "ulong"}  # where the sign does not matter

_UNARY = """acos acosh asin asinh atan atanh ceil cos cosh cospi exp exp10 exp2 fabs floor fract log log10 log2 rint
    round rsqrt sin sinh sinpi sqrt tan tanh tanpi trunc saturate sign""".split()
_BINARY = "atan2 copysign divide fdim fmax fmin fmod pow powr step nextafter".split()
_TERNARY = "fma fmax3 fmin3 fmedian3 mix smoothstep clamp".split()
_INTEGER = {
    "abs": 1,
    "absdiff": 2,
    "add_sat": 2,
    "addsat": 2,
    "sub_sat": 2,
    "subsat": 2,
    "hadd": 2,
    "rhadd": 2,
    "mul_hi": 2,
    "mulhi": 2,
    "mul24": 2,
    "mad24": 3,
    "mad_hi": 3,
    "madhi": 3,
    "mad_sat": 3,
    "madsat": 3,
    "max": 2,
    "min": 2,
    "max3": 3,
    "min3": 3,
    "median3": 3,
    "clamp": 3,
}
_BITS = {"popcount": 1, "reverse_bits": 1, "rotate": 2}
_MOVES = (
    """broadcast shuffle shuffle_xor shuffle_up shuffle_down shuffle_rotate_up shuffle_rotate_down""".split()
)
_FILLS = ("shuffle_and_fill_up", "shuffle_and_fill_down")
_REDUCTIONS = """sum product min max prefix_inclusive_sum prefix_exclusive_sum prefix_inclusive_product
    prefix_exclusive_product""".split()
_BITWISE = ("and", "or", "xor")
_POSITIONS = ("thread_index_in_simdgroup", "thread_index_in_quadgroup")
_SPACES = {"global": "device", "local": "threadgroup"}
_ORDERED = "uint, uint, bool"  # order, scope, volatile: Metal's atomics are relaxed
_UPDATES = ("add", "sub", "and", "or", "xor", "min", "max")


@dataclass(frozen=True)
class Row:
    """One intrinsic: AIR's name, and a C++ function of scalars that does the same."""

    name: str
    result: str
    parameters: str
    body: str

    @property
    def text(self) -> str:
        return f'extern "C" {self.result} {symbol(self.name)}({self.parameters}) {{ {self.body} }}'


def symbol(name: str) -> str:
    """What the library calls an intrinsic: `air.fast_exp.f32` is `__air_fast_exp_f32`."""
    return "__" + name.replace(".", "_")


@cache
def rows() -> dict[str, Row]:
    """The whole table."""
    made = (*_math(), *_integers(), *_converts(), *_groups(), *_atomics(), *_others())
    return {row.name: row for row in made}


def known(name: str) -> bool:
    return name in rows()


def _row(name: str, result: str, arguments: list[str], call: str) -> Row:
    """A row that hands its arguments, named a, b, c..., to one function."""
    letters = "abcdefgh"[: len(arguments)]
    parameters = ", ".join(f"{type} {letter}" for type, letter in zip(arguments, letters, strict=True))
    given = f"{call}({', '.join(letters)})"
    return Row(name, result, parameters, f"return {result}({given});" if result != "void" else f"{given};")


def _math() -> Iterator[Row]:
    counts = (
        [(name, 1) for name in _UNARY] + [(name, 2) for name in _BINARY] + [(name, 3) for name in _TERNARY]
    )
    for (name, count), (suffix, type) in product(counts, REAL.items()):
        yield _row(f"air.{name}.{suffix}", type, [type] * count, f"metal::__precise::{name}")
        yield _row(f"air.fast_{name}.{suffix}", type, [type] * count, f"metal::__fast::{name}")
    for (prefix, space), (suffix, type) in product((("", "precise"), ("fast_", "fast")), REAL.items()):
        yield _row(f"air.{prefix}ldexp.{suffix}", type, [type, "int"], f"metal::__{space}::ldexp")
        yield _row(f"air.{prefix}ilogb.{suffix}", "int", [type], f"metal::__{space}::ilogb")
        for name, second in (("sincos", type), ("modf", type), ("frexp", "int")):
            body = f"{second} s; {type} r = metal::__{space}::{name}(a, s); *b = s; return r;"
            parameters = f"{type} a, __attribute__((opencl_private)) {second}* b"
            yield Row(f"air.{prefix}{name}.{suffix}", type, parameters, body)


def _integers() -> Iterator[Row]:
    for (name, count), (suffix, type) in product(_INTEGER.items(), INTEGER.items()):
        spelled = {
            "add_sat": "addsat",
            "sub_sat": "subsat",
            "mul_hi": "mulhi",
            "mad_hi": "madhi",
            "mad_sat": "madsat",
        }
        yield _row(f"air.{name}.{suffix}", type, [type] * count, f"metal::{spelled.get(name, name)}")
    for (name, count), (suffix, type) in product(_BITS.items(), PLAIN.items()):
        yield _row(f"air.{name}.{suffix}", type, [type] * count, f"metal::{name}")
    for name, (suffix, type) in product(("clz", "ctz"), PLAIN.items()):
        yield Row(f"air.{name}.{suffix}", type, f"{type} a, bool", f"return metal::{name}(a);")
    for suffix, type in INTEGER.items():
        yield _row(f"air.extract_bits.{suffix}", type, [type, "uint", "uint"], "metal::extract_bits")
    for suffix, type in PLAIN.items():
        yield _row(f"air.insert_bits.{suffix}", type, [type, type, "uint", "uint"], "metal::insert_bits")


def _converts() -> Iterator[Row]:
    """`air.convert.K.T.K.T`: to, then from. Real numbers become integers as in a source: NaN is 0, the rest nearest."""
    kinds = {f"f.{s}": t for s, t in REAL.items()} | INTEGER | {"u.i1": "bool", "s.i1": "bool"}
    for (to, result), (of, type) in product(kinds.items(), repeat=2):
        value = "float(a)" if {result, type} == {"half", "bfloat"} else "a"  # clang has no such conversion
        yield Row(f"air.convert.{to}.{of}", result, f"{type} a", f"return {result}({value});")


def _groups() -> Iterator[Row]:
    movable = REAL | INTEGER | {"u.i1": "bool", "i1": "bool"}
    for group in ("simd", "quad"):
        for name, (suffix, type) in product(_MOVES, movable.items()):
            yield _row(f"air.{group}_{name}.{suffix}", type, [type, "ushort"], f"metal::{group}_{name}")
        for suffix, type in movable.items():
            yield _row(
                f"air.{group}_broadcast_first.{suffix}", type, [type], f"metal::{group}_broadcast_first"
            )
        for name, (suffix, type) in product(_FILLS, movable.items()):
            arguments = [type, type, "ushort", "ushort"]
            yield _row(f"air.{group}_{name}.{suffix}", type, arguments, f"metal::{group}_{name}")
        for name, (suffix, type) in product(_REDUCTIONS, (REAL | INTEGER).items()):
            yield _row(f"air.{group}_{name}.{suffix}", type, [type], f"metal::{group}_{name}")
        for name, (suffix, type) in product(_BITWISE, INTEGER.items()):
            yield _row(f"air.{group}_{name}.{suffix}", type, [type], f"metal::{group}_{name}")
        for name in ("all", "any"):
            yield _row(f"air.{group}_{name}", "bool", ["bool"], full(f"{group}_{name}"))
        yield _row(f"air.{group}_is_first", "bool", [], full(f"{group}_is_first"))
        for suffix, type in (("i32", "uint"), ("i64", "ulong")):
            yield _row(f"air.{group}_ballot.{suffix}", type, ["bool"], full(f"{group}_ballot"))
            yield _row(
                f"air.{group}_active_threads_mask.{suffix}", type, [], full(f"{group}_active_threads_mask")
            )


def _atomics() -> Iterator[Row]:
    for (word, space), (kind, type) in product(_SPACES.items(), (PLAIN | REAL).items()):
        if kind in ("i32", "i64", "f32"):
            place = f"(volatile {space} metal::atomic<{type}>*)p"
            relaxed = "metal::memory_order_relaxed"
            at, name = f"{space} {type}* p", f"air.atomic.{word}"
            yield Row(
                f"{name}.load.{kind}",
                type,
                f"{at}, {_ORDERED}",
                f"return metal::atomic_load_explicit({place}, {relaxed});",
            )
            for result, operation, called in (("void", "store", "store"), (type, "xchg", "exchange")):
                call = f"metal::atomic_{called}_explicit({place}, v, {relaxed});"
                text = call if result == "void" else f"return {call}"
                yield Row(f"{name}.{operation}.{kind}", result, f"{at}, {type} v, {_ORDERED}", text)
            yield Row(
                f"{name}.cmpxchg.weak.{kind}",
                type,  # what was there before, which is also written to `expected`
                f"{at}, __attribute__((opencl_private)) {type}* expected, {type} v, uint, {_ORDERED}",
                f"{type} seen = *expected; metal::atomic_compare_exchange_weak_explicit({place}, &seen, v, {relaxed},"
                f" {relaxed}); *expected = seen; return seen;",
            )
    typed = {"s.i32": "int", "u.i32": "uint", "s.i64": "long", "u.i64": "ulong", "f32": "float"}
    for (word, space), operation, (kind, type) in product(_SPACES.items(), _UPDATES, typed.items()):
        if type != "float" or operation in ("add", "sub"):
            place = f"(volatile {space} metal::atomic<{type}>*)p"
            call = f"metal::atomic_fetch_{operation}_explicit({place}, v, metal::memory_order_relaxed);"
            # AIR's minimum and maximum of 64 bits give nothing back.
            result = "void" if kind.endswith("i64") and operation in ("min", "max") else type
            body = call if result == "void" else f"return {call}"
            yield Row(
                f"air.atomic.{word}.{operation}.{kind}",
                result,
                f"{space} {type}* p, {type} v, {_ORDERED}",
                body,
            )


def _others() -> Iterator[Row]:
    yield Row("air.wg.barrier", "void", "uint flags, uint", f"{BARRIER}(flags);")
    yield Row("air.simdgroup.barrier", "void", "uint flags, uint", f"{SIMD_BARRIER}(flags);")
    # AIR counts scopes 0 thread, 1 threadgroup, 2 device, 4 SIMD-group.
    scope = "scope == 1 ? 2 : scope == 2 ? 3 : scope == 4 ? 1 : 0"
    yield Row(
        "air.atomic.fence",
        "void",
        "uint flags, uint order, uint scope",
        f"{FENCE}(flags, order, {scope});",
    )
    for name, (suffix, type) in product(_POSITIONS, PLAIN.items()):
        yield Row(f"air.get_{name}.{suffix}", type, "", f"return {type}(__mt::{full(name)}(0));")
    for suffix, type in PLAIN.items():
        # A number, not a question: sizes of tensors are made of it.
        yield Row(f"air.get_simdgroup_size.{suffix}", type, "", "return 32;")
        yield Row(f"air.normalize_function_constant_predicate.{suffix}", type, f"{type} a", "return a != 0;")
        yield Row(f"air.is_uniform.{suffix}", "bool", f"{type} a", "return true;")  # feeds assumptions only
    yield Row("air.is_uniform.i1", "bool", "bool a", "return true;")
    for suffix, type in REAL.items():
        yield Row(f"air.is_uniform.{suffix}", "bool", f"{type} a", "return true;")

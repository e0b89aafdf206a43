"""One table of intrinsics: what the headers declare has a row, and oracle and engine have code for each row.

The text of an intrinsic's name stands in one file; the names of the C++ side, which no kernel's IR holds, in another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

import metalloid
from metalloid.analysis.intervals.call_results import POSITIONS as BOUNDS_OF_POSITIONS
from metalloid.backends.cpu.lower.instructions import FAMILIES
from metalloid.backends.cpu.lower.ops import collective as vector_collective
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.backends.interpret import intrinsics as oracle
from metalloid.backends.interpret import matrix, simd
from metalloid.backends.interpret.positions import POSITIONS as ORACLE_POSITIONS
from metalloid.errors import NotVectorised
from metalloid.frontend import clang, names
from metalloid.frontend.hints.vocabulary import FUNCTIONS
from metalloid.ir import intrinsics
from metalloid.ir.intrinsics import (
    Collective,
    Family,
    MatrixAccess,
    collective,
    family,
    intrinsic,
    matrix_access,
)
from metalloid.ir.types import FLOAT, I32, PointerType
from metalloid.ir.values import Local

SOURCES = Path(metalloid.__file__).parent
SPELLED = {"ir/intrinsics/names.py", "frontend/names.py"}
PREFIX = "__mt_"
# Between passes: no kernel calls these, so neither the headers nor the oracle know them.
ROWS = {"row", "same_row", "last_row", "few_rows", "between"}
MADE_BY_PASSES = {
    "private",
    "gang_barrier",
    "given_row",
    "spill_",
    "reload_",
    "state",
    "check",
    "check_",
    *ROWS,
}


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every string of a file, parts of f-strings too, but for docstrings."""
    said = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node


def test_names_are_spelled_in_one_place() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{text.lineno}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).as_posix() not in SPELLED
        for text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if PREFIX in text.value
    ]
    assert not found, f"ask metalloid.ir.intrinsics for these names: {found}"


def test_strings_are_found_wherever_they_hide() -> None:
    tree = ast.parse('"""__mt_doc"""\na = f"{b}__mt_part"\nre.compile(rb"x" and r"__mt_(simd)")\n')
    assert sorted(t.value for t in texts(tree) if PREFIX in t.value) == ["__mt_(simd)", "__mt_part"]


@cache
def declared() -> tuple[str, ...]:
    """The functions that Metal's headers declare for the stages behind the front end, macros expanded."""
    made = clang.run(
        [*clang.PREPROCESS, "-I", str(clang.INCLUDE), "-o", "-", "-"], "#include <metalloid/metalloid.h>\n"
    )
    assert not made.failed, made.messages
    return tuple(sorted(set(re.findall(rf"\b({PREFIX}\w+)\s*\(", made.output)) - {names.EXCESS}))


def test_what_the_headers_declare_has_a_row() -> None:
    assert len(declared()) > 150
    assert [name for name in declared() if intrinsic(name) is None] == []


def test_a_row_is_of_something() -> None:
    """Nothing is left in the table that neither the headers nor a pass can make."""
    made = {intrinsics.short(name) for name in declared()} | {"thread_execution_width"}  # by its other name
    unused = [
        row
        for row in set(intrinsics.TABLE) - MADE_BY_PASSES
        if row not in made and not (row.endswith("_") and any(name.startswith(row) for name in made))
    ]
    assert unused == []


def test_names_of_collectives_and_matrices_are_read() -> None:
    for name in declared():
        assert (collective(name) is not None) == (family(name) == "collective"), name
        assert (matrix_access(name) is not None) == (family(name) in ("matrix load", "matrix store")), name
    for group in ("simd", "quad"):
        said = {c.what for name in declared() if (c := collective(name)) is not None and c.group == group}
        assert said == intrinsics.COLLECTIVES


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("simd_sum_f32", Collective("simd", "sum", "f", 32)),
        ("quad_prefix_exclusive_product_u64", Collective("quad", "prefix_exclusive_product", "u", 64)),
        ("simd_shuffle_and_fill_up_i16", Collective("simd", "shuffle_and_fill_up", "i", 16)),
        ("quad_active_threads_mask", Collective("quad", "active_threads_mask", "", 0)),
        ("simdgroup_barrier", None),
        ("simd_nothing_i32", None),
        ("matrix_load_b16_device", None),
    ],
)
def test_parts_of_a_collective(name: str, parts: Collective | None) -> None:
    assert collective(intrinsics.full(name)) == parts
    assert parts is None or parts.lanes == {"simd": 32, "quad": 4}[parts.group]
    assert parts is None or name.startswith(parts.function)
    assert collective(name) is None  # a user's function of that name is none


def test_parts_of_a_matrix_access() -> None:
    for size in (2, 4):
        for what in ("load", "store"):
            for space in ("device", "threadgroup"):
                name = intrinsics.matrix_access_name(what, size, space)
                assert name in declared()
                assert matrix_access(name) == MatrixAccess(what == "store", size, space)  # type: ignore[arg-type]
    assert matrix_access(intrinsics.MATRIX_PRODUCT) is None


def test_moves_are_collectives_with_a_lane_to_read() -> None:
    told = {name for name in declared() if intrinsics.moves(name)}
    assert intrinsics.full("simd_shuffle_xor_i32") in told and intrinsics.full("quad_broadcast_i16") in told
    assert not any("fill" in name or "first" in name or "sum" in name for name in told)
    assert len(told) == 2 * 2 * len(intrinsics.MOVES)  # of SIMD-groups and quads, in 16 and 32 bits


def test_every_move_has_vector_code_of_its_own() -> None:
    """With a lane that is known, and with one that only a run knows; no move passes for another."""
    emitter = SimpleNamespace(
        width=32,
        vector=lambda _: "%n",
        vt=lambda kind: f"<32 x {kind}>",
        constants=lambda *_: "%lanes",
        put=str,
    )
    assert set(vector_collective.SOURCE) == intrinsics.MOVES
    for what in intrinsics.MOVES:
        vector_collective.sources_of(emitter, what, Local("n", I32), 32)  # type: ignore[arg-type]
    with pytest.raises(NotVectorised, match="shuffle_sideways"):
        vector_collective.sources_of(emitter, "shuffle_sideways", Local("n", I32), 32)  # type: ignore[arg-type]


def test_names_that_passes_make_are_of_their_family() -> None:
    pointer = PointerType(3)
    assert family(intrinsics.reload_name(FLOAT)) == "reload" and intrinsics.is_reload(
        intrinsics.reload_name(I32)
    )
    assert family(intrinsics.spill_name(pointer)) == "spill" and intrinsics.is_spill(
        intrinsics.spill_name(FLOAT)
    )
    marker, matrix_marker = intrinsics.marker_name(pointer), intrinsics.marker_name(pointer, I32, matrix=True)
    for name in (intrinsics.MARKER, marker, matrix_marker, intrinsics.lanes_marker_name(I32)):
        assert intrinsics.is_marker(name)
    assert [intrinsics.marks_matrix(n) for n in (marker, matrix_marker)] == [False, True]
    assert family("check") is None and family("llvm.fma.f32") is None and family("") is None


def test_positions_that_threads_share_and_that_tell_them_apart() -> None:
    assert set(ORACLE_POSITIONS) == set(intrinsics.POSITIONS) == set(BOUNDS_OF_POSITIONS)
    assert set(intrinsics.POSITIONS) == intrinsics.FIXED_POSITIONS | intrinsics.VARYING_POSITIONS
    for name in intrinsics.POSITIONS:
        row = intrinsic(intrinsics.full(name))
        assert row is not None and intrinsics.is_position(intrinsics.full(name))
        assert (row.same == "threadgroup") == (name in intrinsics.FIXED_POSITIONS)


def test_the_oracle_knows_what_the_headers_declare() -> None:
    def known(name: str) -> bool:
        short = intrinsics.short(name)
        if oracle.waiting(name) == "":
            return short in oracle.OWN or short in ORACLE_POSITIONS
        if name in (intrinsics.BARRIER, intrinsics.SIMD_BARRIER) or name in matrix.OPERATIONS:
            return True
        return callable(simd.operation(name))  # raises for what it does not know

    assert [name for name in declared() if not known(name)] == []


def test_vector_code_has_a_case_for_each_family() -> None:
    assert set(FAMILIES) == set(get_args(Family)) == {row.family for row in intrinsics.TABLE.values()}


def test_nvidias_runtime_has_a_function_for_each() -> None:
    """No GPU is needed to see that one is missing: its PTX would call a function that is nowhere."""
    source = (SOURCES / "backends" / "cuda" / "runtime" / "device.cpp").read_text(encoding="utf-8")
    made = clang.run([*clang.PREPROCESS, "-o", "-", "-"], source)
    assert not made.failed, made.messages
    functions = set(re.findall(r"\bmtd_(\w+)\(", made.output))
    apart = ("log", "marker")  # messages.py writes those; markers are no kernel's
    needed = {intrinsics.short(name) for name in declared() if family(name) not in apart}
    assert len(needed) > 150 and needed - functions == set()


def test_hints_and_the_editor_know_every_collective() -> None:
    assert {found.function for name in declared() if (found := collective(name))} - FUNCTIONS == set()


def call_of(name: str, number: int) -> tuple[str, str]:
    """A declaration of a collective and a call of it, the result stored in device memory."""
    found = collective(name)
    assert found is not None
    float_types = {16: "half", 32: "float"}
    type = float_types[found.bits] if found.letter == "f" else f"i{found.bits}"
    result, operands = type, [f"{type} %{type}"]
    if found.what in intrinsics.VOTES:
        result = "i64" if found.what in ("ballot", "active_threads_mask") else "i1"
        operands = ["i1 %i1"] if found.what in ("all", "any", "ballot") else []
    elif found.what in intrinsics.MOVES:
        operands.append("i16 %i16")
    elif found.what in intrinsics.FILLS:
        operands += [operands[0], "i16 %i16", "i16 %i16"]
    types = ", ".join(o.split()[0] for o in operands)
    call = f"  %r{number} = call {result} @{name}({', '.join(operands)})"
    stored = f"  store volatile {result} %r{number}, ptr addrspace(1) %p"
    return f"declare {result} @{name}({types}) convergent", f"{call}\n{stored}"


@pytest.mark.parametrize("size", [(32, 1, 1), (64, 1, 1)])
def test_vector_code_can_be_written_of_every_collective(size: tuple[int, int, int]) -> None:
    all_names = [name for name in declared() if family(name) == "collective"]
    heads, calls = zip(*(call_of(name, n) for n, name in enumerate(all_names)), strict=True)
    buffer, lane = intrinsics.BUFFER, intrinsics.full("thread_index_in_threadgroup")
    text = f"""target triple = "amdgcn-amd-amdhsa"
declare ptr addrspace(1) @{buffer}(i32)
declare i32 @{lane}(i32)
HEADS
define void @{intrinsics.ENTRY}() {{
  %p = call ptr addrspace(1) @{buffer}(i32 0)
  %i32 = call i32 @{lane}(i32 0)
  %i16 = trunc i32 %i32 to i16
  %i64 = zext i32 %i32 to i64
  %i1 = trunc i32 %i32 to i1
  %float = uitofp i32 %i32 to float
  %half = uitofp i32 %i32 to half
CALLS
  ret void
}}
"""
    made = vector_stage(text.replace("HEADS", "\n".join(heads)).replace("CALLS", "\n".join(calls)), size)
    assert PREFIX not in made

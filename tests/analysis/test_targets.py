"""Processors are known by LLVM's words, and their numbers follow from each other."""

from __future__ import annotations

import pytest

from metalloid.targets import TargetInfo, info

X86 = "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("triple", "features", "name", "lanes", "rows", "columns"),
    [
        (X86, "+sse2,+avx2,+avx512f", "AVX-512", 16, 2, 2),
        (X86, "+avx,+avx2", "AVX2", 8, 1, 1),
        (X86, "+sse4.2", "SSE", 4, 0, 0),
        (X86, "-avx512f,+avx2", "AVX2", 8, 1, 1),
        (X86, "", "SSE", 4, 0, 0),
        ("aarch64-unknown-linux-gnu", "+neon", "NEON", 4, 0, 0),
        ("arm64-apple-darwin", "", "NEON", 4, 0, 0),
    ],
)
def test_a_processor_by_its_name_and_features(
    triple: str, features: str, name: str, lanes: int, rows: int, columns: int
) -> None:
    found = info(triple, features)
    assert (found.name, found.lanes32, found.matrix_rows, found.matrix_columns) == (
        name,
        lanes,
        rows,
        columns,
    )


def test_tables_of_floats_and_scaling_are_where_the_instructions_are() -> None:
    with_them = [t for t in (info(X86, "+avx512f"), info(X86, "+avx2"), info("aarch64", "")) if t.float_table]
    assert [t.name for t in with_them] == ["AVX-512"] and with_them[0].scales_floats


def test_half_of_the_registers_hold_sums() -> None:
    for registers in (16, 32, 64):
        target = TargetInfo("made up", vector_bytes=64, vector_registers=registers)
        # A row of a tile has 8 matrices' rows beside each other, each a register of `columns`.
        assert target.matrix_columns * 8 == registers // 2

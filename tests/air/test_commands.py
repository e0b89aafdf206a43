"""The command line with compiled libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metalloid.cli import group
from metalloid.errors import MetalloidError
from tests.air.metallib import VERTEX, Function, assembled, container, kernel
from tests.air.test_container import COPY

BAD = kernel("  call void @air.what()\n  ret void", [], "declare void @air.what()", name="bad")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.metallib"
    path.write_bytes(
        container([Function("copy", assembled(COPY)), Function("shade", assembled(COPY), VERTEX)])
    )
    return path


def call(*words: Any) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words], catch_exceptions=False)


def test_ls_lists_libraries_and_kernels(file: Path) -> None:
    head, first, second = call("ls", file).output.splitlines()
    assert head.startswith(f"{file}: Metal library for macOS 14.0, ") and head.endswith("1 kernel, AIR 2.6")
    assert (first, second) == ("    copy", "    shade  (vertex function)")


def test_ls_finds_libraries_in_a_program_and_shows_signatures(file: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\0\0" + file.read_bytes())
    head, *lines = call("ls", program, "c*", "--signatures").output.splitlines()
    assert " at byte 6: Metal library" in head
    assert lines == [
        "    kernel void copy(",
        "        device const float* b0 [[buffer(0)]],",
        "        device float* b1 [[buffer(1)]],",
        "        uint thread_position_in_grid [[thread_position_in_grid]])",
    ]


def test_ls_speaks_to_machines(file: Path) -> None:
    (library,) = json.loads(call("ls", file, "--json").output)
    assert [(f["name"], f["kind"], f["air"]) for f in library["functions"]] == [
        ("copy", "kernel", "2.6"),
        ("shade", "vertex function", "2.6"),
    ]


def test_ls_of_a_library_that_is_cut_off_says_so(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.metallib"
    path.write_bytes(file.read_bytes()[:200])
    with pytest.raises(MetalloidError, match="this Metal library is cut off: its header says"):
        call("ls", path)


def test_ls_of_another_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("MTLB is four letters")
    with pytest.raises(MetalloidError, match="there is no Metal library in"):
        call("ls", path)


def test_run_and_check_take_a_library(file: Path) -> None:
    words = ("--grid", 4, "--arg", "b0=arange:4:float32", "--out", "b1:4:float32")
    assert call("run", file, *words).output.startswith("b1 = [0. 1. 2. 3.]")
    assert call("check", file, *words).exit_code == 0
    short = ("--grid", 4, "--arg", "b0=arange:4:float32", "--out", "b1:3:float32")
    said = call("check", file, *short)
    assert said.exit_code == 1 and "M102 out-of-bounds write, 4 bytes past 'b1' (12 bytes)" in said.output


def test_show_has_a_stage_of_air_and_no_text(file: Path) -> None:
    assert "@copy(ptr addrspace(1)" in call("show", file, "--stage", "air").output
    assert "define void @__mt_entry()" in call("show", file, "--stage", "ll").output
    assert "buffer 1: b1, float (4 bytes), write" in call("show", file).output
    with pytest.raises(MetalloidError, match="it has no text; --stage air shows its code"):
        call("show", file, "--stage", "metal")


def test_lint_compiles_every_kernel(file: Path, tmp_path: Path) -> None:
    assert call("lint", file).output.endswith("1 kernel, no mistakes\n")
    path = tmp_path / "bad.metallib"
    path.write_bytes(container([Function("copy", assembled(COPY)), Function("bad", assembled(BAD))]))
    said = call("lint", path)
    assert said.exit_code == 1
    assert "M616 kernel 'bad': 'air.what' is not supported" in said.output
    assert said.output.endswith("2 kernels, 1 mistake\n")

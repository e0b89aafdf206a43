"""A library is examined when it is made: mistakes show there, code is made for kernels that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid import cache
from metalloid.errors import CompileError
from metalloid.frontend import clang, compile_kernel
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
GOOD = "kernel void good(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 2; }\n"
# Where in the text the mistake is, and what is said of it.
WRONG = {
    "no kernel at all": ("Syntax error", 1, "'Syntax' is not a known type"),
    "a kernel nobody asks for": (
        HEAD + GOOD + "kernel void bad(device float* x) { x[0] = undefined; }",
        4,
        "'undefined' is not declared",
    ),
    "a function nobody calls": (HEAD + GOOD + "float f() { return float2(1).z; }", 4, "z"),
    "an explicit instantiation": (
        HEAD
        + GOOD
        + "template <class T> kernel void t(device T* x) { x[0] = T::none; }\n"
        + 'template [[host_name("f")]] kernel void t<float>(device float* x);',
        4,
        "none",
    ),
    "a template nobody instantiates": (
        HEAD + GOOD + "template <class T> T twice(T x) { return x + missing; }",
        4,
        "'missing' is not declared",
    ),
    "what clang would take": (
        HEAD + GOOD + "kernel int bad(device float* x) { return 1; }",
        4,
        "returns void",
    ),
    "a word that Metal has not": (
        HEAD + GOOD + "float f(float x) { double y = x; return y; }",
        4,
        "no `double`",
    ),
    "an index taken twice": (
        HEAD + GOOD + "kernel void bad(device float* x [[buffer(1)]], device float* y [[buffer(1)]]) { }",
        4,
        "taken twice",
    ),
    "a directive": ("#if 1\n" + GOOD, 1, "unterminated"),
}


@pytest.mark.parametrize("what", WRONG)
def test_mistakes_show_when_the_library_is_made(what: str) -> None:
    text, line, says = WRONG[what]
    with pytest.raises(CompileError, match=says) as caught:
        mt.device().library(text, name="made.metal")
    first = caught.value.diagnostics[0]
    assert (first.file, first.line) == ("made.metal", line)
    assert first.excerpt == text.split("\n")[line - 1]


def test_they_are_told_as_the_kernel_tells_them() -> None:
    """With the hints that need the kernel's parameters."""
    text = (
        HEAD + GOOD + "kernel void bad(device float* x, uint3 p [[thread_position_in_grid]]) { x[p] = 1; }\n"
    )
    with pytest.raises(CompileError) as alone:
        compile_kernel(Source(text), "bad", fresh=True)
    with pytest.raises(CompileError) as whole:
        mt.device().library(Source(text))
    assert whole.value.diagnostics == alone.value.diagnostics
    assert whole.value.diagnostics[0].hint


def test_every_mistake_is_told() -> None:
    text = HEAD + "float f() { return one; }\n" + GOOD + "kernel void bad(device float* x) { x[0] = two; }\n"
    with pytest.raises(CompileError) as caught:
        mt.device().library(text, name="made.metal")
    assert {d.line for d in caught.value.diagnostics} == {3, 5}


def test_templates_are_checked_as_cpp_does() -> None:
    """What depends on an argument that nobody gave is not looked at."""
    library = mt.device().library(
        HEAD + GOOD + "template <class T> T f(T x) { return x.nothing + T::none; }\n"
    )
    assert library.kernels == ("good",)


def test_what_metalloid_cannot_do_is_told_to_who_asks_for_it() -> None:
    text = (
        HEAD + GOOD + "kernel void picture(texture2d<float> t, device float* x) { x[0] = t.get_width(); }\n"
    )
    library = mt.device().library(text)
    assert set(library.kernels) == {"good", "picture"}
    with pytest.raises(CompileError, match="texture2d"):
        library["picture"]
    alone = mt.device().library(HEAD + text.split("\n")[3])
    with pytest.raises(CompileError, match="texture2d"):
        alone["picture"]


def test_a_limit_of_pipelines_is_told_with_the_pipeline() -> None:
    text = (
        HEAD
        + "kernel void big(device float* x) { threadgroup float s[9000]; s[0] = x[0]; x[1] = s[int(x[2])]; }\n"
    )
    library = mt.device().library(text)
    with pytest.raises(CompileError, match="threadgroup memory"):
        library["big"]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """What clang is asked to do, with nothing kept from before: "-E", "-fsyntax-only", "-emit-llvm"."""
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path / "cache"))
    asked: list[str] = []
    original = clang.run

    def run(arguments: list[str], text: str, *more: int) -> clang.Result:
        asked.extend(a for a in arguments if a in ("-E", "-fsyntax-only", "-emit-llvm"))
        return original(arguments, text, *more)

    monkeypatch.setattr(clang, "run", run)
    yield asked


TWO = HEAD + GOOD + GOOD.replace("good", "other")


def test_the_only_kernel_of_a_source_costs_what_it_did(runs: list[str]) -> None:
    library = mt.device().library(HEAD + GOOD)
    out = np.zeros(4, np.float32)
    library["good"](out, grid=4)
    assert out.tolist() == [2] * 4
    assert runs == ["-emit-llvm"]


def test_macros_cost_one_run_more(runs: list[str]) -> None:
    mt.device().library(HEAD + "#define TWO 2\n" + GOOD)["good"].ir  # noqa: B018
    assert runs == ["-E", "-emit-llvm"]


def test_several_are_parsed_once_and_compiled_when_they_are_wanted(runs: list[str]) -> None:
    library = mt.device().library(TWO)
    assert runs == ["-fsyntax-only"]
    library["other"].ir  # noqa: B018
    assert runs == ["-fsyntax-only", "-emit-llvm"]


@pytest.mark.parametrize("text", [HEAD + GOOD, TWO])
def test_another_start_pays_nothing(runs: list[str], text: str) -> None:
    mt.device().library(text)["good"].ir  # noqa: B018
    runs.clear()
    again = mt.device().library(text)
    assert "good" in again.kernels and again["good"].ir
    assert runs == []


def test_without_a_cache_nothing_is_compiled_twice(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    none = cache.Cache(Path("/nowhere"), 0)
    monkeypatch.setattr(cache, "default", lambda: none)
    mt.device().library(HEAD + GOOD)["good"].ir  # noqa: B018
    assert runs == ["-emit-llvm"]


def test_a_changed_include_is_examined_again(tmp_path: Path) -> None:
    header, file = tmp_path / "part.h", tmp_path / "k.metal"
    header.write_text("inline float f() { return 1; }\n")
    file.write_text(HEAD + '#include "part.h"\n' + GOOD + GOOD.replace("good", "other").replace("2", "f()"))
    mt.device().library(file)
    header.write_text("inline float f() { return oops; }\n")
    with pytest.raises(CompileError, match="'oops' is not declared") as caught:
        mt.device().library(file)
    assert caught.value.diagnostics[0].file.endswith("part.h")


def test_function_constants_need_no_value_yet() -> None:
    text = HEAD + "constant int n [[function_constant(0)]];\nkernel void k(device int* x) { x[0] = 7 / n; }\n"
    library = mt.device().library(text)
    out = np.zeros(1, np.int32)
    library.kernel("k", {"n": 7})(out, grid=1)
    assert out[0] == 1

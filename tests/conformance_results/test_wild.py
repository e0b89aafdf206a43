"""The run of other people's launches under check: the order of its cases, and where they are made."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from conformance.results import wild_page, wild_record
from conformance.results.case import Case, Output, Step, Work, poisoned
from conformance.results.wild import in_turn, kernel_family
from conformance.results.wild_record import Verdict

from metalloid.source import Source

made_here: list[int] = []


def case(name: str, kernel: str, threads: int) -> Case:
    def make(rng: np.random.Generator, size: Any) -> Work:
        made_here.append(os.getpid())
        out = poisoned(threads)
        step = Step(Source(""), kernel, (out,), (1, 1, 1), (threads, 1, 1))
        return Work((step,), (Output("out", out, out, 0.0),))

    return Case("tests", "tests", name, make)


def test_one_case_of_each_kernel_comes_first_and_small_ones_before_large() -> None:
    cases = [case("a", "add_float32", 64), case("b", "add_half", 8), case("c", "scan", 16)]
    assert [c.name for c in in_turn(cases)] == ["b", "c", "a"]


def test_the_process_that_forks_makes_no_case_itself() -> None:
    # mlx-lm's cases compute with MLX: a process that was forked after that waits for ever.
    made_here.clear()
    in_turn([case("a", "add_float32", 64)])
    assert made_here == []


def test_a_case_that_ends_its_process_is_still_in_turn() -> None:
    def end(rng: np.random.Generator, size: Any) -> Work:
        os._exit(3)

    assert len(in_turn([Case("tests", "tests", "a", end), case("b", "scan", 16)])) == 2


def test_types_and_sizes_are_no_part_of_a_kernels_family() -> None:
    assert kernel_family("kernel_mul_mv_q4_0_f32") == "kernel_mul_mv"


def test_the_record_keeps_the_latest_verdict_of_each_case(tmp_path, monkeypatch):
    monkeypatch.setattr(wild_record, "RECORD", tmp_path / "wild.json")
    clean, found = Verdict((), "1", "avx2"), Verdict(("M204",), "2", "avx2")
    wild_record.store("library", {"a": clean, "b": clean})
    wild_record.store("source", {"a": found})
    wild_record.store("library", {"b": found, "c": clean})
    assert wild_record.load("library") == {"a": clean, "b": found, "c": clean}
    assert wild_record.load("source") == {"a": found}


def test_the_page_gets_the_numbers_of_the_record_and_keeps_its_text(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{wild_page.BEGIN}old\n{wild_page.END}behind\n")
    monkeypatch.setattr(wild_page, "PAGE", page)
    monkeypatch.setattr(wild_record, "RECORD", tmp_path / "wild.json")
    wild_record.store("source", {"mlx a": Verdict((), "1", "avx2"), "mlx b": Verdict(("M204",), "1", "avx2")})
    wild_page.write({"source": ["mlx a", "mlx b", "mlx c"], "library": ["mlx a"]})
    text = page.read_text()
    assert text.startswith(f"before\n{wild_page.BEGIN}") and text.endswith(f"{wild_page.END}behind\n")
    assert "| mlx, from source | 3 | 2 | 1 | M204 (1) |" in text and "old" not in text
    assert "| mlx, from MLX's compiled library | 1 | 0 | 0 |  |" in text

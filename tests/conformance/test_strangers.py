"""Kernels on numbers nobody chose: what is compared, what counts as a difference, what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conformance.debian import _of_sources
from conformance.strangers import opinions
from conformance.strangers.numbers import Unknown, memory
from conformance.strangers.opinions import LINE, opinion
from conformance.strangers.page import page

from metalloid.backends.cpu.build import cpu_program
from metalloid.frontend import Kernel, compile_kernel
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def compiled(text: str) -> Kernel:
    return compile_kernel(Source(HEAD + text, math="safe"), "k")


PLAIN = """
struct Item { float weight; uchar count; short2 place; };
kernel void k(device Item* items, constant uint& n, device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = items[i].weight * items[i].count + items[i].place.y + n;
}
"""


def test_numbers_follow_the_types() -> None:
    signature = compiled(PLAIN).signature
    made = memory(signature, np.random.default_rng(1))
    items = made[0].view(
        np.dtype(
            [("weight", "f4"), ("count", "u1"), ("gap", "u1", 1), ("x", "i2"), ("y", "i2"), ("end", "u1", 2)]
        )
    )
    assert np.all(np.abs(items["weight"]) < 10)
    assert np.std(items["weight"]) > 1
    assert 10 >= items["count"].max() > 8
    assert items["x"].min() >= 0 and items["y"].max() <= 10
    assert made[1].size == 4
    assert np.array_equal(made[0], memory(signature, np.random.default_rng(1))[0])


def test_a_kernel_that_wants_addresses_gets_none() -> None:
    kernel = compiled("struct A { device float* p; }; kernel void k(constant A& a) { a.p[0] = 1; }")
    with pytest.raises(Unknown):
        memory(kernel.signature, np.random.default_rng(1))
    assert opinion(kernel, (LINE,)).skipped[0].startswith("an address")


def test_both_agree_on_a_plain_kernel_and_beyond_its_memory() -> None:
    found = opinion(compiled(PLAIN), (LINE,))
    assert (found.agreed, found.skipped, found.wrong) == (len(opinions.WAYS), (), ())
    outside = opinion(
        compiled(
            "kernel void k(device int* o, uint i [[thread_position_in_grid]]) { o[i * 500] = o[i] + 1; }"
        ),
        (LINE,),
    )
    assert (outside.agreed, outside.wrong) == (2, ())


def test_a_wrong_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    other = compiled(PLAIN.replace("+ n", "+ n + (i == 33)"))

    def wrong(ir: str, *rest: Any, **more: Any) -> Any:
        return cpu_program(other.ir, *rest, **more)

    monkeypatch.setattr(opinions, "cpu_program", wrong)
    found = opinion(compiled(PLAIN), (LINE,))
    assert found.agreed == 0
    assert "'out'[33], byte 0: the engine has" in found.wrong[0]
    assert "(1 differ)" in found.wrong[0]


def test_a_race_is_left_to_one_thread() -> None:
    found = opinion(compiled("kernel void k(device int* o) { o[0] += 1; }"), (LINE,))
    assert found.skipped == ("M202 with (32, 1, 1)",)
    assert (found.agreed, found.wrong) == (len(opinions.WAYS), ())


def test_the_page_counts_and_names() -> None:
    from conformance.strangers.command import Told

    text = page(
        [
            Told("a", "a k", 8, commit="1234567"),
            Told("a", "a l", wrong=("differs",)),
            Told("b", "b k", skipped=("an address in x",)),
        ]
    )
    assert "| a | 2 | 1 | 8 | 0 | 1 |" in text
    assert "| b | 1 | 0 | 0 | 1 | 0 |" in text
    assert "- a l: differs" in text
    assert "Verdicts: 2 of a commit that was not noted, 1 of commit 1234567." in text
    assert "1 that want addresses" in text


def test_lists_of_packages_become_lists_of_sources() -> None:
    first = "Types: deb\nURIs: http://host/debian\nSuites: one one-updates"
    new = first + "\n\nTypes: deb\nURIs: http://host/debian-security\nSuites: x"
    assert _of_sources(new, "").count("Types: deb-src") == 2
    assert _of_sources(new, "two") == "Types: deb-src\nURIs: http://host/debian\nSuites: two"
    assert _of_sources("deb http://host/debian one main", "two") == "deb-src http://host/debian two main"

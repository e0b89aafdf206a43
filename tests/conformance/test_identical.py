"""Two runs of `conformance.identical` agree on the same code and tell where code differs."""

from __future__ import annotations

from conformance.cases import Case
from conformance.identical import SIZES, differences, hashes

from metalloid.source import Source

BODY = """kernel void k(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = metal::simd_sum(int(i)) + NUMBER;
}"""


def made(number: str) -> dict[str, str]:
    right = Source(BODY.replace("NUMBER", number), name="k.metal")
    wrong = Source("kernel void k(", name="k.metal")
    return hashes(Case("test", "k.metal", "k", ((wrong, "k"), (right, "k"))), checked=True)


def test_the_same_code_has_the_same_hashes_and_other_code_others() -> None:
    first = made("1")
    assert len(first) == len(set(first.values())) == len(SIZES) + 1
    assert all(len(value) == 64 for value in first.values())
    assert differences(first, made("1")) == []
    assert differences(first, made("2")) == sorted(first)


def test_what_one_run_lacks_is_a_difference() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "c": "3"}) == ["b", "c"]


def test_a_kernel_that_does_not_compile_is_held_by_its_sentence() -> None:
    refused = hashes(Case("test", "k.metal", "k", ((Source("int", name="k.metal"), "k"),)), checked=False)
    assert all("Error: " in value for value in refused.values()) and len(refused) == len(SIZES)

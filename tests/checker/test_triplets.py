"""Every rule is broken by kernels of its own and silent on their twins."""

from __future__ import annotations

import re

import pytest

from metalloid.rules import all_rules
from tests.checker import memory_triplets, numerics_triplets, synchronisation_triplets
from tests.checker.triplet import Triplet, found, run

TRIPLETS = (*memory_triplets.TRIPLETS, *synchronisation_triplets.TRIPLETS, *numerics_triplets.TRIPLETS)
RULES = (
    *(f"M10{n}" for n in range(1, 9)),
    *(f"M20{n}" for n in range(1, 9)),
    "M305",
    *(f"M40{n}" for n in range(1, 7)),
)

# Broken and kept by the longer programs of second_round, and in tests of their own.
IN_PROGRAMS = {"M109", "M110", "M209", "M210", "M407", "M408"}


@pytest.mark.parametrize("engine", ["vector", "oracle"])
@pytest.mark.parametrize("triplet", TRIPLETS, ids=lambda t: t.name)
def test_the_checker_finds_what_is_wrong_and_nothing_else(
    triplet: Triplet, engine: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    report = run(triplet)
    assert found(report) == sorted(triplet.find), report.text()
    for finding in report.findings:
        assert finding.hint, finding.text()
        assert not finding.excerpt or finding.excerpt.strip() in triplet.text


def test_asking_again_gets_the_same_answer():
    triplet = next(t for t in TRIPLETS if t.name == "M404 a product of 32 bits")
    assert found(run(triplet)) == found(run(triplet)) == sorted(triplet.find)


def test_no_rule_about_a_run_is_left_out():
    seen = {p.number for p in all_rules() if p.number[1] in "124"}
    assert seen - set(RULES) - IN_PROGRAMS == set(), "give them triplets, and name them in RULES"
    assert not IN_PROGRAMS & set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_broken_and_kept(rule: str):
    broken = [t for t in TRIPLETS if any(r == rule for r, _ in t.find)]
    kept = [t for t in TRIPLETS if t.name.startswith(rule) and not t.find]
    assert len(broken) >= 2 and len(kept) >= 2, (len(broken), len(kept))
    assert all(re.match(r"M\d{3} ", t.name) for t in TRIPLETS)

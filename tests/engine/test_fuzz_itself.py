"""The programs of the fuzz have one right result, a seed makes the same one again, and a difference is made small."""

from __future__ import annotations

import pytest

from metalloid.backends.interpret import simd
from tests.engine.fuzz.compose import FEATURES, Case, case
from tests.engine.fuzz.frame import SHOWN, text_of
from tests.engine.fuzz.record import Recorder, following, runs
from tests.engine.fuzz.run import Difference, Setting, check
from tests.engine.fuzz.shrink import mistakes, shrink, texts

EVERYTHING = dict.fromkeys({f.switch for f in FEATURES.values() if f.switch}, True)


def test_a_seed_makes_the_same_program_again():
    assert [case(seed) for seed in range(20)] == [case(seed) for seed in range(20)]


def test_every_feature_is_made():
    switches = [{**EVERYTHING, "rows": on} for on in (False, True)]  # which leaves all others out
    made = {name for seed in range(400) for on in switches for name in case(seed, on).features}
    assert made == {*FEATURES, "messages", "short", "counting", "below"}


def test_threadgroups_have_rows_shorter_than_lanes():
    groups = {case(seed).group for seed in range(200)}
    assert sum(x < 32 and y > 1 for x, y, _ in groups) > 20
    assert sum(x < 32 and z > 1 for x, _, z in groups) > 10


@pytest.mark.parametrize("on", ["", "rows"])
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_programs_have_one_right_result(first: int, on: str):
    """No race, no access outside: the oracle watches."""
    for seed in range(first, first + 10):
        one = case(seed, {on: True} if on else {})
        if one.threads == 1:
            assert not mistakes(one), one.text


def one(body: list[str]) -> Case:
    return Case(1, text_of([], [], [f"    {line}" for line in body], SHOWN), (32, 1, 1), (32, 1, 1))


def test_a_race_is_told_from_a_difference():
    racing = one(["threadgroup uint s[32];", "s[t] = u0;", "u1 = s[31 - t];"])
    assert mistakes(racing) == ["M206"]  # within one SIMD-group


def test_a_difference_is_made_small():
    body = [
        "u0 += 1;",
        "if (u0 > 5) {",
        "    u1 ^= far[i];",
        "    claims[i] |= 1;",
        "}",
        "else {",
        "    u2 = 1;",
        "}",
    ]
    found = check(one(body), [])
    assert found is not None and found.kind == "claim"
    small = shrink(found)
    lines = [line.strip() for line in small.case.text.splitlines()]
    assert "claims[i] |= 1;" in lines and not any("far[" in line for line in lines)
    assert sum(line.startswith(("u0 +=", "u1 ^=", "if (", "else", "out[")) for line in lines) == 0


def test_smaller_texts_keep_their_braces():
    for text in texts(case(3).text):
        assert text.count("{") == text.count("}")


def test_what_does_not_vectorise_or_ends_in_an_error_is_a_difference(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise KeyError("opcode")

    monkeypatch.setattr("tests.engine.fuzz.run.cpu_program", broken)
    found = check(one(["u0 += 1;"]), [Setting()])
    assert isinstance(found, Difference) and found.kind.startswith("KeyError")


def test_it_finds_fills_that_are_not_the_filling_value(monkeypatch: pytest.MonkeyPatch):
    """Fault 3 put back: a lane that is not active gives the lane's own value instead of its fill."""

    def own_value(up: bool, arrived: simd.Arrived) -> simd.Results:
        results = {}
        for lane, (own, fill, delta, _) in arrived.items():
            read = lane - delta if up else lane + delta
            results[lane] = arrived[read][0] if read in arrived else own if 0 <= read < 32 else fill
        return results

    monkeypatch.setattr(simd, "_shuffle_and_fill", own_value)
    cases = (case(seed) for seed in range(200))
    found = (check(one, []) for one in cases if "fill" in one.features)
    assert any(f is not None and f.kind == "claim" for f in found)


def test_the_record_counts_programs_before_which_none_is_missing(tmp_path):
    path = tmp_path / "runs.jsonl"
    recorder = Recorder("", path=path)
    for seed, kind in ((1, "same"), (0, "refused"), (3, "same")):
        recorder.done(seed, kind)
    recorder.write()
    assert [(r.first, r.end, r.kinds) for r in runs(path)] == [(0, 2, {"same": 1, "refused": 1})]
    later = Recorder("", path=path)
    later.done(2, "values")
    later.write()
    assert following("", path) == 3 and following("spaces", path) == 0
    assert [r.kinds for r in runs(path)] == [{"same": 1, "refused": 1}, {"values": 1}]


def test_programs_of_the_record_agree():
    assert [r for r in runs() if set(r.kinds) - {"same", "refused"}] == []

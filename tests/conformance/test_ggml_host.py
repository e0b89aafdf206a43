"""The runner of llama.cpp's test-backend-ops, over a program that answers as the suite does."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread

import pytest
from conformance.ggml_host import command, page, state, suite
from conformance.ggml_host.state import Outcome

# Cases in the suite's order, whatever was asked for: NEG fails, and the program dies at DIV.
ANSWERS = """#!{python}
import os, sys
asked = sys.argv[sys.argv.index("-o") + 1]
for case in ("ADD(type=f32,n=1)", "NEG(type=f16)", "DIV(type=f32)", "ADD(type=f16,n=2)"):
    if case in asked:
        print("compiling pipeline: base = 'k'", flush=True)
        if case.startswith("DIV"):
            print("the device is lost", flush=True)
            os.abort()
        if case.startswith("NEG"):
            print("[NEG] NMSE = 1.0 > 0.0000001")
        print(f"  {{case}}: \\x1b[1;3m" + ("FAIL" if case.startswith("NEG") else "OK") + "\\x1b[0m", flush=True)
"""
CASES = ["ADD(type=f32,n=1)", "NEG(type=f16)", "DIV(type=f32)", "ADD(type=f16,n=2)"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "program"
    made.write_text(ANSWERS.format(python=sys.executable))
    made.chmod(0o755)
    monkeypatch.setattr(suite, "PROGRAM", made)
    monkeypatch.setattr(suite, "LOG", tmp_path / "log")
    monkeypatch.setattr(suite, "environment", dict)


def test_a_case_that_ends_the_program_is_told_and_the_rest_is_run(program: None) -> None:
    told: dict[str, Outcome] = {}
    suite.run(CASES, 60, told.__setitem__)
    assert list(told) == CASES
    assert [told[case].passed for case in CASES] == [True, False, False, True]
    assert told[CASES[1]].words == "[NEG] NMSE = 1.0 > 0.0000001"
    assert told[CASES[2]].words == "the program ended with SIGABRT: the device is lost"
    assert told[CASES[0]].compiled == 1 and told[CASES[0]].cold > 0


def test_every_operation_is_begun_first_and_the_largest_come_last_by_turns() -> None:
    cases = [f"MUL_MAT({n})" for n in range(8)] + [f"ADD({n})" for n in range(8)] + ["NEG(0)"]
    cases += [f"CONV_2D({n})" for n in range(8)]
    order = suite.ordered(cases, first=2, size=2)
    assert sorted(order) == sorted(cases)
    assert order[:7] == ["NEG(0)", "ADD(0)", "ADD(4)", "CONV_2D(0)", "CONV_2D(4)", "MUL_MAT(0)", "MUL_MAT(4)"]
    assert order[7:13] == [f"ADD({n})" for n in (1, 2, 3, 5, 6, 7)]
    assert order[13:17] == ["MUL_MAT(1)", "MUL_MAT(2)", "CONV_2D(1)", "CONV_2D(2)"]


def test_the_page_counts_what_was_run_and_what_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(state, "SLICE", tmp_path / "none")
    done = {CASES[0]: Outcome(True, "", 3.0, 1, 0.5, "abc", "NEON"), CASES[1]: Outcome(False, "NMSE", 2.0)}
    page.write(suite.grouped(CASES), done)
    text = (tmp_path / "page.md").read_text()
    assert (
        "2 of 3 operations, 2 of 4 cases run: 1 passed, 1 failed. Of them 1 ran a second time: 3 s cold,"
        in text
    )
    assert "| ADD | 2 | 1 | 0 | 1 | 3 | 0.50 |\n| DIV | 1 | 0 | 0 | 1 | 0 |  |\n" in text
    assert (
        "\nVerdicts: 1 of earlier commits, which were not noted.\nVerdicts on NEON: 1 of commit abc.\n"
        in text
    )
    assert "## Failed\n- `NEG(type=f16)`: NMSE\n" in text


def test_lanes_take_batches_side_by_side_and_say_which_code_ran(
    program: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(command, "PLACE", tmp_path)
    monkeypatch.setattr(state, "STATE", tmp_path / "cases.json")
    monkeypatch.setattr(command, "commit", lambda: "abc+")
    done: dict[str, Outcome] = {}
    run = command.Run(CASES, done, warm=False, each=60)
    batches = [CASES[:1], CASES[1:2], CASES[3:]]
    lanes = [Thread(target=run.lane, args=(n, batches, 1e9)) for n in range(2)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    assert {case: o.passed for case, o in done.items()} == {CASES[0]: True, CASES[1]: False, CASES[3]: True}
    kept = state.load(suite.grouped(CASES))
    assert {o.commit for o in kept.values()} == {"abc+"} and len(kept) == 3


def test_the_record_is_short_and_says_what_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "STATE", tmp_path / "verdicts.json")
    listed = {"ADD": [f"ADD({n})" for n in range(300)], "NEG": ["NEG(0)"]}
    done = {f"ADD({n})": Outcome(True, "", 0.5, 1, 0.0, "abc", "NEON") for n in range(250) if n != 7}
    done["ADD(7)"] = Outcome(True, "", 2.0, 1, 0.25, "def", "AVX-512")
    done["NEG(0)"] = Outcome(False, "NMSE", 1.0, 1, 0.0, "abc", "NEON")
    state.store(done, listed)
    assert state.load(listed) == done
    assert len(state.STATE.read_text()) < 300
    assert "ADD(299)" not in state.load(listed)
    assert list(state.load({"ADD": listed["ADD"][:3]})) == ["ADD(0)", "ADD(1)", "ADD(2)"]  # a shorter suite

"""Which findings count, and what the exit code says: options, comments, pyproject.toml, a baseline."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from metalloid.cli import group, main
from metalloid.errors import MetalloidError

KERNEL = """#include <metal_stdlib>
using namespace metal;
kernel void fill(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 0.0f / float(i);%s
}
"""
LAUNCH = ("--grid", "5", "--out", "out:4:float32", "--math", "safe")  # M102 an error, M401 a warning


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, comment="", launch=LAUNCH, project=""):
        (tmp_path / "fill.metal").write_text(KERNEL % comment)
        if project:
            (tmp_path / "pyproject.toml").write_text(f"[tool.metalloid]\n{project}\n")
        return CliRunner().invoke(
            group, ("check", "fill.metal", *launch, *words, "--json"), catch_exceptions=False
        )

    return run


def rules(result):
    return sorted(f["rule"] for f in json.loads(result.stdout)["findings"])


def test_without_a_word_every_finding_counts(call):
    assert (rules(call()), call().exit_code) == (["M102", "M401"], 1)


@pytest.mark.parametrize(
    ("words", "left", "code"),
    [
        (("--select", "M102"), ["M102"], 1),
        (("--select", "M4"), ["M401"], 1),
        (("--select", "M1,M4"), ["M102", "M401"], 1),
        (("--ignore", "M102"), ["M401"], 1),
        (("--ignore", "M1, M4"), [], 0),
        (("--select", "M1", "--ignore", "M102"), [], 0),
        (("--ignore", "M1", "--fail-on", "error"), ["M401"], 0),
        (("--fail-on", "error"), ["M102", "M401"], 1),
        (("--fail-on", "never"), ["M102", "M401"], 0),
    ],
)
def test_rules_are_chosen_by_number_and_by_its_beginning(call, words, left, code):
    result = call(*words)
    assert (rules(result), result.exit_code) == (left, code)
    if len(left) < 2:
        assert f"{2 - len(left)} finding" in result.stderr and "left out" in result.stderr


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("  // metalloid: ignore[M102] the caller pads", ["M401"]),
        ("  // metalloid: ignore[M102, M401] both are meant", []),
        ("  // metalloid: ignore[M4]", ["M102"]),
        ("  // metalloid: ignore", ["M102", "M401"]),  # everything is never meant
        ("  // metalloid: ignore[all]", ["M102", "M401"]),
        ("  // ignore M102", ["M102", "M401"]),
    ],
)
def test_comments_in_the_source_ignore_a_rule_at_their_line(call, comment, left):
    assert rules(call(comment=comment)) == left


def test_a_comment_above_the_line_will_do_and_one_elsewhere_will_not(call, tmp_path):
    assert rules(call()) == ["M102", "M401"]
    text = KERNEL % ""
    above = text.replace("    out[i]", "    // metalloid: ignore[M102]\n    out[i]")
    (tmp_path / "fill.metal").write_text(above)
    words = ("check", "fill.metal", *LAUNCH, "--json")
    assert rules(CliRunner().invoke(group, words)) == ["M401"]
    (tmp_path / "fill.metal").write_text("// metalloid: ignore[M102]\n" + text)
    assert rules(CliRunner().invoke(group, words)) == ["M102", "M401"]


def test_settings_of_the_project_count_and_options_go_before_them(call):
    result = call(project='ignore = ["M1"]\nfail-on = "error"')
    assert (rules(result), result.exit_code) == (["M401"], 0)
    result = call("--fail-on", "warning")
    assert (rules(result), result.exit_code) == (["M401"], 1)
    assert rules(call("--ignore", "M4")) == ["M102"]


@pytest.mark.parametrize(
    ("project", "says"),
    [
        ("ignor = ['M1']", "has no setting 'ignor'; there are select, ignore, fail-on"),
        ("ignore = ['X1']", "'X1' is no rule; write M201, or M2"),
        ("fail-on = 'bad'", "is 'bad'; there are note, warning, error, never"),
        ("timeout = -1", "is -1; give a number of seconds above 0"),
        ("timeout = [", "pyproject.toml cannot be read"),
        ("require-launches = 1", "it is true or false"),
        ("baseline = 'nothing.json'", "there is no baseline nothing.json; --write-baseline"),
    ],
)
def test_wrong_settings_are_a_sentence(call, project, says):
    with pytest.raises(MetalloidError) as error:
        call(project=project)
    assert says in str(error.value)


def test_wrong_options_are_a_sentence_too(call):
    with pytest.raises(MetalloidError, match=r"^--select: 'X1' is no rule; write M201"):
        call("--select", "X1")
    with pytest.raises(MetalloidError, match=r"^--timeout is -1"):
        call("--timeout", "-1")


def test_a_baseline_holds_what_is_known_and_new_findings_count(call, tmp_path):
    assert call("--write-baseline", "known.json").exit_code == 0
    result = call("--baseline", "known.json")
    assert (rules(result), result.exit_code) == ([], 0)
    assert "2 findings left out: 2 in the baseline" in result.stderr
    moved = (tmp_path / "fill.metal").read_text().replace("using", "\n\nusing")
    (tmp_path / "fill.metal").write_text(moved)  # a line number is no part of it
    words = ("check", "fill.metal", *LAUNCH, "--baseline", "known.json", "--json")
    assert rules(CliRunner().invoke(group, words)) == []
    (tmp_path / "fill.metal").write_text(moved.replace("out[i] = ", "out[i + 1] = "))
    assert rules(CliRunner().invoke(group, words)) == ["M102", "M401"]
    (tmp_path / "known.json").write_text("{}")
    with pytest.raises(MetalloidError, match=r"known\.json is no baseline"):
        call("--baseline", "known.json")


def test_launches_can_be_required_and_limited(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("print('hello')\n")
    result = CliRunner().invoke(group, ["check", "job.py"])
    assert result.exit_code == 0 and "no kernel was launched" in result.stderr
    assert CliRunner().invoke(group, ["check", "job.py", "--require-launches"]).exit_code == 1
    (tmp_path / "spin.metal").write_text(
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void spin(device atomic_uint* x) {\n"
        "    while (atomic_load_explicit(x, memory_order_relaxed) == 0) {}\n}\n"
    )
    words = ["check", "spin.metal", "--grid", "1", "--arg", "x=zeros:1:uint32", "--timeout", "0.3"]
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 1 and "stopped early: still running after 0.3 s" in result.stdout


def test_a_test_suite_has_the_projects_settings(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.metalloid]\nignore = ["M102"]\n')
    (tmp_path / "test_it.py").write_text(
        "import numpy as np\nimport metalloid as mt\n"
        'K = mt.device().library("kernel void f(device float* x, uint i [[thread_position_in_grid]])'
        ' { x[i] = i; }")["f"]\n'
        "def test_it():\n    K(np.zeros(3, np.float32), grid=4)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--metalloid-check"]
    from importlib.metadata import entry_points

    if not any(p.value == "metalloid.pytest_plugin" for p in entry_points(group="pytest11")):
        command[4:4] = ["-p", "metalloid.pytest_plugin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout
    (tmp_path / "pyproject.toml").write_text("")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1 and "M102" in done.stdout
    (tmp_path / "pyproject.toml").write_text("[tool.metalloid]\nignor = []\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 4 and done.stderr.startswith(
        "ERROR: [tool.metalloid] of pyproject.toml has no setting"
    )
    assert "Traceback" not in done.stderr
    (tmp_path / "pyproject.toml").write_text("[tool.metalloid]\ntimeout = 0.3\n")
    (tmp_path / "test_it.py").write_text(
        "import numpy as np\nimport metalloid as mt\n"
        'K = mt.device().library("""#include <metal_stdlib>\nusing namespace metal;\n'
        "kernel void f(device atomic_uint* x) { while (atomic_load_explicit(x, memory_order_relaxed) == 0) {} }"
        '""")["f"]\n'
        "def test_it():\n    K(np.zeros(1, np.uint32), grid=1)\n"
    )
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1 and "still running after 0.3 s" in done.stdout, done.stdout


EXITS = {
    "clean": (("rule", "M201"), 0, ""),
    "findings": (("run", "fill.metal", *LAUNCH), 1, "M102 out-of-bounds write"),
    "option": (("run", "fill.metal", "--grid", "four"), 2, "'four' is no size"),
    "usage": (("rule", "M999"), 2, "there is no rule"),
    "no file": (("lint", "nothing.metal"), 2, "does not exist"),
    "device": (("run", "fill.metal", *LAUNCH, "abacus"), 3, "there is no device 'abacus'"),
}


@pytest.mark.parametrize(("words", "code", "says"), EXITS.values(), ids=EXITS)
def test_exit_codes_say_what_happened_and_errors_are_no_tracebacks(tmp_path, words, code, says):
    (tmp_path / "fill.metal").write_text(KERNEL % "")
    environment = dict(os.environ)
    if words[-1] == "abacus":
        environment["METALLOID_DEVICE"], words = "abacus", words[:-1]
    command = [sys.executable, "-m", "metalloid", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert says in done.stderr


def test_a_mistake_of_metalloid_itself_is_a_sentence_too(monkeypatch, capsys):
    import metalloid.cli

    def broken():
        raise KeyError("lost")

    monkeypatch.setattr(metalloid.cli, "group", broken)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 3
    assert said.startswith("metalloid failed: KeyError: 'lost' (test_control.py:") and "Traceback" not in said
    monkeypatch.setenv("METALLOID_TRACEBACK", "1")
    with pytest.raises(SystemExit):
        main()
    assert "Traceback" in capsys.readouterr().err

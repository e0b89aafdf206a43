"""Everything that starts with `pip install metalloid`, from an empty environment with the wheel: `make installed`.

Needs the network, a minute for the packages, and more where PyTorch is installed for its test.
"""

from __future__ import annotations

import json

import pytest

from tests.installed.conftest import MLX

pytestmark = pytest.mark.installed


def test_nothing_is_served_before_it_is_asked_for(say):
    done = say("python job.py 8", METALLOID="1")
    assert (done.returncode, done.stdout) == (5, "metal False\n")


def test_a_script_and_a_module_run_without_edits(say):
    for line in ("metalloid run job.py 80", "metalloid run -m job 80"):
        done = say(line)
        assert (done.returncode, done.stdout) == (0, "metal True\n160.0\n"), done.stderr
        assert "compiled functions run uncompiled" in done.stderr


def test_a_script_and_its_tests_are_checked_without_edits(say):
    done = say("metalloid check job.py 100")
    assert done.returncode == 1
    assert "M106 10 of 100 elements of 'out' were never written" in done.stdout
    assert say("metalloid check job.py 90").returncode == 0
    done = say("metalloid check -m pytest -q -p no:cacheprovider")
    assert done.returncode == 1 and "1 passed" in done.stdout and "M106" in done.stdout


def test_pytest_has_its_options_and_its_setting(say, place):
    assert "1 passed" in say("pytest -q -p no:cacheprovider --metalloid").stdout
    done = say("pytest -q -p no:cacheprovider --metalloid-check")
    assert "1 failed" in done.stdout and "M106" in done.stdout
    (place / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmetalloid = "mlx torch check"\n')
    assert "1 failed" in say("pytest -q -p no:cacheprovider").stdout
    (place / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmetalloid = "mlx check"\n[tool.metalloid]\nignore = ["M106"]\n'
    )
    assert "1 passed" in say("pytest -q -p no:cacheprovider").stdout
    (place / "pyproject.toml").unlink()


def test_an_environment_is_activated_and_deactivated(say):
    assert say("metalloid activate").returncode == 0
    assert say("python job.py 80", METALLOID="1").stdout == "metal True\n160.0\n"
    done = say("python job.py 100", METALLOID_CHECK="1")
    assert "M106" in done.stderr
    assert say("python job.py 80").stdout == "metal False\n"
    assert say("metalloid deactivate").returncode == 0
    assert say("python job.py 80", METALLOID="1").stdout == "metal False\n"


def test_lint_points_home_in_four_formats(say, place):
    (place / "wrong.py").write_text(MLX.replace("2 * x[i]", "2 * y[i]"))
    assert "wrong.py:9:30: error: M602 'y' is not declared" in say("metalloid lint wrong.py").stdout
    assert say("metalloid lint --format github wrong.py").stdout.startswith("::error file=wrong.py,line=9")
    assert json.loads(say("metalloid lint --format sarif wrong.py").stdout)["version"] == "2.1.0"
    assert json.loads(say("metalloid lint --format json wrong.py").stdout)[0]["diagnostics"][0]["line"] == 9
    assert say("metalloid lint nothing.metal").returncode == 2
    (place / "wrong.py").unlink()

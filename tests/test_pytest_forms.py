"""`pytest --metalloid` and its ini option: a project's tests find Metal without a line in its conftest.py."""

from __future__ import annotations

import pytest

pytest.importorskip("mlx.core")
pytest_plugins = ["pytester"]

CONFTEST = """
import mlx.core as mx
METAL = mx.metal.is_available()
"""
TESTS = """
import mlx.core as mx
import pytest
from conftest import METAL

@pytest.mark.skipif(not METAL, reason="needs Metal")
def test_half():
    kernel = mx.fast.metal_kernel(name="half", input_names=["x"], output_names=["out"],
        source="uint i = thread_position_in_grid.x; if (i < 5) out[i] = x[i];")
    (out,) = kernel(inputs=[mx.ones((10,))], output_shapes=[(10,)], output_dtypes=[mx.float32],
                    grid=(10, 1, 1), threadgroup=(10, 1, 1))
    assert out[0] == 1
"""


@pytest.fixture
def run(pytester):
    from importlib.metadata import entry_points

    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    installed = "metalloid.pytest_plugin" in {p.value for p in entry_points(group="pytest11")}
    plugin = () if installed else ("-p", "metalloid.pytest_plugin")
    return lambda *words: pytester.runpytest_subprocess(
        *plugin, "-p", "no:cacheprovider", *words, timeout=200
    )


def test_without_it_nothing_changes(run):
    run().assert_outcomes(skipped=1)


def test_the_option_gives_metal_to_every_test_and_conftest(run):
    run("--metalloid").assert_outcomes(passed=1)


def test_the_option_that_checks_gives_metal_too(run):
    result = run("--metalloid-check")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*M106 5 of 10 elements of 'out' were never written*"])


@pytest.mark.parametrize(
    ("words", "outcome"),
    [("mlx torch check", "failed"), ("check", "failed"), ("mlx", "passed"), ("torch", "skipped")],
)
def test_the_ini_option_names_forms_and_the_check(run, pytester, words, outcome):
    pytester.makepyprojecttoml(f'[tool.pytest.ini_options]\nmetalloid = "{words}"\n')
    run().assert_outcomes(**{outcome: 1})


def test_a_word_that_is_no_form_is_said_so(run, pytester):
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nmetalloid = "cuda"\n')
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *there is no form 'cuda'; the forms are mlx, torch*`check`*"])

"""The public names: what `dir` shows, how each object looks, what a notebook gets."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.version import __version__

ADD = "kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }"


def test_dir_has_what_a_user_may_want_and_no_modules_that_happen_to_be_imported():
    shown = [name for name in dir(mt) if not name.startswith("__")]
    assert shown == [name for name in sorted(mt.__all__) if not name.startswith("__")]
    assert not {"os", "lazy", "annotations", "TYPE_CHECKING", "config"} & set(dir(mt))
    for name in mt.__all__:
        assert getattr(mt, name) is not None, name


def test_modules_of_the_package_are_found_by_their_names():
    code = "import metalloid as mt; import sys; assert 'numpy' not in sys.modules; print(mt.kernels.rms_norm.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rms_norm\n"
    with pytest.raises(AttributeError, match="no attribute 'kernel'"):
        _ = mt.kernel


def test_the_version_is_in_one_place():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/metalloid/version.py"
    assert mt.__version__ == __version__


def made():
    """One of each public object."""
    device = mt.device()
    library = device.library(ADD, name="add.metal")
    kernel, x = library["add"], np.zeros(8, np.float32)
    report = mt.check(kernel, x[:4], 1.0, grid=8)
    commands = device.queue("q").command_buffer("c")
    encoder = commands.compute_encoder()
    encoder.set_pipeline(kernel)
    cases = mt.cases({"x": "n"}, sizes={"n": (3, 8)})
    result = mt.compare(lambda x: x + 1, lambda x: x, cases, progress=False)
    with device.trace() as trace:
        kernel(x, 1.0, grid=8)
    yield from (device, library, kernel, device.zeros(4), device.pool, trace, mt.SharedEvent())
    yield from (device.queue("q"), commands, encoder)
    yield from (report, report.findings[0], report.launches[0], report.explain())
    yield from (mt.Accelerator(), mt.KernelDefinition("add", ADD * 9), result, result.example, cases[0])
    yield from (mt.Input("n"), mt.kernels.Cache(1, 2, 8), mt.kernels.PagedCache(4, 2, 8, 8))
    yield mt.measure.measure(kernel, x, 1.0, grid=8, seconds=0.001)
    yield mt.mlx.metal_kernel("k", ["x"], ["y"], "y[0] = x[0];")
    encoder.end_encoding()
    commands.commit()


def test_every_public_object_shows_what_it_is_in_a_line():
    for thing in made():
        text = repr(thing)
        assert " object at 0x" not in text and "\n" not in text, text
        assert 5 < len(text) < 220, text


def test_reprs_say_what_matters():
    shown = {type(thing).__name__: repr(thing) for thing in made()}
    assert shown["Library"] == "<library add.metal: add>"
    assert shown["Kernel"] == "<kernel add(x, a)>"
    assert re.match(r"<error M10\d at add.metal:1:", shown["Finding"])
    assert shown["Comparison"].startswith("<compare: 28 of 38 cases are wrong")
    assert shown["Example"].startswith("<example n=")


def test_the_one_liner_returns_what_was_written():
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    assert mt.metal_kernel("y[i] = 2 * x[i];", y=y, x=x) is y  # not the last one
    a, b = mt.metal_kernel("x[i] += 1; y[i] = x[i];", x=x, y=y)
    assert a is x and b is y and y.tolist() == [1, 2, 3, 4]
    assert mt.metal_kernel("float unused = x[i];", x=x) is None


def test_a_notebook_shows_the_report_and_leaves_the_notebook_alone():
    library = mt.device().library(ADD, name="a & b.metal")
    report = mt.check(library["add"], np.zeros(4, np.float32), 1.0, grid=8)
    html = report._repr_html_()
    assert html.startswith('<div class="metalloid embedded">') and html.count("<style>") == 1
    assert "M10" in html and "<html" not in html and "a &amp; b.metal" in html and " id=" not in html
    style = html.split("<style>")[1].split("</style>")[0].strip()
    assert style.startswith(".metalloid {") and style.endswith("}")  # nothing outside the class
    depth, outside = 0, ""
    for character in style:
        depth += (character == "{") - (character == "}")
        outside += character if depth == 0 else ""
    assert outside.strip() == ".metalloid }"

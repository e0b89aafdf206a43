"""`metalloid lint`: what it finds, where it looks, how it says it, and what does not count."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalloid.cli import group
from metalloid.errors import MetalloidError

ROOT = Path(__file__).parents[1]
PYTHON = '''import numpy as np
import metalloid as mt
from pathlib import Path

TEXT = """
kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
    x[i] = undeclared;
}
"""
device = mt.device()
library = device.library(TEXT)
fine = device.library("kernel void g(device float* x) { x[0] = 1; }")
from_file = device.library(Path("x.metal"))
books = shelf.library("a string that is no kernel")
x = np.zeros(8, np.float32)
mt.metal_kernel("y[index[i]] = 2 * x[i];", x=x, y=x, index=np.zeros(8, np.int32))
mt.metal_kernel("""
    float v = x[i];
    y[index[i]] = v + missing;
""", x=x, y=x, index=np.zeros(8, np.int32), n=3)


def with_pyobjc(device):
    return device.newLibraryWithSource_options_error_(
        "kernel void h(device float* x) { x[0] = nowhere; }", None, None
    )
'''
METAL = "kernel void f(device float* x [[buffer(0)]]) { x[0] = y; }\n"


@pytest.fixture
def lint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, stdin="", **files):
        for name, text in files.items():
            stem, _, suffix = name.rpartition("_")
            path = tmp_path / f"{stem.replace('__', '/')}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return CliRunner().invoke(group, ("lint", *words), input=stdin, catch_exceptions=False)

    return run


def places(result):
    return re.findall(r"^(\S+:\d+):\d+: error: (M\d+ '\w+')", result.output, re.MULTILINE)


def test_every_call_that_takes_metal_text_is_found(lint):
    result = lint("job.py", job_py=PYTHON)
    assert places(result) == [
        ("job.py:7", "M602 'undeclared'"),
        ("job.py:19", "M602 'missing'"),
        ("job.py:25", "M602 'nowhere'"),
    ]
    assert result.exit_code == 1 and result.output.endswith("job.py: 5 kernels, 3 mistakes\n")


def test_folders_are_searched_and_other_peoples_files_are_not(lint):
    files = {"src__a_metal": METAL, "src__deep__b_py": PYTHON, "src__.venv__c_metal": METAL}
    result = lint("src", **files, src__d_py="print('no kernel')\n", src__build__e_metal=METAL)
    named = {place.rpartition(":")[0] for place, _ in places(result)}
    assert named == {"src/a.metal", "src/deep/b.py"} and "d.py" not in result.output
    assert lint("empty", empty__x_py="").output == "empty/x.py: 0 kernels, no mistakes\n"
    with pytest.raises(MetalloidError, match="nothing does not exist"):
        lint("nothing")


def test_stdin_is_read(lint):
    result = lint("-", stdin=METAL)
    assert result.exit_code == 1 and places(result) == [("stdin:1", "M602 'y'")]
    result = lint("-", "--stdin-filename", "job.py", stdin=PYTHON)
    assert [place for place, _ in places(result)] == ["job.py:7", "job.py:19", "job.py:25"]


def test_formats_say_the_same(lint):
    said = json.loads(lint("--format", "json", "a.metal", a_metal=METAL).stdout)
    assert [d["rule"] for d in said[0]["diagnostics"]] == ["M602"]
    assert lint("--json", "a.metal").stdout == lint("--format", "json", "a.metal").stdout
    (result,) = json.loads(lint("--format", "sarif", "a.metal").stdout)["runs"][0]["results"]
    assert result["ruleId"] == "M602" and result["level"] == "error"
    region = result["locations"][0]["physicalLocation"]
    assert (region["artifactLocation"]["uri"], region["region"]["startLine"]) == ("a.metal", 1)
    annotation = lint("--format", "github", "a.metal").stdout
    assert annotation.startswith(
        "::error file=a.metal,line=1,title=metalloid M602,col=55::'y' is not declared%0A"
    )
    assert lint("--format", "github", "b.metal", b_metal=METAL.replace("= y", "= 1")).stdout == ""


def test_what_does_not_count_is_left_out(lint, tmp_path):
    assert lint("--ignore", "M602", "a.metal", a_metal=METAL).exit_code == 0
    assert lint("--select", "M603", "a.metal").exit_code == 0
    commented = METAL.rstrip() + " // metalloid: ignore[M602] y comes with the build\n"
    result = lint("a.metal", a_metal=commented)
    assert result.exit_code == 0 and "1 finding left out: 1 by a comment in the source" in result.stderr
    assert lint("--write-baseline", "known.json", "a.metal", a_metal=METAL).exit_code == 0
    assert lint("--baseline", "known.json", "a.metal").exit_code == 0
    (tmp_path / "pyproject.toml").write_text('[tool.metalloid]\nbaseline = "known.json"\n')
    assert lint("a.metal").exit_code == 0
    assert lint("a.metal", a_metal=METAL.replace("x[0]", "x[1]")).exit_code == 1


def test_the_hook_and_the_action_call_what_there_is():
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert re.search(r"^  entry: metalloid lint$", hook, re.MULTILINE)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert "metalloid" in scripts
    action = (ROOT / "action.yml").read_text()
    for words in re.findall(r"metalloid (\w+) --format github", action):
        options = {o for p in group.get_command(None, words).params for o in p.opts}
        assert {"--format", "--sarif"} - ({"--sarif"} if words == "lint" else set()) <= options


def test_a_mistake_in_a_body_is_not_blamed_on_a_whole_kernel_of_another_string(lint):
    body = "    uint elem = thread_position_in_grid.x;\n    out[elem] = imp[elem];\n"
    whole = "kernel void add(device float* a) {\n    a[0] = 1;\n}\n"
    made = f'k = mx.fast.metal_kernel(name="k", input_names=["inp"], output_names=["out"], source="""\n{body}""")\n'
    other = f's = torch.mps.compile_shader("""\n{whole}""")\n'
    said = lint("m.py", m_py=f"import mlx.core as mx\nimport torch\n{made}{other}").output
    assert "m.py:5:17: error: M602 'imp' is not declared" in said
    assert "whole kernel" not in said
    wrong = f'k = mx.fast.metal_kernel(name="k", input_names=["a"], output_names=["out"], source="""\n{whole}""")\n'
    assert "'add' is a whole kernel" in lint("w.py", w_py=f"import mlx.core as mx\n{wrong}").output


def test_the_kernels_of_a_library_are_counted_by_their_names(lint):
    two = "kernel void a(device float* x) { x[0] = 1; }\nkernel void b(device float* x) { x[0] = 2; }\n"
    text = f'import torch\ns = torch.mps.compile_shader("""\n{two}""")\n'
    assert lint("m.py", m_py=text).output == "m.py: 2 kernels, no mistakes\n"
    (report,) = json.loads(lint("n.py", "--format", "json", n_py=text).output)
    assert report["kernels"] == ["a", "b"]

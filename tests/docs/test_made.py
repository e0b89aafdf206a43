"""Pages that commands write are what the commands write, and what they say is true."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys

import jsonschema
import pytest
from click.testing import CliRunner
from docsite import api, pictures, schemas, variables

import metalloid as mt
from metalloid.cli import COMMANDS, group
from tests.air.metallib import VERTEX, Function, assembled, container
from tests.air.test_container import COPY
from tests.docs.blocks import ROOT

AGAIN = "make it again: python -m docsite.{}"
SCALE = """kernel void scale(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i];
}
"""
LAUNCH = ["--grid", "16", "--arg", "x=arange:16:float32", "--out", "y:16:float32"]
FAULTY = ["--grid", "17", "--arg", "x=arange:17:float32", "--out", "y:16:float32"]
# The words after `metalloid`, for each document; `reverse.metal` has a race, which has two places.
PRINTED = {
    "check": [["check", "scale.metal", *FAULTY], ["check", "reverse.metal", *pictures.REVERSE.split()[2:]]],
    "lint": [["lint", "scale.metal"], ["lint", "bad.metal"]],
    "run": [["run", "scale.metal", *LAUNCH]],
    "bench": [["bench", "scale.metal", *LAUNCH, "--seconds", "0.01"]],
    "tune": [["tune", "scale.metal", *LAUNCH, "--threadgroup", "16", "--seconds", "0.001"]],
    "rule": [["rule", "M201"]],
    "devices": [["devices"]],
    "chat": [["chat", "--prompt", "Tell me a story.", "--max-tokens", "2"]],
}


def test_public_names_are_those_of_the_docstrings():
    pytest.importorskip("torch", reason="a section of the page is about it")
    pytest.importorskip("mlx.core", reason="a section of the page is about it")
    assert api.PAGE.read_text(encoding="utf-8") == api.page(), AGAIN.format("api")


def test_every_public_name_is_on_the_page_with_a_docstring():
    text = api.PAGE.read_text(encoding="utf-8")
    for name in mt.__all__:
        assert re.search(rf"^###? (?:mt\.)?{name}$", text, re.MULTILINE) or name == "__version__", name
    assert "0x" not in text and " object at" not in text
    for section in api.SECTIONS:
        for name, value in api._names(importlib.import_module(section)):
            assert not callable(value) or api._doc(value), f"{section}.{name} has no docstring"


def test_environment_variables_are_those_that_are_read():
    assert variables.PAGE.read_text(encoding="utf-8") == variables.page(), AGAIN.format("variables")
    read = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        read |= set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", text))
        read |= set(re.findall(r"\"(METALLOID\w*)\" in os\.environ", text))
    known = {*variables.variables(), *variables.OTHERS}
    assert read - {"HOME", "PATH"} <= known, read - known


def test_schemas_and_their_page_are_those_of_the_table():
    for path, text in schemas.files().items():
        assert path.read_text(encoding="utf-8") == text, AGAIN.format("schemas")
    for name in schemas.DOCUMENTS:
        jsonschema.Draft202012Validator.check_schema(schemas.schema(name))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "scale.metal").write_text(SCALE)
    (tmp_path / "bad.metal").write_text("kernel void k(device float* x) { x[0] = __shfl(1); }\n")
    (tmp_path / "reverse.metal").write_text((ROOT / "examples" / "reverse.metal").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_command_prints_is_what_its_schema_says(name, folder):
    for words in PRINTED[name]:
        result = CliRunner().invoke(group, [*words, "--json"], catch_exceptions=False)
        jsonschema.validate(json.loads(result.stdout), schemas.schema(name))


def test_a_baseline_is_what_its_schema_says(folder):
    CliRunner().invoke(group, ["check", "scale.metal", *FAULTY, "--write-baseline", "known.json"])
    data = json.loads((folder / "known.json").read_text())
    assert data["findings"]
    jsonschema.validate(data, schemas.schema("baseline"))


def test_libraries_are_listed_as_the_schema_says(tmp_path):
    code = assembled(COPY)
    (tmp_path / "x.metallib").write_bytes(
        container([Function("copy", code), Function("shade", code, VERTEX)])
    )
    result = CliRunner().invoke(group, ["ls", str(tmp_path / "x.metallib"), "--json"], catch_exceptions=False)
    jsonschema.validate(json.loads(result.stdout), schemas.schema("ls"))


def test_every_command_with_json_has_a_schema():
    for name in COMMANDS:
        command = group.get_command(None, name)
        options = {option for p in command.params for option in p.opts}
        assert "--json" not in options or name in schemas.DOCUMENTS or name == "show", name


def test_schemas_refuse_what_they_do_not_know():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"rule": "M201", "title": "", "text": "", "more": 1}, schemas.schema("rule"))


def test_the_demo_and_the_examples_have_the_same_broken_kernel():
    packaged = ROOT / "src" / "metalloid" / "demo" / "reverse.metal"
    assert packaged.read_text() == (ROOT / "examples" / "reverse.metal").read_text()


def test_the_sizes_of_the_readme_are_near_what_is_measured():
    from docsite.sizes import sizes

    found = {name: size / 1e6 for name, size in sizes().items()}
    (said,) = re.findall(
        r"(\d+) MB on disk: (\d+) of them clang .*?(\d+) LLVM", (ROOT / "README.md").read_text()
    )
    total, clang, llvm = map(int, said)
    assert sum(found.values()) == pytest.approx(total, rel=0.4)  # wheels differ from system to system
    assert found["ziglang"] == pytest.approx(clang, rel=0.4) and found["llvmlite"] == pytest.approx(
        llvm, rel=0.4
    )


def test_pictures_are_small_and_there():
    for name in pictures.PAGES:
        for file in (f"{name}.png", f"{name}-dark.png"):
            assert 10_000 < (pictures.PICTURES / file).stat().st_size < 300_000


def test_installing_none_of_it_costs_nothing():
    code = "import metalloid, sys; print({'mkdocs', 'numpy', 'rich', 'metalloid.web'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

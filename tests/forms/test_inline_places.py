"""A mistake in an inline kernel is told at the Python line that wrote it, in the words of that line."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalloid.forms.lint import lint_python

HEAD = "import mlx.core as mx\n"
TAIL = '\nk = mx.fast.metal_kernel(name="k", input_names=["x"], output_names=["out"], source=source)\n'

# way: (the Python that makes `source`, the line of the mistake, the words under the caret)
WAYS = {
    "a field before it": ('T = "float"\nsource = f"""\n  {T} a = bogus;\n"""', "  {T} a = bogus;", "bogus"),
    "a field on an earlier line": (
        'T = "float"\nsource = f"""\n  {T} a = 1;\n  out[0] = a + bogus;\n"""',
        "  out[0] = a + bogus;",
        "bogus",
    ),
    "a doubled brace before it": (
        'n = 3\nsource = f"""\n  if (x[0] > {n}) {{ out[0] = bogus; }}\n"""',
        "  if (x[0] > {n}) {{ out[0] = bogus; }}",
        "bogus",
    ),
    "inside the field": ('v = "bogus"\nsource = f"""\n  out[0] = {v};\n"""', "  out[0] = {v};", "{v}"),
    "half in the field": (
        'n = 4\nsource = f"""\n  out[0] = bogus{n};\n"""',
        "  out[0] = bogus{n};",
        "bogus{n}",
    ),
    "after a value of many lines": (
        'body = "float a = 1;\\nfloat b = 2;"\nsource = f"""\n  {body}\n  out[0] = bogus;\n"""',
        "  out[0] = bogus;",
        "bogus",
    ),
    "inside a value of many lines": (
        'body = """\n  float a = 1;\n  out[1] = bogus;\n"""\nsource = f"""\n  {body}\n  out[0] = a;\n"""',
        "  out[1] = bogus;",
        "bogus",
    ),
    "format": (
        'source = """\n  {T} a = bogus;\n  out[0] = a;\n""".format(T="float")',
        "  {T} a = bogus;",
        "bogus",
    ),
    "replace": (
        'source = """\n  TYPE a = bogus;\n  out[0] = a;\n""".replace("TYPE", "float")',
        "  TYPE a = bogus;",
        "bogus",
    ),
    "a sum": (
        'T = "float"\nsource = T + """ a = 1;\n  out[0] = a +""" + " bogus;"',
        '  out[0] = a +""" + " bogus;"',
        "bogus",
    ),
    "literals side by side": (
        'source = ("float a = 1;\\n"\n  "out[0] = a + bogus;\\n")',
        '  "out[0] = a + bogus;\\n")',
        "bogus",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_message_shows_the_line_the_user_wrote(way: str, tmp_path: Path) -> None:
    python, line, words = WAYS[way]
    file = tmp_path / "model.py"
    file.write_text(HEAD + python + TAIL, encoding="utf-8")
    (told,) = lint_python(file, lambda done, total: None).diagnostics
    assert told.line == (HEAD + python).split("\n").index(line) + 1
    assert told.excerpt == line
    assert line[told.column - 1 :][: told.length] == words

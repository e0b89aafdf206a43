"""The page on comparing is true: its examples run, and its text is what they print."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run_and_print_what_the_page_says(capsys):
    space: dict[str, object] = {}
    first, *rest = blocks("python")
    exec(compile(first, "comparing.md", "exec"), space)
    (shown,) = blocks("text")
    assert capsys.readouterr().out == shown
    for text in rest:
        exec(compile(text, "comparing.md", "exec"), space)


def test_every_layout_and_kind_of_values_is_on_the_page():
    from metalloid.comparing.inputs import LAYOUTS, VALUES

    for name in (*LAYOUTS, *VALUES):
        assert f"`{name}`" in PAGE

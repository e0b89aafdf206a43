"""The page on comparing is complete; `tests/docs` runs its examples."""

from __future__ import annotations

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")


def test_every_layout_and_kind_of_values_is_on_the_page():
    from metalloid.comparing.inputs import LAYOUTS, VALUES

    for name in (*LAYOUTS, *VALUES):
        assert f"`{name}`" in PAGE

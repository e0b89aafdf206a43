"""The examples of the rule pages that are Python: the wrong one breaks its rule, the right one breaks none."""

import contextlib

import pytest

import metalloid as mt
from metalloid.rules import all_rules

PAGES = [page for page in all_rules() if "```python wrong" in page.text]


def found_in(text, number, tmp_path):
    path = tmp_path / f"{number}.py"
    path.write_text(text)
    names = {}  # alive until the block ends, as a module's are
    with contextlib.suppress(mt.LaunchError), mt.checked() as report:
        exec(compile(text, str(path), "exec"), names)
    return report


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.number)
def test_the_wrong_example_breaks_the_rule_and_the_right_one_none(page, tmp_path):
    wrong = found_in(page.wrong, page.number, tmp_path)
    assert [f.rule for f in wrong.findings] == [page.number], wrong.text()
    assert wrong.findings[0].hint
    assert wrong.ok == (page.number >= "M5")  # what only costs time is a note
    right = found_in(page.right, page.number, tmp_path)
    assert not right.findings, right.text()
    print(wrong.text())

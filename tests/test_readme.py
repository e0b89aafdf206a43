"""The README's Python runs as it stands."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_examples_run(capsys):
    names = {}
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), names)
    said = next(text for text in blocks("") if text.startswith("scatter.metal"))
    rule, _, _ = said.partition(": two threads")  # which two is the machine's choice
    assert capsys.readouterr().out.startswith(rule)


def test_its_commands_exist():
    from metalloid.cli import COMMANDS

    assert set(re.findall(r"^metalloid (\w+)", README, re.MULTILINE)) <= set(COMMANDS)

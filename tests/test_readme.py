"""The README's Python runs as it stands."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    (example,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})


def test_its_commands_exist():
    from metalloid.cli import COMMANDS

    assert set(re.findall(r"^metalloid (\w+)", README, re.MULTILINE)) <= set(COMMANDS)

"""The page about the Llama: its options are all there, and the story it tells is the one that comes."""

import re
from pathlib import Path

from click.testing import CliRunner

from metalloid.cli import group
from metalloid.cli.chat import command

PAGE = (Path(__file__).parents[2] / "docs" / "llama.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page():
    options = {name for option in command.params for name in option.opts if name.startswith("--")}
    assert options - set(re.findall(r"--[a-z-]+", PAGE)) == set()


def test_the_story_is_the_one_that_comes():
    (prompt, seed, story) = re.search(
        r'^\$ metalloid chat --prompt "(.*?)" --seed (\d+)\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL
    ).groups()
    result = CliRunner().invoke(group, ["chat", "--prompt", prompt, "--seed", seed])
    assert result.stdout.split() == story.split() and len(story.split()) > 50

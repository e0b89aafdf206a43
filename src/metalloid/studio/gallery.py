"""Broken kernels to learn from: the examples of the rules, each with the launch that shows the mistake.

What is wrong, why it happens and how it is mended stands on the rule's own page, so it is written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from metalloid.checker.page.rules import rule_pages
from metalloid.findings import Finding
from metalloid.rules import rule

Form = dict[str, dict[str, str]]
FAMILIES = {
    "1": "Memory",
    "2": "Races and barriers",
    "3": "Launches",
    "4": "Numbers",
    "5": "Cost",
    "6": "The language",
}


@dataclass(frozen=True)
class Launch:
    """How an example is launched; the mended one may take an argument more."""

    grid: str
    inputs: str  # "out=output:64 x=random:64 n=64"
    threadgroup: str = ""
    mended: str = ""  # the inputs of the mended kernel, where they differ

    def form(self, mended: bool) -> dict[str, Any]:
        words = (self.mended or self.inputs) if mended else self.inputs
        return {
            "grid": self.grid,
            "threadgroup": self.threadgroup,
            "inputs": dict(map(_field, words.split())),
        }


def _field(word: str) -> tuple[str, dict[str, str]]:
    name, _, value = word.partition("=")
    fill, found, rest = value.partition(":")
    if not found:
        return name, {"fill": "value", "value": value}
    shape, _, number = rest.partition(":")
    return name, {"fill": fill, "shape": shape, "value": number}


# By rule. Sizes are counted in elements; `output` is memory that nobody has set.
LAUNCHES = {
    "M101": Launch("64", "out=output:64 x=arange:64", mended="out=output:64 x=arange:64 n=64"),
    "M102": Launch("64", "y=output:50 x=arange:64", mended="y=output:50 x=arange:64 n=50"),
    "M104": Launch("64", "out=output:1 x=arange:50 n=50", "64"),
    "M105": Launch("64", "out=output:64 x=arange:64"),
    "M106": Launch("17", "y=output:67 x=arange:67 n=67"),
    "M107": Launch("64", "out=output:64 x=arange:64"),
    "M201": Launch("128", "out=output:1 x=arange:128", "128"),
    "M202": Launch("64", "grad=zeros:8 indices=cycle:64:8 v=ones:64", "64"),
    "M203": Launch("128", "x=arange:128 n=128", "32", "x=arange:128 out=output:128"),
    "M204": Launch("128", "out=output:100 x=arange:100 n=100", "64"),
    "M205": Launch("64", "out=output:64 x=arange:64", "64"),
    "M206": Launch("32", "out=output:32 x=arange:32", "32"),
    "M207": Launch("64", "out=output:40 x=arange:40 n=40", "64"),
    "M208": Launch("256", "out=output:2 x=ones:256", "128"),
    "M305": Launch("100", "out=output:200 x=arange:200", mended="out=output:200 x=arange:200 n=200"),
    "M401": Launch("64", "out=output:64 x=ones:64 total=cycle:8:4"),
    "M402": Launch("3", "out=output:3 x=full:4096:0.1 n=1365"),
    "M403": Launch("64", "out=output:64 x=full:64:300 n=64"),
    "M404": Launch("8", "out=output:8 x=arange:64 D=8"),
    "M405": Launch("64", "out=output:64 x=ones:64 n=40"),
    "M406": Launch("256", "out=zeros:1 x=cycle:256:37", "64"),
    "M407": Launch("64", "out=output:64 sums=arange:64 counts=cycle:64:8"),
    "M408": Launch("8", "out=output:8 x=full:512:1000"),
    "M501": Launch("64,64", "a=ones:64x64 b=output:64x64 width=64", "32,8"),
    "M502": Launch("64,64", "a=ones:64x64 b=output:64x64 width=64", "32,32"),
    "M601": Launch("64", "x=arange:64"),
    "M602": Launch("64", "x=arange:64", mended="x=arange:64 alpha=2"),
    "M603": Launch("64", "x=arange:64"),
}


@dataclass(frozen=True)
class Lesson:
    """A broken kernel, how to launch it, and the page that explains it."""

    rule: str
    title: str
    family: str
    first: str  # what is wrong, in a sentence or two
    text: str
    mended: str
    page: str  # HTML

    def listed(self) -> dict[str, str]:
        return {"rule": self.rule, "title": self.title, "family": self.family, "first": self.first}

    def data(self) -> dict[str, Any]:
        launch = LAUNCHES[self.rule]
        return {
            **self.listed(),
            "text": self.text,
            "mended": self.mended,
            "form": launch.form(False),
            "mended_form": launch.form(True),
            "page": self.page,
        }


@cache
def lesson(number: str) -> Lesson | None:
    if number not in LAUNCHES:
        return None
    page = rule(number)
    first = page.text.split("\n", 2)[2].split("\n\n", 1)[0].strip()
    title = page.title[:1].upper() + page.title[1:]
    shown = rule_pages([Finding(number, "")])
    return Lesson(number, title, FAMILIES[number[1]], first, _kernel(page.wrong), _kernel(page.right), shown)


def lessons() -> list[dict[str, str]]:
    """All of them, for a list."""
    return [found.listed() for number in LAUNCHES if (found := lesson(number)) is not None]


def explained(number: str) -> str:
    """The page of any rule, as HTML; a sentence where there is none."""
    return rule_pages([Finding(number, "")]) or f"<p>There is no page for {escape(number)}.</p>"


def _kernel(example: str) -> str:
    """The kernel of an example, which may be Python with the text in a string."""
    before, found, rest = example.partition('"""')
    text = rest.partition('"""')[0] if found else before
    return text.strip("\n") + "\n"

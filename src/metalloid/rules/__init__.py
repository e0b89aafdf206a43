"""The page of each rule: what it means, why it happens, an example, the fix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metalloid.errors import MetalloidError
from metalloid.patterns import pattern
from metalloid.records import dataclass
from metalloid.rules.severities import severity_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_NUMBER = pattern(r"M[1-9][0-9]{2}")


@dataclass(frozen=True)
class Page:
    number: str  # "M603"
    title: str
    text: str  # Markdown

    @property
    def wrong(self) -> str:
        """The example that breaks the rule: a kernel, or Python that launches one."""
        return self._example("wrong")

    @property
    def right(self) -> str:
        """The same, put right."""
        return self._example("right")

    def _example(self, mark: str) -> str:
        found = re.search(rf"^```(?:metal|python) {mark}\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)
        return found[1] if found else ""


def rule(number: str) -> Page:
    """The page of one rule; `number` may be written m603 or 603 as well."""
    wanted = number.strip().upper()
    wanted = wanted if wanted.startswith("M") else "M" + wanted
    file = _folder() / f"{wanted}.md"
    if not _NUMBER.fullmatch(wanted) or not file.is_file():
        known = ", ".join(_numbers())
        raise MetalloidError(f"there is no rule {number!r}; the rules are {known}")
    text = file.read_text(encoding="utf-8")
    title = text.split("\n", 1)[0].removeprefix(f"# {wanted}: ")
    return Page(wanted, title, text)


def all_rules() -> tuple[Page, ...]:
    """Every page, by number."""
    return tuple(rule(number) for number in _numbers())


def index() -> str:
    """docs/rules.md: every rule with its title, its severity and a link to its page."""
    lines = ["# Rules", "", "What each number means; `metalloid rule M201` prints a page.", ""]
    lines += ["Errors and warnings make a report not ok; notes do not.", ""]
    lines += ["| rule | | severity |", "|---|---|---|"]
    lines += [
        f"| [{p.number}](../src/metalloid/rules/{p.number}.md) | {p.title} | {severity_of(p.number)} |"
        for p in all_rules()
    ]
    return "\n".join(lines)


def _folder() -> Traversable:
    # A launch knows severities and reads no page: it need not pay for this import.
    from importlib import resources

    return resources.files(__name__)


def _numbers() -> list[str]:
    names = (entry.name.removesuffix(".md") for entry in _folder().iterdir())
    return sorted(name for name in names if _NUMBER.fullmatch(name))

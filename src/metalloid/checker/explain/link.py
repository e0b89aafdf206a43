"""A chain of questions between a launch and its result; the first that is answered with no explains the result."""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.findings import Finding


def said_of(finding: Finding) -> str:
    """A finding as a link says it."""
    place = f" (line {finding.location.line})" if finding.location else ""
    return f"{finding.rule} {finding.message}{place}"


@dataclass(frozen=True)
class Link:
    """One link of the chain: what holds, or what is broken and what to do."""

    holds: bool
    said: str
    hint: str = ""
    finding: Finding | None = None
    odd: bool = False  # it explains the result, and nothing says that the result is wrong

    def lines(self) -> list[str]:
        first, *rest = self.said.split("\n")
        hint = [f"       {'if that is not meant' if self.odd else 'hint'}: {self.hint}"] if self.hint else []
        mark = "?  " if self.odd else "ok " if self.holds else "NO "
        return [
            f"  {mark}  {first}",
            *(f"       {r}" for r in rest),
            *(hint if self.odd or not self.holds else []),
        ]


@dataclass(frozen=True)
class Explanation:
    """The chain as far as it was followed.

    `answer` is the link that explains the result, `broken` the same where the report is not ok, or the result is not
    what was expected: the two never disagree.
    """

    subject: str
    links: tuple[Link, ...]

    @property
    def broken(self) -> Link | None:
        return next((link for link in self.links if not link.holds), None)

    @property
    def answer(self) -> Link | None:
        return next((link for link in self.links if link.odd or not link.holds), None)

    def text(self) -> str:
        lines = [self.subject, *(line for link in self.links for line in link.lines())]
        if self.broken is None:
            lines.append("  nothing on the way is broken; compare with a reference: mt.compare")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        answer = self.answer.said.splitlines()[0] if self.answer else "nothing on the way is broken"
        return f"<explanation: {self.subject} {answer}>"

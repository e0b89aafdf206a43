"""A chain of questions between a launch and its result; the first that is answered with no explains the result."""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.findings import Finding


@dataclass(frozen=True)
class Link:
    """One link of the chain: what holds, or what is broken and what to do."""

    holds: bool
    said: str
    hint: str = ""
    finding: Finding | None = None

    def lines(self) -> list[str]:
        first, *rest = self.said.split("\n")
        hint = [f"       hint: {self.hint}"] if self.hint and not self.holds else []
        return [f"  {'ok ' if self.holds else 'NO '}  {first}", *(f"       {r}" for r in rest), *hint]


@dataclass(frozen=True)
class Explanation:
    """The chain as far as it was followed; `broken` is the link that explains the result."""

    subject: str
    links: tuple[Link, ...]

    @property
    def broken(self) -> Link | None:
        return next((link for link in self.links if not link.holds), None)

    def text(self) -> str:
        lines = [self.subject, *(line for link in self.links for line in link.lines())]
        if self.broken is None:
            lines.append("  nothing on the way is broken; compare with a reference: mt.compare")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        answer = self.broken.said.splitlines()[0] if self.broken else "nothing on the way is broken"
        return f"<explanation: {self.subject} {answer}>"

"""Which findings count: chosen and ignored rules, comments in the source, a baseline of what is known already.

Settings come from `[tool.metalloid]` of the nearest pyproject.toml, and options of the command line go before them. A
rule is named in full (M201) or by how its number begins (M2).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metalloid.errors import MetalloidError
from metalloid.findings import Finding
from metalloid.findings.places import nearby

LEVELS = ("note", "warning", "error", "never")
_COMMENT = re.compile(r"(?://|#|/\*)\s*metalloid:\s*ignore\[([^\]]*)\]")
_RULE = re.compile(r"M[1-9][0-9]{0,2}")
Key = tuple[
    str, str, str, str, str
]  # rule, file, kernel, buffer, the line's text: no line number, which moves


@dataclass(frozen=True)
class Choice:
    """What counts. `fail_on` is the least severity that makes a run fail."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str = "warning"
    timeout: float | None = None
    require_launches: bool = False
    baseline: str = ""
    known: frozenset[Key] = field(default=frozenset(), compare=False)

    def fails(self, findings: Iterable[Finding]) -> bool:
        worst = LEVELS.index(self.fail_on)
        return any(LEVELS.index(f.severity) >= worst for f in findings)

    def why_not(self, finding: Finding, comments: Sequence[str]) -> str:
        """Why a finding does not count; empty where it does. `comments` are the lines it speaks of."""
        rule = finding.rule
        if (self.select and not rule.startswith(self.select)) or (
            self.ignore and rule.startswith(self.ignore)
        ):
            return "by the choice of rules"
        if any(rule.startswith(tuple(named(line))) for line in comments if named(line)):
            return "by a comment in the source"
        return "in the baseline" if key(finding) in self.known else ""


def named(line: str) -> list[str]:
    """The rules that a comment in a line ignores: `// metalloid: ignore[M206] the lanes agree on it`."""
    found = _COMMENT.search(line)
    return [rule for rule in re.split(r"[\s,]+", found[1].strip()) if _RULE.fullmatch(rule)] if found else []


def spoken_of(lines: Sequence[str], line: int) -> list[str]:
    """The line of a finding, and the one above where that is a comment only."""
    if not 0 < line <= len(lines):
        return []
    above = lines[line - 2].strip() if line > 1 else ""
    return [lines[line - 1], *([above] if above.startswith(("//", "#", "/*")) else [])]


def key(finding: Finding) -> Key:
    file = Path(nearby(finding.location.file)).as_posix() if finding.location else ""
    return finding.rule, file, finding.kernel, finding.buffer, finding.excerpt.strip()


# ---- settings ----


def project(folder: Path) -> Choice:
    """The settings of the nearest pyproject.toml, from a folder upwards."""
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        if file.is_file():
            try:
                table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("metalloid", {})
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
                raise MetalloidError(f"{nearby(str(file))} cannot be read: {problem}") from None
            return settings(Choice(), table, f"[tool.metalloid] of {nearby(str(file))}", place)
    return Choice()


def settings(base: Choice, table: Mapping[str, Any], where: str, folder: Path) -> Choice:
    """A choice with some of its settings given, by `where`; options of the command line where nobody is named."""
    given: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _READ:
            raise MetalloidError(f"{where} has no setting {name!r}; there are {', '.join(_READ)}.")
        given[name.replace("-", "_")] = _READ[name](f"{where}: {name}" if where else f"--{name}", value)
    if given.get("baseline"):
        given["baseline"] = str(folder / given["baseline"])
    return replace(base, **given)


def _rules(where: str, value: Any) -> tuple[str, ...]:
    words = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else list(value)
    for word in words:
        if not isinstance(word, str) or not _RULE.fullmatch(word):
            raise MetalloidError(
                f"{where}: {word!r} is no rule; write M201, or M2 for all that begin with it."
            )
    return tuple(words)


def _level(where: str, value: Any) -> str:
    if value not in LEVELS:
        raise MetalloidError(f"{where} is {value!r}; there are {', '.join(LEVELS)}.")
    return str(value)


def _seconds(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise MetalloidError(f"{where} is {value!r}; give a number of seconds above 0.")
    return float(value)


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise MetalloidError(f"{where} is {value!r}; it is true or false.")
    return value


def _file(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise MetalloidError(f"{where} is {value!r}; name a file.")
    return value


_READ = {
    "select": _rules,
    "ignore": _rules,
    "fail-on": _level,
    "timeout": _seconds,
    "require-launches": _flag,
    "baseline": _file,
}


# ---- the baseline ----


def with_baseline(choice: Choice) -> Choice:
    """The choice, with what its baseline knows."""
    if not choice.baseline:
        return choice
    file = Path(choice.baseline)
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))["findings"]
        known = frozenset(tuple(entry[name] for name in _NAMES) for entry in entries)
    except FileNotFoundError:
        raise MetalloidError(
            f"there is no baseline {nearby(str(file))}; --write-baseline {nearby(str(file))} makes it."
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise MetalloidError(f"{nearby(str(file))} is no baseline; --write-baseline makes one.") from None
    return replace(choice, known=known)


_NAMES = ("rule", "file", "kernel", "buffer", "text")


def baseline(findings: Iterable[Finding]) -> str:
    """The text of a baseline that knows these findings."""
    entries = sorted({key(f) for f in findings})
    data = {"version": 1, "findings": [dict(zip(_NAMES, entry, strict=True)) for entry in entries]}
    return json.dumps(data, indent=2) + "\n"


def left_out(reasons: Iterable[str]) -> str:
    """A sentence about findings that do not count; empty where all do."""
    counts = Counter(reasons)
    total = sum(counts.values())
    parts = ", ".join(f"{n} {why}" for why, n in counts.items())
    return f"{total} finding{'s' * (total != 1)} left out: {parts}" if total else ""

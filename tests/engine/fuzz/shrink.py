"""The smallest program that still shows a difference: drop statements, take blocks off, make numbers of expressions.

A smaller program counts only if it differs in the same way and has one right result: the oracle, which watches every
access, must see no race and nothing outside its bounds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

from metalloid.backends import interpret
from tests.engine.fuzz.compose import Case
from tests.engine.fuzz.run import Difference, Refused, Setting, arrays, bind, check, compiled, copied

Check = Callable[[Case, list[Setting] | None], Difference | None]
# Races, and accesses outside; reading what nobody wrote is defined here.
MISTAKES = ("M101", "M102", "M103", "M201", "M202", "M203", "M205", "M206")


def mistakes(case: Case, rules: tuple[str, ...] = MISTAKES) -> list[str]:
    """What is wrong with the program itself: rules that the oracle finds broken."""
    ir, _ = compiled(case, checked=True)
    seen = interpret.observe(ir, bind(case, copied(arrays(case))), step_limit=200_000)
    return sorted({r.rule for r in seen.records if r.rule in rules})


def apart(case: Case, wanted: list[Setting] | None = None) -> Difference | None:
    """As `check`, in a process of its own: where that one dies, this one can tell."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(theirs, case, wanted))
    process.start()
    theirs.close()
    answer: tuple[Difference | None] | None = None
    while process.is_alive() or ours.poll():
        if ours.poll(0.2):
            with contextlib.suppress(EOFError):
                answer = ours.recv()
            break
    process.join()
    if answer is not None:
        return answer[0]
    setting = wanted[0] if wanted else None
    return Difference(case, setting, f"the process ended with {process.exitcode}", "")


def _answer(pipe: Connection, case: Case, wanted: list[Setting] | None) -> None:
    try:
        pipe.send((check(case, wanted),))
    except Refused:
        pipe.send((None,))


def shrink(found: Difference, seconds: float = 120.0, check: Check = check) -> Difference:
    """The same difference in less."""
    end = time.monotonic() + seconds
    best = found
    while time.monotonic() < end:
        for candidate in _smaller(best.case):
            if time.monotonic() > end:
                break
            made = _still(candidate, best, check)
            if made is not None:
                best = made
                break
        else:
            return best
    return best


def _spoilt(case: Case, had: Case) -> bool:
    """Whether a smaller program may have lost its one right result.

    Under observation a run ends at a barrier that not all threads reach; such a program must keep its barriers.
    """
    wrong = mistakes(case, ("M204", *MISTAKES))
    return wrong != [] and (wrong != ["M204"] or case.text.count("barrier(") != had.text.count("barrier("))


def _still(case: Case, had: Difference, check: Check) -> Difference | None:
    wanted: list[Setting] = [had.setting] if had.setting is not None else []
    try:
        made = check(case, wanted)
        if made is None or made.kind != had.kind:
            return None
        if made.kind in ("values", "claim") and case.threads == 1 and _spoilt(case, had.case):
            return None
    except Exception:  # does not compile, or says nothing
        return None
    return made


def _smaller(case: Case) -> Iterator[Case]:
    yield from (replace(case, text=text) for text in texts(case.text))
    for grid in {*_less(case.grid, case.group)} if case.threads == 1 else ():
        yield replace(case, grid=grid)


def _less(grid: tuple[int, int, int], group: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    for axis in range(3):
        if grid[axis] > group[axis]:
            yield tuple(group[a] if a == axis else grid[a] for a in range(3))  # type: ignore[misc]


def texts(text: str) -> Iterator[str]:
    """Smaller texts, the smallest first."""
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("    uint u0")) + 1
    length = len(lines) - 1 - first
    while length > 0:
        for start in range(first, len(lines) - length, max(1, length // 2)):
            if _balanced(lines[start : start + length]):
                yield _joined(lines[:start] + lines[start + length :])
        length = length // 2
    for start in range(1, first):
        for end in range(first, start, -1):
            part = lines[start:end]
            if (
                not part[0].startswith(("kernel", " "))
                and _balanced(part)
                and "kernel void" not in "".join(part)
            ):
                yield _joined(lines[:start] + lines[end:])
    for start in range(first, len(lines)):
        if (end := _closing(lines, start)) is not None:
            yield _joined(lines[:start] + lines[start + 1 : end] + lines[end + 1 :])
    for start in range(first, len(lines) - 1):
        for line in (
            _simpler(lines[start]) if "claims" not in lines[start] else ()
        ):  # a claim stays what it is
            if line.count("{") - line.count("}") == lines[start].count("{") - lines[start].count("}"):
                yield _joined([*lines[:start], line, *lines[start + 1 :]])


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _balanced(lines: list[str]) -> bool:
    depth = 0
    for line in lines:
        for c in re.findall(r"[{}]", line):
            depth += 1 if c == "{" else -1
            if depth < 0:
                return False
    return depth == 0


def _closing(lines: list[str], start: int) -> int | None:
    """The line that closes the block which this one opens."""
    if not lines[start].endswith("{"):
        return None
    return next((end for end in range(start + 1, len(lines)) if _balanced(lines[start : end + 1])), None)


def _simpler(line: str) -> Iterator[str]:
    """Whatever stands in brackets as a number, or as the first half of it; a statement of several without one."""
    if line.count(";") > 1 and "for (" not in line:
        parts = [part for part in line.split(";") if part.strip()]
        for n in range(len(parts)):
            yield ";".join(parts[:n] + parts[n + 1 :]) + ";"
    for match in re.finditer(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", line):
        inner = match[0]
        if inner.strip("()") not in ("1u", "i"):
            yield f"{line[: match.start()]}(1u){line[match.end() :]}"
        for other in re.split(r" [-+*&|^?:<>=!]+ ", inner[1:-1]):
            if _even(other) and other != inner[1:-1]:
                yield f"{line[: match.start()]}({other}){line[match.end() :]}"
    start = line.find("= ")
    if start > 0 and line.endswith(";") and line.count(";") == 1:
        for part in re.split(r" [-+*&|^] ", line[start + 2 : -1]):
            if _even(part) and part != line[start + 2 : -1]:
                yield f"{line[: start + 2]}{part};"


def _even(text: str) -> bool:
    return text.count("(") == text.count(")") and bool(text.strip())

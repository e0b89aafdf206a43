"""M204: a barrier that not all threads reach, by what the others did instead.

They returned, made fewer rounds, took another branch; or they wait at another barrier, of which the one may lead to
the other, or each stands on a way of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.rules import nesting
from metalloid.findings import Finding
from metalloid.findings.bounds import BARRIER_HINT
from metalloid.findings.finding import WARNING
from metalloid.ir.debug import Location
from metalloid.ir.dominance import post_dominators
from metalloid.ir.intrinsics import BARRIER
from metalloid.ir.module import Block
from metalloid.ir.values import Local

_LOOP = re.compile(r"\b(?:for|while|do)\b")
_ROUNDS = (
    "the loop in line {} has not as many rounds in all threads: let all go round as often, and put the work, not the"
    " barrier, under the condition"
)


def barriers(case: Case) -> Iterator[Finding]:
    for record in case.records("M204"):
        reached, total = record.detail.get("reached", 0), record.detail.get("threads", 0)
        count = f"{reached} of {total}" if total else "not all"
        message = f"barrier reached by {count} threads of the threadgroup"
        hint = _hint(case, record)
        if record.detail.get("passes", False):
            hint += "; Apple GPUs go on without the others, and so does a plain launch, but Metal does not promise it"
            yield case.finding(record, message, hint, severity=WARNING)
        else:
            yield case.finding(record, message, hint)


def _hint(case: Case, record: Record) -> str:
    here, way = record.access.location, record.other.location if record.other else None
    if way is None:
        returned = record.detail.get("returned", True)
        return (
            BARRIER_HINT
            if returned
            else "move the barrier out of the branch or loop that only some threads take"
        )
    if here is not None and not record.detail.get("returned", True):
        return _two_barriers(case, here, way)
    lines = [case.line(replace(way, line=way.line + n)) for n in range(2)]
    if re.search(r"\breturn\b", lines[0]) or re.match(r"\s*return\b", lines[1]):
        return BARRIER_HINT
    if _LOOP.search(lines[0]):
        return _ROUNDS.format(way.line)
    if re.search(r"\bif\b", lines[0]):
        return f"move the barrier out of the branch in line {way.line}: only some threads take it"
    return BARRIER_HINT


def _two_barriers(case: Case, here: Location, there: Location) -> str:
    """Some threads wait at one barrier, some at another."""
    if here == there:
        if nesting.in_loop(case, here):
            return (
                "threads wait here in different rounds of the loop: in each round a condition lets only some come to"
                " the barrier; put it where all come in every round"
            )
        return (
            f"threads wait in two calls of '{here.function}', on ways of which each takes one: call it once, where all"
            " threads come"
        )
    inner = _leads(case, here, there)
    if inner is None:
        first, last = sorted((here.line, there.line))
        lines = f"in lines {first} and {last}" if first != last else f"both in line {first}"
        return (
            f"two branches have a barrier each, {lines}, and every thread takes one of them: take both barriers out,"
            " and let all threads come to one behind the branches"
        )
    outer = there if inner == here else here
    tested = next((place for place in _conditions(case, inner) if place.line), None)
    if tested is not None and _LOOP.search(case.line(tested)):
        return f"{_ROUNDS.format(tested.line)}; the others wait at the barrier in line {outer.line} already"
    which = f"the condition in line {tested.line}" if tested is not None else "a condition"
    return (
        f"{which} lets only some threads come to the barrier in line {inner.line}, and the others have gone on to the"
        f" one in line {outer.line}: move that of line {inner.line} to where all threads come"
    )


def _leads(case: Case, here: Location, there: Location) -> Location | None:
    """That one of two barriers which every thread comes to the other from; None where each is on its own way."""
    after = post_dominators(case.code.function)
    for first, second in ((here, there), (there, here)):
        ways = [(a.name, b.name) for a in _blocks(case, first) for b in _blocks(case, second)]
        if any(after.dominates(b, a) for a, b in ways):
            return first
    return None


def _blocks(case: Case, place: Location) -> list[Block]:
    """Where a barrier stands in the compiled kernel: in several blocks, if its loop is unrolled."""
    code = case.code
    return [
        b
        for b in code.function.blocks
        if any(i.called == BARRIER and code.location(i) == place for i in b.instructions)
    ]


def _conditions(case: Case, place: Location) -> Iterator[Location]:
    """The places of the conditions that decide who comes to a barrier, nearest first; last, who comes again."""
    code = case.code
    deciding = [c for block in _blocks(case, place) for c in code.conditions(block)]
    for block in _blocks(case, place):
        end = block.terminator
        if (
            len(end.labels) > 1
            and isinstance(end.operands[0], Local)
            and end.operands[0].name in code.defined
        ):
            deciding.append(code.defined[end.operands[0].name])
    yield from (found for found in map(code.location, deciding) if found is not None)

"""What was varied: for each size, dtype, layout and kind of values, how many cases of it are right and wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from metalloid.comparing.case import AnyCase
from metalloid.comparing.compared import Compared
from metalloid.comparing.judge import FAILED, REFUSED

MOST = 48  # values of one thing
_GIVEN = ("", "as given")


def varied(result: Compared) -> str:
    """A row for each thing; each value in the colour of how its cases came out."""
    table: dict[str, dict[object, Counter[str]]] = {}
    for outcome in result.outcomes:
        kind = "wrong" if outcome.kind in FAILED else "refused" if outcome.kind == REFUSED else "right"
        for name, value in _things(outcome.case):
            table.setdefault(name, {}).setdefault(value, Counter())[kind] += 1
    if not table:
        return ""
    rows = "".join(
        f'<div class="thing"><h3>{escape(name)}</h3><p>{_values(name, found)}</p></div>'
        for name, found in table.items()
    )
    keys = (("right", "all right"), ("mixed", "some wrong"), ("wrong", "all wrong"), ("refused", "refused"))
    legend = "".join(f'<span class="value {kind}">{words}</span>' for kind, words in keys)
    return (
        f"<section><h2>What was varied, in {len(result.outcomes):,} cases</h2>"
        f'<div class="card varied"><p class="legend">{legend}</p>{rows}</div></section>'
    )


def _things(case: AnyCase) -> Iterator[tuple[str, object]]:
    yield from case.measured().items()
    for name in ("dtype", "layout", "values"):
        value = getattr(case, name)
        if value not in _GIVEN:
            yield name, value


def _values(name: str, found: dict[object, Counter[str]]) -> str:
    ordered = sorted(found.items(), key=lambda item: _order(item[0]))
    shown = "".join(_value(name, value, counts) for value, counts in ordered[:MOST])
    return shown + (f" and {len(ordered) - MOST} more" if len(ordered) > MOST else "")


def _order(value: object) -> int:
    """Sizes by size; names stay in the order they came in."""
    return value if isinstance(value, int) else 0


def _value(name: str, value: object, counts: Counter[str]) -> str:
    title = escape(_title(name, value, counts))
    return f'<span class="value {_class(counts)}" title="{title}">{escape(str(value))}</span>'


def _class(counts: Counter[str]) -> str:
    if counts["wrong"]:
        return "mixed" if counts["right"] else "wrong"
    return "right" if counts["right"] else "refused"


def _title(name: str, value: object, counts: Counter[str]) -> str:
    return f"{name} {value}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())

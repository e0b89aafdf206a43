"""What became of each kernel and launch, as part of the repository: a sweep takes hours, on machines that come and go.

`found.json` has a table for each run. Of those that are right it tells their places in the run's list of names, of one
commit and processor together; of launches also the kernels that they ran, by their places in the library.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.binaries.lines import Found
from conformance.ranges import places, ranges

RECORD = Path(__file__).with_name("found.json")
Key = tuple[str, str, bool, str]  # commit, processor, the same bits as from source, kernels


def load(table: str, names: Sequence[str], library: Sequence[str] = ()) -> dict[str, Found]:
    """By name. Nothing where the list of names has changed since: places would be those of others."""
    held = _tables().get(table)
    if held is None or held["names"] != _hash(names):
        return {}
    found: dict[str, Found] = {}
    for commit, processor, same_bits, kernels, where in held["right"]:
        ran = tuple(library[n] for n in places(kernels) if n < len(library))
        for place in places(where):
            name = names[place]
            found[name] = Found(name, ran or (name,), same_bits=same_bits, commit=commit, processor=processor)
    for name, (commit, processor, reason, detail) in held["wrong"].items():
        found[name] = Found(name, (), reason, detail, commit=commit, processor=processor)
    return found


def store(table: str, names: Sequence[str], found: Mapping[str, Found], library: Sequence[str] = ()) -> None:
    tables = _tables()
    tables[table] = {
        "names": _hash(names),
        "right": _right(names, found, library),
        "wrong": _wrong(found.values()),
    }
    lines = ",\n".join(f"{json.dumps(name)}: {_table(tables[name])}" for name in sorted(tables))
    partial = RECORD.with_suffix(".partial")
    partial.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    partial.rename(RECORD)


def _right(names: Sequence[str], found: Mapping[str, Found], library: Sequence[str]) -> list[list[Any]]:
    at = {name: n for n, name in enumerate(library)}
    groups: dict[Key, list[int]] = {}
    for place, name in enumerate(names):
        one = found.get(name)
        if one is not None and one.passed:
            kernels = ranges(sorted(at[k] for k in one.kernels if k in at))
            groups.setdefault((one.commit, one.processor, one.same_bits, kernels), []).append(place)
    return [[*key, ranges(held)] for key, held in groups.items()]


def _wrong(found: Iterable[Found]) -> dict[str, list[str]]:
    return {one.name: [one.commit, one.processor, one.reason, one.detail] for one in found if not one.passed}


def _table(held: Mapping[str, Any]) -> str:
    """A row each."""
    rows = ",\n".join(json.dumps(row) for row in held["right"])
    return f'{{"names": "{held["names"]}", "right": [\n{rows}],\n"wrong": {json.dumps(held["wrong"])}}}'


def _tables() -> dict[str, Any]:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def _hash(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]

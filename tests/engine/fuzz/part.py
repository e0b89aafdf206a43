"""A few hundred programs for `make test`, in parts: each file of tests runs one, so that parts run side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.fuzz.compose import LANES, MATHS, case
from tests.engine.fuzz.report import told
from tests.engine.fuzz.run import PARTED, Refused, check, settings
from tests.engine.fuzz.shrink import shrink

PARTS, PROGRAMS, AT_ONCE = 6, 300, 10
IN_ROWS = 6  # programs of each part about rows of memory, beside those that are some of all


def part(number: int) -> Callable[[str, range], None]:
    """The test of one part: seeds number * 50 to number * 50 + 49, ten in a test, and a few of `--on rows`."""
    count = PROGRAMS // PARTS
    of_all = range(number * count, (number + 1) * count, AT_ONCE)
    seeds = [("", range(first, first + AT_ONCE)) for first in of_all]
    seeds.append(("rows", range(number * IN_ROWS, (number + 1) * IN_ROWS)))

    @pytest.mark.parametrize("on, seeds", seeds, ids=[f"{on}{seeds.start}" for on, seeds in seeds])
    def test_programs(on: str, seeds: range) -> None:
        for seed in seeds:
            try:
                one = case(seed, {on: True} if on else {})
                long = set(one.features) & {
                    *LANES,
                    *MATHS,
                    *PARTED,
                }  # code that takes LLVM long
                found = check(one, settings(one)[: 1 if long else 2])
            except Refused:
                continue
            assert found is None, told(shrink(found, seconds=60.0))

    return test_programs

"""A few hundred programs for `make test`, in parts: each file of tests runs one, so that parts run side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.fuzz.compose import LANES, MATHS, case
from tests.engine.fuzz.report import told
from tests.engine.fuzz.run import PARTED, Refused, check, settings
from tests.engine.fuzz.shrink import shrink

PARTS, PROGRAMS, AT_ONCE = 6, 300, 10


def part(number: int) -> Callable[[int], None]:
    """The test of one part: seeds number * 50 to number * 50 + 49, ten in a test."""
    count = PROGRAMS // PARTS

    @pytest.mark.parametrize("first", range(number * count, (number + 1) * count, AT_ONCE))
    def test_programs(first: int) -> None:
        for seed in range(first, first + AT_ONCE):
            try:
                one = case(seed)
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

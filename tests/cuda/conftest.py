"""What several of these tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from metalloid.backends.cuda import code, program
from metalloid.backends.cuda.variant import Variant
from tests.cuda.simulator.gpu import installed


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Variant]]:
    """The code that was made, on an imitated GPU."""
    found: list[Variant] = []
    load = code.KernelCode.load

    def told(self: code.KernelCode, variant: Variant) -> Any:
        found.append(variant)
        return load(self, variant)

    monkeypatch.setattr(code.KernelCode, "load", told)
    with installed():
        monkeypatch.setattr(program.memory().gpu, "processors", 1)  # small launches have work for all
        yield found

"""`METALLOID_DEVICE=cuda pytest -p tests.cuda.simulator.plugin tests/language`: any suite on the imitated GPU."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.cuda.simulator.gpu import installed

_stack = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    _stack.enter_context(installed())


def pytest_unconfigure(config: pytest.Config) -> None:
    _stack.close()

"""Who observes: the vector engine where it can, else the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel


def observe(kernel: Kernel, launch: Launch) -> Observation:
    """Run a launch and see what it does; its buffers are changed as by any run."""
    return interpret.observe(kernel.checked_ir, launch, on_log=kernel.on_log)

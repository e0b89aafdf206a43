"""What becomes of accesses outside their memory: the ways a launch can ask for, and the warning of the robust one."""

from __future__ import annotations

from typing import NoReturn

from metalloid.errors import KernelFault, LaunchError
from metalloid.runtime.places import LaunchWarning, warn_at_caller

GUARDS = (True, False, "robust")


class OutsideWarning(LaunchWarning):
    """A kernel read or wrote outside its memory and went on, as on a GPU."""


def refuse_guard(kernel: str, guard: object) -> NoReturn:
    raise LaunchError(
        f'[launch {kernel}] guard is {guard!r}; expected True, False or "robust".\n'
        'True stops at an access outside, "robust" goes on after it, False does not look.'
    )


def warn_outside(error: KernelFault) -> None:
    """Once for each place in a kernel; whoever calls has seen to that."""
    warn_at_caller(
        f"{error}\n  The launch went on, as on a GPU: reads outside give 0, writes outside are dropped."
        " With guard=True it stops there.",
        OutsideWarning,
    )

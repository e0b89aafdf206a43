"""Check one launch: run it under observation and apply the rules to what was seen."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metalloid.backends.base import Launch
from metalloid.checker.case import Case
from metalloid.checker.checked_launches import Checked
from metalloid.checker.engines import observe, until, within
from metalloid.checker.examined import before, forget, with_numbers
from metalloid.checker.fold import fold
from metalloid.checker.holes import remember, with_holes
from metalloid.checker.pointed import with_names
from metalloid.checker.refusals import listening, refusal
from metalloid.checker.report import Report
from metalloid.checker.rules import RULES
from metalloid.errors import LaunchError
from metalloid.findings import Finding
from metalloid.findings.homes import at_home, homes_of
from metalloid.runtime.places import place

_SMALL = 1 << 20  # bytes of an output that explanations may run again from

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel, Local
    from metalloid.runtime.kernel_code import KernelCode
    from metalloid.runtime.sizes import Size


def check(
    kernel: Kernel,
    *arguments: object,
    grid: Size | None = None,
    threadgroup: Size | None = None,
    threadgroups: Size | None = None,
    threadgroup_memory: Local | None = None,
    overlap: bool = False,
    timeout: float | None = None,
    **named: object,
) -> Report:
    """Launch a kernel as calling it would, and report what it does wrong.

    Outputs are written as by the launch itself. A launch that is refused is a finding too; so is one that has not ended
    after `timeout` seconds, 60 where nothing is said.
    """
    if not hasattr(kernel, "launch"):
        raise TypeError(
            f"[check] takes a kernel and its arguments; got {type(kernel).__name__}. "
            "A text becomes one by mt.device().library(text)['name']."
        )
    try:
        with listening() as heard:
            launch = kernel.launch(
                *arguments,
                grid=grid,
                threadgroup=threadgroup,
                threadgroups=threadgroups,
                threadgroup_memory=threadgroup_memory,
                overlap=overlap,
                **named,
            )
    except LaunchError as error:
        return Report(more=[refusal(kernel, error, place())])
    forget(kernel)
    with within(timeout):
        return Report([check_launch(kernel, launch)], heard)


def check_launch(kernel: KernelCode, launch: Launch) -> Checked:
    """Check a launch that has been validated. Its buffers are changed as by a run."""
    start, began = time.perf_counter(), time.monotonic()
    launch = with_holes(with_names(kernel.signature, _exported(launch)))
    kept = before(kernel, launch)
    small = {index: array for index, array in kept.contents.items() if array.nbytes <= _SMALL}
    seen = observe(kernel, launch)
    case = Case(kernel, launch, with_numbers(kept, seen, until(began)), small)
    homes = homes_of(kernel.source)
    found = tuple(_labelled(at_home(finding, homes), launch) for finding in judged(case))
    remember(kernel.signature, launch, case.observation)
    return Checked(case, found, time.perf_counter() - start, small)


def _labelled(finding: Finding, launch: Launch) -> Finding:
    """A finding with the labels of the encoder and command buffer that made the launch."""
    if not launch.during:
        return finding
    return replace(finding, detail={**finding.detail, "during": launch.during})


def _exported(launch: Launch) -> Launch:
    """The launch with memory that Python's buffers can describe: bfloat16 arrays as 16-bit words."""
    words = {
        index: memory.view(np.uint16)
        for index, memory in launch.buffers.items()
        if isinstance(memory, np.ndarray) and memory.dtype.name == "bfloat16"
    }
    return replace(launch, buffers={**launch.buffers, **words}) if words else launch


def judged(case: Case) -> tuple[Finding, ...]:
    """What the rules make of a case: one finding per mistake."""
    return fold(finding for rule in RULES for finding in rule(case))

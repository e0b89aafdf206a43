"""What stopped a guarded kernel, told as the checker tells it: the line, a caret, what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metalloid.backends.base import Fault, Launch
from metalloid.errors import KernelFault
from metalloid.findings import Finding
from metalloid.findings.bounds import Outside
from metalloid.findings.homes import at_home, homes_of
from metalloid.findings.places import pointed
from metalloid.frontend.call_stack import DEPTH
from metalloid.frontend.diagnose import Texts
from metalloid.runtime import alive
from metalloid.source import Source
from metalloid.transforms.call_notes import OPEN
from metalloid.types import Signature

CHECK = "metalloid check, or mt.check with the same arguments, runs on and shows all that is wrong"

_ODD = "an atomic_int or atomic_float starts at a multiple of 4 bytes, an atomic_ulong of 8: check the cast"
_APART = "write one barrier that all threads come to, outside the branch that some of them take"
_DEEP = "return earlier, or write a loop; a GPU's threads have little room for open calls, too"
_HINTS = {
    "M103": _ODD,
    "M204": _APART,
    "M614": _DEEP,
    "": "look for a loop that does not end, or allow it more time",
}


def too_deep(fault: Fault, ir: str) -> Fault:
    """A call that finds no frame left notes itself outside of the list of open calls."""
    if fault.rule == "M102" and fault.buffer is None and fault.offset == DEPTH and OPEN in ir:
        message = (
            f"functions call themselves deeper than {DEPTH} open calls, which is what a thread has room for"
        )
        return replace(fault, rule="M614", message=message)
    return fault


def told(source: Source, signature: Signature, fault: Fault, launch: Launch) -> KernelFault:
    """The error for a fault; `error.finding` has its parts."""
    finding = at_home(_finding(source, signature, fault, launch), homes_of(source))
    return KernelFault(finding.text(), finding)


def _unused(address: int) -> str:
    """What to do where an address is that of a buffer which the encoder was not told of."""
    buffer = alive.buffer_at(address)
    if buffer is None:
        return ""
    return f"{buffer} is there, and the encoder does not know it: call use_resource with it"


def _finding(source: Source, signature: Signature, fault: Fault, launch: Launch) -> Finding:
    excerpt = ""
    if fault.location is not None:
        excerpt = Texts(source).line(fault.location.file, fault.location.line)
    message, hint, name = fault.message, _HINTS.get(fault.rule, CHECK), ""
    parameter = next((p for p in signature.buffers if p.index == fault.buffer), None)
    memory = launch.buffers.get(fault.buffer) if fault.buffer is not None else None
    if parameter is not None:
        name = parameter.name
    outside_rule = fault.rule in ("M101", "M102")
    if outside_rule and fault.buffer is None and fault.offset is not None and "where no buffer is" in message:
        hint = _unused(fault.offset) or hint
    if parameter is not None and memory is not None and fault.offset is not None and outside_rule:
        total = memory.nbytes if isinstance(memory, np.ndarray) else memoryview(memory).nbytes
        outside = Outside(
            fault.rule == "M102",
            name,
            fault.offset,
            fault.size,
            total,
            parameter.type.size,
            launch.grid,
            launch.threadgroup,
            fault.thread or (0, 0, 0),
            line=excerpt,
            form=source.form,
        )
        message, hint = outside.message, outside.hint
    return Finding(
        fault.rule,
        message,
        fault.kernel,
        pointed(fault.location, excerpt),
        fault.thread,
        fault.threadgroup,
        name,
        hint,
        excerpt=excerpt,
        detail={"offset": fault.offset, **({"during": launch.during} if launch.during else {})},
    )

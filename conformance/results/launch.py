"""Run one step of a case on a backend."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from conformance.results.case import Argument, Array, Step, Triple
from conformance.results.pack import pack
from metalloid.air import stored as air
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.interpret import Schedule
from metalloid.frontend import Kernel, compile_kernel
from metalloid.runtime.library import Library
from metalloid.source import Binary
from metalloid.types import Parameter, Signature

TIMEOUT = 120.0  # seconds; the longest launch takes one
FORWARD, REVERSE = Schedule("forward"), Schedule("reverse")


def run_on_oracle(step: Step, schedule: Schedule = FORWARD) -> None:
    kernel = compiled(step)
    interpret.run(kernel.ir, launch_of(kernel, step), schedule)


def launch_of(kernel: Kernel, step: Step) -> Launch:
    indices = [p.index for p in kernel.signature.buffers]
    return Launch(
        _grid(step),
        step.threadgroup,
        dict(zip(indices, bind(kernel.signature, step), strict=True)),
        step.threadgroup_memory,
        kernel=step.kernel,
    )


_compiled: dict[str, Kernel] = {}  # a case asks for its kernels once for each way to run them


def compiled(step: Step) -> Kernel:
    key = step.source.key(step.kernel, sorted(step.constants.items(), key=repr))
    if key not in _compiled:
        if len(_compiled) > 64:
            _compiled.clear()
        _compiled[key] = _compile(step)
    return _compiled[key]


def _compile(step: Step) -> Kernel:
    if isinstance(step.source, Binary):
        return air.compile_kernel(step.source, step.kernel, step.constants)
    return compile_kernel(step.source, step.kernel, step.constants)


def run_on_engine(step: Step, device: str = "cpu", timeout: float | None = TIMEOUT) -> None:
    """The public way: a library of the device, a kernel of the library, a call."""
    _run(_library(step.source, device), step, timeout)


def run_checked(step: Step) -> None:
    """For runs under the checker: a text is not examined as a whole."""
    _run(_trusted(step.source), step)


def _run(library: Library, step: Step, timeout: float | None = TIMEOUT) -> None:
    function = library.kernel(step.kernel, constants=dict(step.constants))
    function(
        *(
            a.reshape(-1).view(np.uint8).data for a in bind(function.signature, step)
        ),  # ggml declares char*, or void*
        grid=_grid(step),
        threadgroup=step.threadgroup,
        threadgroup_memory=dict(step.threadgroup_memory),
        overlap=True,  # some bind one buffer as input and output
        timeout=timeout,
    )


@cache
def _device(name: str) -> Any:
    import metalloid

    return metalloid.device(name)


_libraries: dict[tuple[str, str], Any] = {}


def _library(source: Any, device: str) -> Any:
    """One library per source; a file on disk is given as a path, so that its includes are found."""
    key = source.key(), device
    if key not in _libraries:
        text = Path(source.name) if source.directory or isinstance(source, Binary) else source.text
        _libraries[key] = _device(device).library(
            text, math=source.math, defines=dict(source.defines), include=list(source.include)
        )
    return _libraries[key]


_unexamined: dict[str, Library] = {}


def _trusted(source: Any) -> Library:
    key = source.key()
    if key not in _unexamined:
        _unexamined[key] = Library(_device("cpu"), source, {}, trusted=True)
    return _unexamined[key]


def bind(signature: Signature, step: Step) -> list[Array]:
    """Memory for every buffer parameter, in the order of the indices."""
    parameters = signature.buffers
    if len(parameters) != len(step.arguments):
        names = ", ".join(p.name for p in parameters)
        raise ValueError(f"[{step.kernel}] takes {names}; {len(step.arguments)} arguments given")
    arrays = {
        id(a): _memory(a) for a in step.arguments if isinstance(a, np.ndarray)
    }  # one memory, bound twice
    return [
        arrays[id(a)] if id(a) in arrays else _packed(p, a)
        for p, a in zip(parameters, step.arguments, strict=True)
    ]


def _memory(array: Array) -> Array:
    if not array.flags.c_contiguous:
        raise ValueError("[launch] a view with gaps cannot be bound; bind the whole array")
    return array.view(np.uint8).reshape(-1) if array.dtype.name == "bfloat16" else array


def _packed(parameter: Parameter, value: Argument) -> Array:
    return np.frombuffer(pack(parameter.type, value), np.uint8).copy()


def _grid(step: Step) -> Triple:
    if step.grid is not None:
        return step.grid
    assert step.threadgroups is not None, f"{step.kernel} has neither grid nor threadgroups"
    (a, b, c), (x, y, z) = step.threadgroups, step.threadgroup
    return a * x, b * y, c * z

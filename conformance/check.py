"""Compile one case and hold its IR against the contract of docs/design/intrinsics.md."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from conformance.cases import Case
from metalloid.errors import CompileError, MetalloidError
from metalloid.frontend import Kernel
from metalloid.frontend.parse import Parsed, parse
from metalloid.frontend.translate import compile_entry
from metalloid.source import Source


@dataclass(frozen=True)
class Outcome:
    suite: str
    file: str
    kernel: str
    passed: bool
    reason: str = ""  # the first diagnostic, or what is wrong with the IR
    seconds: float = 0.0


# What must not be left in optimised IR, and the sentence for it.
FORBIDDEN = (
    (re.compile(r"(?<![\[\w.])<\d+ x (?:i\d+|half|bfloat|float|double|ptr)\b"), "a vector type is left"),
    (re.compile(r"\baddrspacecast\b"), "an addrspacecast is left"),
    (re.compile(r"\b(?:load|store|atomicrmw|cmpxchg)\b[^\n]*[ (]ptr (?!addr)"), "a generic pointer is used"),
    (re.compile(r"(?<![%\w.])(?:call|invoke)\b[^\n@]*@(?!llvm\.|__mt_)([\w.$]+)"), "a call is left"),
)  # fmt: skip


def check(case: Case) -> Outcome:
    """Never raises: whatever goes wrong is the outcome."""
    start = time.perf_counter()
    try:
        reason = _refusal(case) if case.refused else _invalid(case) if case.invalid else _compiled(case)
    except Exception as error:  # a crash of the front end is a finding of this run, not its end
        reason = f"{type(error).__name__}: {error}"
    return Outcome(case.suite, case.file, case.kernel, not reason, reason, time.perf_counter() - start)


def _compiled(case: Case) -> str:
    first = ""
    for source, kernel in case.attempts:
        try:
            names = [kernel] if kernel else [entry.name for entry in _parsed(source).entries]
            reasons = [problem(_compile(case, source, name).ir) for name in names]
        except MetalloidError as error:
            reasons = [_first(error)]
        if not any(reasons):
            return ""
        first = first or next(r for r in reasons if r)
    return first


def _refusal(case: Case) -> str:
    source, kernel = case.attempts[0]
    try:
        _compile(case, source, kernel)
    except CompileError as error:
        clear = any("not supported" in d.message for d in error.diagnostics)
        return "" if clear else f"refused, but not clearly: {_first(error)}"
    return ""


def _compile(case: Case, source: Source, kernel: str) -> Kernel:
    """Past the cache on disk: this run is to see the front end work."""
    return compile_entry(_parsed(source), kernel, case.constants)


_last: list[tuple[Source, Parsed]] = []  # neighbouring cases share a source


def _parsed(source: Source) -> Parsed:
    if not _last or _last[0][0] is not source:
        _last[:] = [(source, parse(source))]
    return _last[0][1]


def _invalid(case: Case) -> str:
    """A kernel that is wrong must end in the diagnostic that says so."""
    said = []
    for source, kernel in case.attempts:
        try:
            _compile(case, source, kernel)
        except CompileError as error:
            said += [d.message for d in error.diagnostics]
        else:
            return f"compiled, though it is not valid MSL: {case.invalid}"
    found = any(case.invalid in message for message in said)
    return "" if found else f"refused, but not for {case.invalid!r}: {said[0]}"


def _first(error: MetalloidError) -> str:
    if isinstance(error, CompileError) and error.diagnostics:
        return error.diagnostics[0].text()
    return f"{type(error).__name__}: {error}"


def problem(ir: str) -> str:
    """What is wrong with the IR; empty when nothing is."""
    import llvmlite.binding as llvm

    try:
        llvm.parse_assembly(ir).verify()
    except RuntimeError as error:
        return f"the IR does not verify: {error}"
    code = "\n".join(
        line for line in ir.splitlines() if not line.startswith(("declare", "!", ";", "attributes"))
    )
    for pattern, sentence in FORBIDDEN:
        found = pattern.search(code)
        if found:
            line = code[code.rfind("\n", 0, found.start()) + 1 :].split("\n", 1)[0].strip()
            return f"{sentence}: {line[:160]}"
    return ""

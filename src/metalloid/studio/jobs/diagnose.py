"""What is wrong with a text, and what the kernels in it take."""

from __future__ import annotations

from typing import Any

from metalloid.compile import scalar
from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import lint_while_typing
from metalloid.source import Source
from metalloid.studio.jobs.source import source_of
from metalloid.types import Matrix, Parameter, Scalar, Signature, Struct, Vector

FEW = 6  # kernels whose parameters are all read; of more only those of the one that is chosen


def diagnose(data: dict[str, Any]) -> dict[str, Any]:
    source = source_of(data)
    linted = lint_while_typing(source)
    wrong = any(d.severity == "error" for d in linted.diagnostics)
    kernels = [_described(source, name) for name in _wanted(linted.kernels, data)] if not wrong else []
    return {
        "diagnostics": [_told(d, source.name) for d in linted.diagnostics],
        "kernels": [kernel for kernel in kernels if kernel is not None],
        "names": list(linted.kernels),
    }


def _wanted(names: tuple[str, ...], data: dict[str, Any]) -> tuple[str, ...]:
    chosen = str(data.get("kernel") or "")
    return names if len(names) <= FEW else (chosen if chosen in names else names[0],)


def _told(said: Diagnostic, name: str) -> dict[str, Any]:
    return {
        "message": said.message,
        "here": said.file == name,
        "file": said.file,
        "line": said.line,
        "column": said.column,
        "length": said.length,
        "severity": said.severity,
        "rule": said.rule,
        "hint": said.hint,
    }


def _described(source: Source, name: str) -> dict[str, Any] | None:
    try:
        return described(scalar(source, name)[1])
    except CompileError:
        return None


def described(signature: Signature) -> dict[str, Any]:
    """A kernel as the launch form needs it."""
    local = [p for p in signature.parameters if p.kind == "threadgroup"]
    return {
        "name": signature.name,
        "line": signature.line,
        "limit": signature.max_total_threads,
        "parameters": [_parameter(p) for p in signature.buffers],
        "local": [{"name": p.name, "index": p.index, "type": str(p.type)} for p in local],
        "positions": [p.builtin for p in signature.parameters if p.kind == "builtin"],
    }


def _parameter(p: Parameter) -> dict[str, Any]:
    return {
        "name": p.name,
        "index": p.index,
        "type": str(p.type),
        "text": str(p),
        "access": p.access,
        "value": p.reference,  # one value, not an array
        "kind": _kind(p),
        "line": p.line,
    }


def _kind(p: Parameter) -> str:
    if isinstance(p.type, Struct):
        return "struct"
    if isinstance(p.type, Vector | Matrix):
        return "vector"
    return "number" if isinstance(p.type, Scalar) else "other"

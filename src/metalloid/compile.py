"""Source and target to a program that runs: the front end, the passes, the backend, joined."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.backends.cpu import machine
from metalloid.backends.cpu.program import Compiled, Program, Variant
from metalloid.frontend import compile_kernel
from metalloid.ir import Module
from metalloid.passes import abi
from metalloid.passes.canonical import canonical
from metalloid.passes.kernel import ENTRY_NAME, VectorCode, vectorise
from metalloid.passes.lanes import Lanes
from metalloid.passes.width import choose
from metalloid.source import Constant, Source
from metalloid.types import Signature


def cpu_program(
    ir: str, signature: Signature, width: int = 0, target: machine.Target | None = None
) -> Program:
    """A program for the CPU from scalar IR. `width` forces a number of lanes."""
    names = {p.index: p.name for p in signature.parameters if p.kind == "buffer"}
    chosen = target or machine.host()
    parsed: list[Module] = []

    def compile(variant: Variant) -> Compiled:
        if not parsed:
            parsed.append(canonical(ir))
        code = vector_code(parsed[0], variant, width, chosen)
        return Compiled(
            code.text,
            ENTRY_NAME,
            code.sites,
            code.barriers,
            code.formats,
            code.local,
            code.scratch,
            tables="%tables, i64" in code.text,
            searches=abi.OUTSIDE in code.text,
        )

    return Program(signature.name, compile, names, target=chosen)


def vector_code(module: Module, variant: Variant, width: int, target: machine.Target) -> VectorCode:
    size, ragged, tables, guard, backwards = variant
    lanes = width or choose(module, size, target.vector_bits)
    return vectorise(module, Lanes(lanes, size, ragged, tables), guard, backwards, target.vector_bits)


def scalar(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant] | None = None,
    checked: bool = False,
) -> tuple[str, Signature]:
    """The scalar IR and the signature of a kernel; `checked`: IR that keeps every access of the user's."""
    kernel = compile_kernel(source, name, dict(constants or {}), checked=checked)
    return kernel.ir, kernel.signature


def vector_stage(ir: str, size: tuple[int, int, int]) -> str:
    """The guarded vector code of a kernel for threadgroups of one size, as text."""
    return vector_code(canonical(ir), (size, False, False, True, False), 0, machine.host()).text

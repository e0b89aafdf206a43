"""Source and target to a program that runs: the front end, the passes, the backend, joined."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch, LogMessage
from metalloid.backends.cpu import machine
from metalloid.backends.cpu.checked import CheckedProgram, Mode
from metalloid.backends.cpu.choice import FAR
from metalloid.backends.cpu.program import Compiled, Program, Variant
from metalloid.frontend import compile_kernel
from metalloid.ir import Module
from metalloid.ir.debug import variable_name
from metalloid.passes import abi
from metalloid.passes.bounds.evaluate import Facts
from metalloid.passes.bounds.prove import Proof, Prover
from metalloid.passes.canonical import canonical
from metalloid.passes.driver import ENTRY_NAME
from metalloid.passes.instrument import Options, read_once
from metalloid.passes.kernel import VectorCode, vectorise
from metalloid.passes.lanes import Lanes
from metalloid.passes.width import choose
from metalloid.source import Constant, Source
from metalloid.types import Signature


def cpu_program(
    ir: str, signature: Signature, width: int = 0, target: machine.Target | None = None, level: int = 1
) -> Program:
    """A program for the CPU from scalar IR. `width` forces a number of lanes; `level` 0 leaves LLVM's optimiser out."""
    names = {p.index: p.name for p in signature.parameters if p.kind == "buffer"}
    chosen = target or machine.host()

    @cache
    def module() -> Module:
        return canonical(ir)

    @cache
    def proofs() -> Proofs | None:
        prover = Prover(module())
        return Proofs(prover) if prover.worthwhile else None

    def compile(variant: Variant) -> Compiled:
        return replace(compiled(vector_code(module(), variant, width, chosen)), level=level)

    return Program(signature.name, compile, names, chosen, proofs)


class Proofs:
    """Proofs of one kernel, asked for in the words of a launch."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self.parameters, self.outputs = prover.parameters, tuple(prover.outputs)

    def prove(
        self,
        launch: Launch,
        guard: bool,
        lengths: Mapping[int, int],
        contents: Mapping[int, bytes],
        streams: Sequence[tuple[int, int]],
    ) -> Hashable | None:
        found = Proof()
        if guard:
            local = launch.threadgroup_memory
            facts = Facts(launch.grid, launch.threadgroup, launch.threadgroups, lengths, local, contents)
            found = self._prover.prove(facts)
        found = replace(found, streams=self._prover.streams(streams))
        return found if found != Proof() else None


def compiled(code: VectorCode) -> Compiled:
    """What a program has to know of vector code."""
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
        checks=code.checks,
        check_lengths=code.check_lengths,
        local_places=code.local_places,
    )


def checked_program(ir: str, signature: Signature, width: int = 0, level: int = 1) -> CheckedProgram:
    """A kernel under observation, from IR that keeps every access (`scalar(..., checked=True)`)."""
    target = machine.host()
    module = canonical(ir)
    names = {g.name: variable_name(module, g) for g in module.globals}

    @cache
    def proofs() -> Proofs | None:
        prover = Prover(module)
        return Proofs(prover) if prover.worthwhile else None

    def make(mode: Mode) -> Program:
        options = Options(mode.careful, mode.undefined, mode.aliased, mode.wide, mode.marked, mode.starts)

        def compile(variant: Variant) -> Compiled:
            return replace(compiled(vector_code(module, variant, width, target, options)), level=level)

        return Program(signature.name, compile, {}, target, proofs)

    return CheckedProgram(ir, make, names, read_once(module))


def vector_code(
    module: Module, variant: Variant, width: int, target: machine.Target, check: Options | None = None
) -> VectorCode:
    size, ragged, tables, guard, backwards, proof = variant
    lanes = Lanes(width or choose(module, size, target.vector_bits), size, ragged, tables, proof == FAR)
    if not isinstance(proof, Proof):
        return vectorise(module, lanes, guard, backwards, target.vector_bits, check=check)
    return vectorise(proof.mark(module), lanes, guard, backwards, target.vector_bits, proof.loops, check)


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
    """The guarded vector code of a kernel for threadgroups of one size, as text. May raise NotVectorised."""
    return vector_code(canonical(ir), (size, False, False, True, False, None), 0, machine.host()).text


def run_interpreted(
    ir: str,
    launch: Launch,
    timeout: float | None = None,
    on_log: Callable[[LogMessage], None] | None = None,
) -> None:
    """The slow way, for kernels that have no vector code: always guarded, one thread after the other."""
    bytes_of = {
        index: memory.reshape(-1).view(np.uint8) if isinstance(memory, np.ndarray) and memory.size else memory
        for index, memory in launch.buffers.items()
    }
    deadline = time.monotonic() + timeout if timeout else None
    interpret.run(ir, replace(launch, buffers=bytes_of), on_log=on_log, step_limit=2**62, deadline=deadline)

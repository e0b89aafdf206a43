"""Scalar IR to vector code: the passes for one variant of a kernel."""

from __future__ import annotations

from dataclasses import replace

from metalloid.analysis.barrier_arrival import arrival
from metalloid.analysis.intervals.prove import Proof
from metalloid.analysis.lane_layout import SIMD, LaneLayout
from metalloid.backends.cpu import abi, codegen
from metalloid.backends.cpu.code import Compiled, Details, Variant
from metalloid.backends.cpu.lower.driver import ENTRY_NAME
from metalloid.backends.cpu.lower.gang_width import by_rows, choose
from metalloid.backends.cpu.lower.vectorize import VectorCode, vectorise
from metalloid.backends.cpu.specialize import FAR
from metalloid.ir import Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.common_gep_base import share
from metalloid.transforms.instrument import Options


def vector_code(
    module: Module, variant: Variant, width: int, target: codegen.Target, check: Options | None = None
) -> VectorCode:
    """Vector code of a canonical module. `width` forces a number of lanes."""
    size, ragged, tables, guard, backwards, proof = variant
    lanes = LaneLayout(width or choose(module, size, target.info), size, ragged, tables, proof == FAR)
    if not width and check is None:
        lanes = by_rows(module, lanes)
    # Under observation every barrier that not all threads reach is told, and nobody goes on.
    way = arrival(module.function[ENTRY], size) if check is None else "together"
    if way == "parted":
        lanes = replace(lanes, width=SIMD, rows=False)
    loops = proof.loops if isinstance(proof, Proof) else frozenset()
    if isinstance(proof, Proof):
        module = proof.mark(module)
    if check is None:
        module = module.with_function(share(module.function[ENTRY]))
    return vectorise(module, lanes, guard, backwards, target.info, loops, check, way)


def vector_stage(ir: str, size: tuple[int, int, int], target: codegen.Target | None = None) -> str:
    """The guarded vector code of a kernel for threadgroups of one size, as text. May raise NotVectorised."""
    return vector_code(
        canonical(ir), (size, False, False, True, False, None), 0, target or codegen.host()
    ).text


def compiled(code: VectorCode, target: codegen.Target, level: int) -> Compiled:
    """Machine code, and what a program has to know of it."""
    details = Details(
        code.sites, code.barriers, code.checks, dict(code.check_lengths), dict(code.local_places)
    )
    key, made = codegen.to_object(code.text, target, level)
    return Compiled(
        key,
        made,
        ENTRY_NAME,
        code.formats,
        code.local,
        code.scratch,
        tables="%tables, i64" in code.text,
        searches=abi.OUTSIDE in code.text,
        look_up=lambda: details,
    )

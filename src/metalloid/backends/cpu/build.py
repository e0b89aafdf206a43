"""Programs for the CPU from scalar IR: code from the disk where it is there, else made and kept."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from metalloid import config, stopwatch
from metalloid.backends.cpu import codegen, native
from metalloid.backends.cpu.code import Compiled, Variant
from metalloid.backends.cpu.common_proof import CommonProof
from metalloid.backends.cpu.group_shape import Found, GroupShapes
from metalloid.backends.cpu.kernel_cache import KernelCache
from metalloid.backends.cpu.program import Program
from metalloid.backends.cpu.proofs import LazyProof, Proofs, Provable, name_of, provable
from metalloid.backends.fallback import Stages, slow_way, warn_of_baseline
from metalloid.backends.patience import Patience
from metalloid.errors import NotVectorised, OutOfTime
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.analysis.intervals.prove import Prover
    from metalloid.backends.base import Launch, Triple
    from metalloid.backends.cpu.checked.program import CheckedProgram
    from metalloid.ir import Module
    from metalloid.transforms.check_sites import Options


# Characters of code under observation. Longer code (a flash attention has 9 million) would keep LLVM's optimiser busy
# for longer than a check runs.
LONG = 4_000_000
PRICE = (
    4e-5  # seconds of good code for each character of scalar IR: 123,000 of a flash attention's took 5.6 s
)


def cpu_program(
    ir: str,
    signature: Signature,
    width: int = 0,
    target: codegen.Target | None = None,
    level: int = 1,
    patience: Patience | None = None,
) -> Program:
    """A program for the CPU. `width` forces a number of lanes; `level` 0 leaves LLVM's optimiser out.

    With `patience`, small launches begin with baseline code.
    """
    names = {p.index: p.name for p in signature.parameters if p.kind == "buffer"}
    made = Vectors(ir, width, target or codegen.host(), level)
    shapes = None if width else made.shapes  # a forced width is for the launch's own threadgroup
    return Program(
        *(signature.name, made.compile, names, made.target, lambda: made.proofs, shapes, patience),
        copies=lambda: made.provable.adds,
        rests=lambda: made.provable.writes_rows,
    )


def patience(ir: str) -> Patience | None:
    """For one kernel; none where baseline code is turned off."""
    return Patience(len(ir) * PRICE) if config.baseline() else None


def checked_program(ir: str, signature: Signature, width: int = 0, level: int = 1) -> CheckedProgram:
    """A kernel under observation, from IR that keeps every access (`scalar(..., checked=True)`)."""
    from metalloid.backends.cpu.checked.program import CheckedProgram
    from metalloid.ir.debug import variable_name
    from metalloid.transforms.instrument import read_once

    made = Vectors(ir, width, codegen.host(), level, checked=True)
    names = {g.name: variable_name(made.module, g) for g in made.module.globals}

    def make(options: Options) -> Program:
        def compile(variant: Variant, baseline: bool) -> Compiled:
            native.checks()  # which the code refers to
            return made.compile(variant, baseline, options)

        return Program(
            *(signature.name, compile, {}, made.target, lambda: made.proofs),
            patience=patience(ir) if level else None,
        )

    return CheckedProgram(ir, make, names, read_once(made.module))


class Vectors:
    """The vector code of one kernel for one processor, and what can be proved of it."""

    def __init__(
        self, ir: str, width: int, target: codegen.Target, level: int, checked: bool = False
    ) -> None:
        self.ir, self.width, self.target, self.level = ir, width, target, level
        self._checked = checked
        self._shelf = KernelCache(ir)
        self._sized: dict[Triple, Module] = {}
        self._provers: dict[Triple, Prover] = {}
        self._common: dict[object, CommonProof] = {}  # of baseline code, by variant but for its proof

    @cached_property
    def module(self) -> Module:
        with slow_way(self.ir, "canonical form", stages=self._stages((256, 1, 1))):
            from metalloid.transforms.canonicalize import canonical

            with stopwatch.stage("canonical form"):
                return self._with_lane_sums(canonical(self.ir))

    def _with_lane_sums(self, module: Module) -> Module:
        """Who watches a kernel sees each lane do what the author wrote."""
        from metalloid.transforms.lane_sums import lane_sums

        return module if self._checked else lane_sums(module)

    @cached_property
    def prover(self) -> Prover:
        from metalloid.analysis.intervals.prove import Prover

        module = self.module
        with slow_way(self.ir, "what can be proved"):
            return Prover(module)

    @cached_property
    def provable(self) -> Provable:
        return provable(self._shelf, lambda: self.prover, self.target)

    @cached_property
    def proofs(self) -> Proofs | None:
        """None where the kernel is too large to be proved before each launch."""
        known = self.provable
        if not known.worthwhile:
            return None
        return Proofs(self._shelf, self._prover_for, known.parameters, known.outputs)

    def _prover_for(self, launch: Launch) -> tuple[Prover, Triple | None]:
        """The prover of a launch's code: where all threadgroups are whole, their size is a number in it."""
        size = launch.threadgroup
        if any(g % s for g, s in zip(launch.grid, size, strict=True)) or self.sized(size) is self.module:
            return self.prover, None
        if size not in self._provers:
            from metalloid.analysis.intervals.prove import Prover

            with slow_way(self.ir, "what can be proved"):
                self._provers[size] = Prover(self.sized(size))
        made = self._provers[size]
        return (made, size) if made.worthwhile else (self.prover, None)

    def sized(self, size: Triple) -> Module:
        """The module for whole threadgroups of one size; the same for all where nobody asks for it."""
        if size not in self._sized:
            from metalloid.transforms.fold_sizes import asks_for_size, folded

            module = self.module
            with slow_way(self.ir, "the size of a threadgroup", size):
                own = self._with_lane_sums(folded(self.ir, size)) if asks_for_size(module) else module
                self._sized[size] = own
        return self._sized[size]

    def _module_of(self, variant: Variant, proof: Hashable, check: Options | None) -> Module:
        """The module that a variant is made of: with a proof, the one that it speaks of."""
        from metalloid.analysis.intervals.prove import Proof

        size, ragged, tables = variant[:3]
        whole = not (ragged or tables) and check is None
        if isinstance(proof, Proof):
            return self.sized(size) if proof.size is not None else self.module
        return self.sized(size) if whole else self.module

    @cached_property
    def shapes(self) -> GroupShapes:
        return GroupShapes(self._shelf, self._gang_shape)

    def _gang_shape(self, grid: Triple) -> Found | None:
        from metalloid.backends.cpu.lower.free_shape import divides, gang_shape, is_free, may_run_twice
        from metalloid.transforms.stage_rows import stageable

        module = self.module
        with slow_way(self.ir, "the shape of threadgroups"):
            if not is_free(module):
                return None
            across = self.target.info.staged_row
            staged = stageable(module, across, 2, perhaps=True)
            tall, twice = across if staged else 0, staged is not None and may_run_twice(module)
            return Found(gang_shape(module, grid, self.target.info), tall, twice, divides(module))

    def compile(self, variant: Variant, baseline: bool = False, check: Options | None = None) -> Compiled:
        """Machine code of one variant; good code where it is there, even if `baseline` would do. Where good code cannot
        be made, baseline code is tried. May raise NotVectorised."""
        try:
            return self._found_or_made(variant, baseline, check)
        except OutOfTime:
            raise
        except NotVectorised as error:
            if baseline:
                raise
            try:
                made = self._found_or_made(variant, True, check)
            except NotVectorised:
                raise error from None
            warn_of_baseline(error)
            return made

    def _found_or_made(self, variant: Variant, baseline: bool, check: Options | None) -> Compiled:
        *shape, proof = variant
        if not isinstance(proof, LazyProof):
            return self._kept(shape, proof, check, baseline) or self._made(
                shape, proof, proof, check, baseline
            )
        found = self._kept(shape, proof.name, check, baseline)
        if found is not None:
            return found
        known = rests = proof.proof()
        if baseline and check is None:
            rests = self._common.setdefault(tuple(shape), CommonProof()).of(known)
        name = name_of(rests)  # of this one: made again, it may have found less than was claimed
        found = self._kept(shape, name, check, baseline) or self._made(shape, rests, name, check, baseline)
        if found.baseline and name != proof.name == name_of(
            known
        ):  # the next process finds it without a proof
            self._shelf.keep(self._key(*shape, proof.name, check, True), found)
        return found

    def _kept(
        self, shape: Sequence[Any], name: Hashable, check: Options | None, baseline: bool
    ) -> Compiled | None:
        for tier in (False, True)[: 1 + baseline]:
            found = self._shelf.code(self._key(*shape, name, check, tier), tier)
            if found is not None:
                return found
        return None

    def _made(
        self, shape: Sequence[Any], proof: Hashable, name: Hashable, check: Options | None, baseline: bool
    ) -> Compiled:
        from metalloid.backends.cpu.pipeline import compiled, vector_code

        size, ragged, tables, guard, backwards = shape
        variant = size, ragged, tables, guard, backwards, proof
        module = self._module_of(variant, proof, check)
        with slow_way(self.ir, "vector code", size, self._stages(size)), stopwatch.stage("vector code"):
            brief = baseline and check is None
            code = vector_code(
                module, variant, self.width, self.target, check, plain=self.module, brief=brief
            )
        level = self.level if check is None or len(code.text) < LONG else 0
        made = compiled(code, self.target, level, baseline)
        self._shelf.keep(self._key(*shape, name, check, baseline), made)
        return made

    def _stages(self, size: Triple) -> Stages:
        from metalloid.backends.cpu.pipeline import STAGES

        return {name: partial(stage, self.ir, size, self.target) for name, stage in STAGES.items()}

    def _key(self, *parts: object) -> str:
        return self._shelf.key(
            "code", self.width, codegen.triple(self.target), self.target, self.level, *parts
        )

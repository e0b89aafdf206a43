"""Proofs of one kernel, asked for in the words of a launch, and kept.

A launch whose facts were proved before gets a claim: the name of the proof, which is all that finding its code takes.
The proof itself is made again only where that code is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from metalloid import stopwatch
from metalloid.backends.base import Launch, Triple
from metalloid.backends.cpu.kernel_cache import KernelCache, stable_repr
from metalloid.backends.fallback import slow_way
from metalloid.hashes import sha256
from metalloid.records import dataclass, field, replace

if TYPE_CHECKING:
    from metalloid.analysis.intervals.prove import Proof, Prover
    from metalloid.backends.cpu.codegen import Target
    from metalloid.ir import Function, Module
    from metalloid.targets import TargetInfo

MOST_KEPT = 64  # of a kernel, by one process: numbers that change with every launch must not fill the disk
_NOTHING = b"-"


@dataclass(frozen=True)
class LazyProof:
    """A proof by its name."""

    name: str
    apart: bool  # no memory is bound twice, as far as anybody looked
    proof: Callable[[], Proof] = field(compare=False, repr=False)


def name_of(proof: Proof) -> str:
    return sha256(stable_repr(proof).encode()).hexdigest()


class Proofs:
    def __init__(
        self,
        shelf: KernelCache,
        prover: Callable[[Launch], tuple[Prover, Triple | None]],
        parameters: Sequence[int],
        outputs: Sequence[int],
    ) -> None:
        self._shelf, self._prover, self._kept = shelf, prover, 0
        self.parameters, self.outputs = tuple(parameters), tuple(outputs)

    def prove(
        self,
        launch: Launch,
        guard: bool,
        lengths: Mapping[int, int],
        contents: Mapping[int, bytes],
        streams: Sequence[tuple[int, int]],
        soon: bool = False,
        apart: bool = False,
    ) -> LazyProof | None:
        sizes = launch.grid, launch.threadgroup, launch.threadgroup_memory
        key = self._shelf.key("proof", sizes, guard, lengths, contents, streams, soon, apart)

        def prove() -> Proof:
            prover, size = self._prover(launch)
            with slow_way(self._shelf.ir, "a proof", launch.threadgroup), stopwatch.stage("proofs"):
                found = _proof(prover, size, launch, guard, lengths, contents, streams, soon)
                return replace(found, apart=apart and bool(found.accesses))

        if (known := self._shelf.get(key, "proof")) is not None:
            return None if known == _NOTHING else LazyProof(known.decode(), apart, prove)
        found = prove()
        name = name_of(found) if found != type(found)(size=found.size) else ""
        if self._kept < MOST_KEPT:
            self._kept += 1
            self._shelf.put(key, "proof", name.encode() or _NOTHING)
        return LazyProof(name, apart, lambda: found) if name else None


def _proof(
    prover: Prover,
    size: Triple | None,
    launch: Launch,
    guard: bool,
    lengths: Mapping[int, int],
    contents: Mapping[int, bytes],
    streams: Sequence[tuple[int, int]],
    soon: bool,
) -> Proof:
    from metalloid.analysis.intervals.evaluate import BUDGET, SOON
    from metalloid.analysis.intervals.prove import Proof
    from metalloid.analysis.intervals.values import Facts

    found = Proof()
    if guard:
        local = launch.threadgroup_memory
        facts = Facts(launch.grid, launch.threadgroup, launch.threadgroups, lengths, local, contents)
        found = prover.prove(facts, SOON if soon else BUDGET)
    return replace(found, streams=prover.streams(streams), size=size)


@dataclass(frozen=True)
class Provable:
    """What a launch has to know of a kernel before its code is chosen."""

    worthwhile: bool  # not too large to be proved before each launch
    parameters: Sequence[int]
    outputs: Sequence[int]
    adds: bool  # threads may have copies of buffers that it only adds to: code rests on memory that is bound once
    writes_rows: bool  # threads write rows of their own: better code rests on it


def provable(shelf: KernelCache, prover: Callable[[], Prover], target: Target) -> Provable:
    key = shelf.key("what can be proved", target)
    known = shelf.get(key, "json")
    if known is None:
        made = prover()
        adds = any(i.opcode == "atomicrmw" for i in made.function.instructions()) and _only_adds(
            made.function
        )
        rows = made.worthwhile and _writes_rows(made.module, target.info)
        known = json.dumps([made.worthwhile, made.parameters, sorted(made.outputs), adds, rows]).encode()
        shelf.put(key, "json", known)
    return Provable(*json.loads(known))


def _writes_rows(module: Module, target: TargetInfo) -> bool:
    """Whether a loop of one block stores, or threads that run one after the other store in any, or without loops."""
    from metalloid.backends.cpu.lower.lane_or_loop import alone
    from metalloid.ir.intrinsics import ENTRY
    from metalloid.ir.loops import loops

    function = module.function[ENTRY]
    forest = loops(function)
    stores = {n for n in forest.innermost if any(i.opcode == "store" for i in function.block[n].instructions)}
    rows = any(loop.blocks == {loop.header} and loop.header in stores for loop in forest.loops.values())
    return rows or (bool(stores or not forest.loops) and alone(module, target) is not None)


def _only_adds(function: Function) -> bool:
    """Whether there is a buffer that it only adds to."""
    from metalloid.analysis.underlying_objects import UnderlyingObjects
    from metalloid.backends.cpu.lower.ops.own_copies import only_added_to

    return bool(only_added_to(function, UnderlyingObjects(function)))

"""Machine code of one kernel, kept on disk: by everything that it is made from."""

from __future__ import annotations

import hashlib
import pickle
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from metalloid import cache as disk
from metalloid.analysis.intervals.prove import Prover
from metalloid.backends.cuda.driver import Gpu
from metalloid.backends.cuda.form import gpu_form
from metalloid.backends.cuda.ptx import KERNEL, compile_ptx
from metalloid.backends.cuda.record import RECORD
from metalloid.backends.cuda.variant import Variant, inlinable
from metalloid.backends.fallback import slow_way
from metalloid.backends.passes_key import passes_key
from metalloid.backends.sites import Site
from metalloid.errors import DeviceError
from metalloid.ir import Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.types import Signature

MANY = 1024  # threads that a multiprocessor should have room for
REGISTERS = 65536  # of a multiprocessor
PINNED = 48 << 10  # bytes of threadgroup memory that every kernel may have
_FORMAT = 4


@dataclass(frozen=True)
class Loaded:
    """Code that can be launched."""

    variant: Variant
    function: Any
    module: Any  # keeps the function alive
    sites: Callable[[], tuple[Site, ...]]
    formats: tuple[str, ...] = ()  # of messages, by number
    local: int = 0  # bytes of private arrays, and of registers that were spilled

    @cached_property
    def handle(self) -> int:
        return int(self.function)

    @cached_property
    def members(self) -> int:
        return self.variant.members

    def sizes(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Grid, block and threadgroup memory of a launch that has these where threadgroups are worked on one by one."""
        if self.members == 1 and not self.variant.parts:
            return sizes
        groups = self.variant.blocks((sizes[0], sizes[1], sizes[2]))
        return (*groups, *sizes[3:6], sizes[6] * self.members)

    @cached_property
    def carried(self) -> tuple[tuple[int, int, int], ...]:
        """Index, place in the record and bytes of each argument that travels in the launch."""
        return tuple((index, RECORD + at, size) for index, (at, size) in self.variant.inlined.items())


class KernelCode:
    """All code of one kernel on one GPU."""

    def __init__(self, ir: str, signature: Signature, gpu: Gpu) -> None:
        self._ir, self._signature, self._gpu = ir, signature, gpu
        self._lock = threading.Lock()

    @cached_property
    def module(self) -> Module:
        constant = [p.index for p in self._signature.buffers if p.space == "constant"]
        return gpu_form(self._ir, constant)

    @cached_property
    def inlinable(self) -> dict[int, int]:
        parameters = self.prover.parameters if self.prover is not None else ()
        return inlinable(self.module.function[ENTRY], self._signature, parameters)

    @cached_property
    def prover(self) -> Prover | None:
        """None where the kernel is too large to be proved before a launch."""
        with slow_way(self._ir, "a proof"):
            made = Prover(self.module)
            return made if made.worthwhile else None

    def load(self, variant: Variant) -> Loaded:
        key = self._key(variant)
        with self._lock:
            self._gpu.enter()
            entry = disk.default().get(key, "cubin")
            if entry is None:
                with slow_way(self._ir, "code for a GPU", variant.size):
                    ptx = compile_ptx(self.module, self._gpu.processor, variant)
                code, local = self._assembled(ptx.text, variant)
                sites, formats = pickle.dumps(ptx.sites), ptx.formats
                disk.default().put(key, "cubin", pickle.dumps((code, sites, formats, local)))
            else:
                code, sites, formats, local = pickle.loads(entry)
            module, function = self._gpu.load(code, KERNEL)
            if (room := variant.room) > PINNED:
                self._gpu.allow(function, room)
            return Loaded(variant, function, module, lambda: pickle.loads(sites), formats, local)

    def _assembled(self, ptx: str, variant: Variant) -> tuple[bytes, int]:
        """Machine code, and the memory that a thread needs of its own. A multiprocessor should have room for 1024
        threads, and for two threadgroups: some compute while others wait. The compiler is held to the registers for
        that, unless it would have to spill some."""
        plain = self._gpu.assemble(ptx)
        registers, local = self._gpu.needs(plain, KERNEL)
        groups, threads = max(MANY // variant.threads, 2), -(-variant.threads // 32) * 32
        groups = 2 if variant.parts else groups  # their sums fill the registers of a multiprocessor
        while groups > 1 and -(-registers // 8) * 8 * threads * groups > REGISTERS:
            crowded = self._held(several_at_once(ptx, groups))
            if (
                crowded is not None and self._gpu.needs(crowded, KERNEL)[1] <= local
            ):  # private arrays lie there as well
                return crowded, local
            groups //= 2
        return plain, local

    def _held(self, ptx: str) -> bytes | None:
        """None where a function that the kernel calls needs more registers than it is given."""
        try:
            return self._gpu.assemble(ptx)
        except DeviceError:
            return None

    def _key(self, variant: Variant) -> str:
        gpu = self._gpu
        words = (passes_key("cuda", _FORMAT), gpu.processor, gpu.version, self._ir, _stable(variant))
        return hashlib.sha256(repr(words).encode()).hexdigest()


def several_at_once(ptx: str, groups: int) -> str:
    """The kernel with a word for the compiler: so many threadgroups run on one multiprocessor."""
    return re.sub(r"^\.reqntid .*$", rf"\g<0>\n.minnctapersm {groups}", ptx, count=1, flags=re.M)


def _stable(variant: Variant) -> str:
    """The same words in every process: sets are in order."""
    proof = variant.proof
    known = [getattr(proof, f.name) for f in fields(proof)] if proof is not None else []
    proved = [sorted(fact) if isinstance(fact, frozenset) else fact for fact in known]
    inlined = sorted(variant.inlined.items())
    facts = (
        variant.flat,
        variant.guard,
        variant.robust,
        variant.apart,
        variant.even,
        sorted(variant.aligned),
        None if variant.early is None else sorted(variant.early),
        (variant.coarse, sorted(variant.known), variant.local, variant.places),
        [_stable(part) for part in variant.parts],
    )
    return repr((variant.size, facts, inlined, proved))

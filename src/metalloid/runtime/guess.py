"""Does a grid look like a count of threadgroups?

Metal has both ways to launch, and people who come from other systems take one for the other: 1/256 of the
work runs, quickly, and reads as a speed-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from metalloid.backends.base import Triple
from metalloid.findings import launch_words as words
from metalloid.runtime.arguments import WRITES, Memory
from metalloid.runtime.kernel_code import KernelCode
from metalloid.runtime.places import warn_once
from metalloid.runtime.sizes import shown


def warn_about_grid(
    kernel: KernelCode, grid: Triple, threadgroup: Triple, memory: Mapping[int, Memory], form: str = ""
) -> None:
    """Warn, once per place, where far fewer threads run than the outputs and threadgroups tell of."""
    each = prod(threadgroup)
    if each < 2:
        return
    threads = prod(grid)
    asked = {p.builtin for p in kernel.parameters if p.kind == "builtin"}
    if "threadgroup_position_in_grid" in asked and "thread_position_in_grid" not in asked:
        few = threads < each and threads > 1
        why = f"it is less than one threadgroup of {each}, and the kernel works by threadgroups"
    else:
        sizes = {
            p.index: _elements(p.type.size, memory[p.index])
            for p in kernel.signature.buffers
            if _output(p, memory)
        }
        largest = max(sizes.values(), default=0)
        few = largest > threads and -(-largest // each) == threads and not kernel.loops
        # A table that is written where an index from memory says is as long as it is, whatever runs; a thread with
        # several stores (a short loop, unrolled) writes as many elements.
        few = few and any(
            sizes[i] == largest and _one_each(kernel, i) for i in sizes.keys() - kernel.scatters
        )
        why = f"an output has {largest} elements, which is {threads} threadgroups of {each}"
    if few:
        warn_once(
            "M304",
            f"launch {kernel.name}",
            f"{words.threads(kernel.source.form, shown(grid))} looks like a count of threadgroups: {why}.",
            f"{form} threads, not threadgroups: multiply the grid by the threadgroup."
            if form
            else "torch launches threads, not threadgroups: multiply threads by group_size."
            if kernel.source.form == "torch"
            else f"grid counts threads; pass threadgroups={shown(grid)} if threadgroups are meant.",
        )


def _one_each(kernel: KernelCode, index: int) -> bool:
    size = next(p.type.size for p in kernel.signature.buffers if p.index == index)
    return kernel.stored_bytes.get(index, 0) <= size


def _output(parameter: object, memory: Mapping[int, Memory]) -> bool:
    return parameter.access in WRITES and parameter.index in memory  # type: ignore[attr-defined]


def _elements(size: int, memory: Memory) -> int:
    return int(memory.nbytes // max(1, size))

"""The intrinsics between the front end and everything after it: one table of what each means to a pass.

Whoever asks whether an instruction changes memory, orders accesses, needs other lanes or gives all threads the same
asks here. `docs/design/intrinsics.md` says what each computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from functools import cache
from typing import Literal

from metalloid.ir.module import Instruction
from metalloid.ir.values import Int

PREFIX = "__mt_"
ENTRY = f"{PREFIX}entry"
BARRIER = f"{PREFIX}threadgroup_barrier"
SIMD_BARRIER = f"{PREFIX}simdgroup_barrier"


class Effect(Flag):
    """What an instruction does to memory that the kernel can see."""

    NONE = 0
    READS = auto()
    WRITES = auto()
    ORDERS = (
        auto()
    )  # no access before it may come after it, nor the other way round: others' stores show here
    TELLS = auto()  # it is seen by someone, in the order of the accesses around it


CHANGES = Effect.WRITES | Effect.ORDERS  # what was loaded before may not be what is there now
_ANY = Effect.READS | Effect.WRITES | Effect.ORDERS
# Who gets the same result: the threads of a threadgroup, the lanes of a SIMD-group, or nobody.
Same = Literal["threadgroup", "simdgroup", ""]


@dataclass(frozen=True)
class Intrinsic:
    """What passes have to know. `among` says who does it together: a SIMD-group, all threads, or each alone."""

    effect: Effect = Effect.NONE
    among: Literal["", "simdgroup", "threadgroup"] = ""
    same: Same = ""


_ALONE = Intrinsic(same="threadgroup")
_LANES = Intrinsic(among="simdgroup")
_WITHIN_A_GROUP = Intrinsic(among="simdgroup", same="simdgroup")

# By name; a name that ends in "_" stands for all that begin with it. The longest that fits counts.
TABLE: dict[str, Intrinsic] = {
    # where a thread is, and what it was given
    "buffer": _ALONE,
    "threadgroup": _ALONE,
    **dict.fromkeys(
        """threadgroup_position_in_grid threads_per_grid threads_per_threadgroup dispatch_threads_per_threadgroup
        threadgroups_per_grid grid_origin grid_size simdgroups_per_threadgroup dispatch_simdgroups_per_threadgroup
        threads_per_simdgroup thread_execution_width quadgroups_per_threadgroup
        dispatch_quadgroups_per_threadgroup""".split(),
        _ALONE,
    ),
    **dict.fromkeys(
        """thread_position_in_grid thread_position_in_threadgroup thread_index_in_threadgroup
        thread_index_in_simdgroup thread_index_in_quadgroup quadgroup_index_in_threadgroup""".split(),
        Intrinsic(),
    ),
    "simdgroup_index_in_threadgroup": Intrinsic(same="simdgroup"),
    # synchronisation
    "threadgroup_barrier": Intrinsic(_ANY, "threadgroup"),
    "simdgroup_barrier": Intrinsic(_ANY, "simdgroup"),
    "fence": Intrinsic(Effect.ORDERS),
    # among lanes
    "simd_": _LANES,
    "quad_": _LANES,
    **dict.fromkeys(
        (f"simd_{what}_" for what in "sum product min max and or xor broadcast_first".split()),
        _WITHIN_A_GROUP,
    ),
    **dict.fromkeys(
        (f"simd_{what}" for what in "all any ballot active_threads_mask".split()), _WITHIN_A_GROUP
    ),
    # matrices
    "matrix_load_": Intrinsic(Effect.READS, "simdgroup"),
    "matrix_store_": Intrinsic(Effect.WRITES, "simdgroup"),
    "matrix_multiply_accumulate": _LANES,
    # logging
    "log_": Intrinsic(Effect.TELLS),
    # between passes: private arrays, values kept across barriers, where a region stopped, markers of a checked run
    "private": Intrinsic(),
    "spill_": Intrinsic(),
    "reload_": Intrinsic(),
    "state": Intrinsic(),
    "check": Intrinsic(Effect.TELLS),
    "check_": Intrinsic(Effect.TELLS),
}
_MEMORY: dict[str, Effect] = {
    "load": Effect.READS,
    "store": Effect.WRITES,
    "atomicrmw": _ANY,
    "cmpxchg": _ANY,
    "fence": Effect.ORDERS,
}
_COPIES = ("llvm.memcpy", "llvm.memmove", "llvm.memset")


@cache
def intrinsic(name: str) -> Intrinsic | None:
    """The row of a function's name; None where it is no intrinsic of ours."""
    if not name.startswith(PREFIX):
        return None
    short = name.removeprefix(PREFIX)
    if short in TABLE:
        return TABLE[short]
    fitting = [prefix for prefix in TABLE if prefix.endswith("_") and short.startswith(prefix)]
    return TABLE[max(fitting, key=len)] if fitting else None


def effect(i: Instruction) -> Effect:
    """What an instruction does to memory. Atomics order the accesses around them: kernels hand data over with them."""
    if i.opcode != "call":
        return _MEMORY.get(i.opcode, Effect.NONE) | (Effect.ORDERS if i.ordering else Effect.NONE)
    if i.called.startswith("llvm."):
        return Effect.READS | Effect.WRITES if i.called.startswith(_COPIES) else Effect.NONE
    found = intrinsic(i.called)
    if found is None:
        return _ANY
    if i.called == SIMD_BARRIER and isinstance(i.operands[0], Int) and i.operands[0].value == 0:
        return Effect.NONE  # mem_none: lanes wait for each other, and that is all
    return found.effect


def between_threadgroups(i: Instruction) -> bool:
    """Whether threadgroups can talk to each other with it: an atomic or a fence, no barrier."""
    found = intrinsic(i.called) if i.opcode == "call" else None
    return bool(effect(i) & Effect.ORDERS) and (found is None or not found.among)


def among_lanes(i: Instruction) -> bool:
    """Whether the lanes of a SIMD-group do it together."""
    found = intrinsic(i.called) if i.opcode == "call" else None
    return found is not None and found.among == "simdgroup"


def pure(i: Instruction) -> bool:
    """Whether a call of ours can be made again, anywhere, with the same result."""
    found = intrinsic(i.called)
    return found is not None and found.effect is Effect.NONE and not found.among

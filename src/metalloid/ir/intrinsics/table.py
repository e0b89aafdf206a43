"""What each intrinsic means to a pass, and of which family it is."""

from __future__ import annotations

from enum import Flag, auto
from functools import cache
from typing import Literal

from metalloid.ir.intrinsics.names import is_ours, short
from metalloid.ir.intrinsics.parse import FIRST, REDUCTIONS
from metalloid.records import dataclass, replace


class Effect(Flag):
    """What an instruction does to memory that the kernel can see."""

    NONE = 0
    READS = auto()
    WRITES = auto()
    ORDERS = (
        auto()
    )  # no access before it may come after it, nor the other way round: others' stores show here
    TELLS = auto()  # it is seen by someone, in the order of the accesses around it

    def __or__(self, other: Effect) -> Effect:  # the standard library's look each result up by its name
        return _EFFECTS[self._value_ | other._value_]

    def __and__(self, other: Effect) -> Effect:
        return _EFFECTS[self._value_ & other._value_]


_EFFECTS = tuple(Effect(number) for number in range(16))

CHANGES = Effect.WRITES | Effect.ORDERS  # what was loaded before may not be what is there now
ANY = Effect.READS | Effect.WRITES | Effect.ORDERS
# Who gets the same result: the threads of a threadgroup, the lanes of a SIMD-group, or nobody.
Same = Literal["threadgroup", "simdgroup", ""]
# Who is told apart by a position: it differs from lane to lane of a SIMD-group and is the same in the next one, ...
Tells = Literal["lane", "simdgroup", "thread", "threadgroup", ""]
Family = Literal[
    "position",
    "memory",
    "barrier",
    "simd barrier",
    "fence",
    "collective",
    "matrix load",
    "matrix store",
    "matrix product",
    "log",
    "spill",
    "reload",
    "state",
    "row",
    "marker",
]


@dataclass(frozen=True)
class Intrinsic:
    """What passes have to know. `among` says who does it together: a SIMD-group, all threads, or each alone."""

    family: Family
    effect: Effect = Effect.NONE
    among: Literal["", "simdgroup", "threadgroup"] = ""
    same: Same = ""


POSITIONS: dict[str, Tells] = {
    "thread_index_in_simdgroup": "lane",
    "thread_index_in_quadgroup": "lane",
    "simdgroup_index_in_threadgroup": "simdgroup",
    "quadgroup_index_in_threadgroup": "thread",
    "thread_index_in_threadgroup": "thread",
    "thread_position_in_threadgroup": "thread",
    "thread_position_in_grid": "thread",
    "threadgroup_position_in_grid": "threadgroup",
    **dict.fromkeys(
        """threads_per_grid threads_per_threadgroup dispatch_threads_per_threadgroup threadgroups_per_grid
        grid_origin grid_size simdgroups_per_threadgroup dispatch_simdgroups_per_threadgroup
        threads_per_simdgroup thread_execution_width quadgroups_per_threadgroup
        dispatch_quadgroups_per_threadgroup""".split(),
        "",
    ),
}
# By their short names: those that all threads of a threadgroup share, and those that tell them apart.
FIXED_POSITIONS = frozenset(name for name, tells in POSITIONS.items() if tells in ("", "threadgroup"))
VARYING_POSITIONS = frozenset(POSITIONS) - FIXED_POSITIONS

_ALONE = Intrinsic("memory", same="threadgroup")
_LANES = Intrinsic("collective", among="simdgroup")
_WITHIN_A_GROUP = replace(_LANES, same="simdgroup")


def _position(tells: Tells) -> Intrinsic:
    same: dict[Tells, Same] = {"": "threadgroup", "threadgroup": "threadgroup", "simdgroup": "simdgroup"}
    return Intrinsic("position", same=same.get(tells, ""))


# By name; a name that ends in "_" stands for all that begin with it. The longest that fits counts.
TABLE: dict[str, Intrinsic] = {
    # where a thread is, and what it was given
    "buffer": _ALONE,
    "threadgroup": _ALONE,
    **{name: _position(tells) for name, tells in POSITIONS.items()},
    # synchronisation
    "threadgroup_barrier": Intrinsic("barrier", ANY, "threadgroup"),
    "simdgroup_barrier": Intrinsic("simd barrier", ANY, "simdgroup"),
    "fence": Intrinsic("fence", Effect.ORDERS),
    # among lanes
    "simd_": _LANES,
    "quad_": _LANES,
    **dict.fromkeys((f"simd_{what}_" for what in sorted((*REDUCTIONS, FIRST))), _WITHIN_A_GROUP),
    **dict.fromkeys(
        (f"simd_{what}" for what in "all any ballot active_threads_mask".split()), _WITHIN_A_GROUP
    ),
    # matrices
    "matrix_load_": Intrinsic("matrix load", Effect.READS, "simdgroup"),
    "matrix_store_": Intrinsic("matrix store", Effect.WRITES, "simdgroup"),
    "matrix_multiply_accumulate": Intrinsic("matrix product", among="simdgroup"),
    # logging
    "log_": Intrinsic("log", Effect.TELLS),
    # between passes: private arrays, values kept across barriers, where a region stopped, markers of a checked run
    "private": Intrinsic("memory"),
    "spill_": Intrinsic("spill"),
    "reload_": Intrinsic("reload"),
    "state": Intrinsic("state"),
    "gang_barrier": Intrinsic("barrier", ANY, "threadgroup"),
    "same_row": Intrinsic("row"),
    "row": Intrinsic("row"),
    "last_row": Intrinsic("row"),
    "few_rows": Intrinsic("row"),
    "between": Intrinsic("row"),
    "given_row": Intrinsic("row"),
    "check": Intrinsic("marker", Effect.TELLS),
    "check_": Intrinsic("marker", Effect.TELLS),
}


@cache
def intrinsic(name: str) -> Intrinsic | None:
    """The row of a function's name; None where it is no intrinsic of ours."""
    if not is_ours(name):
        return None
    own = short(name)
    if own in TABLE:
        return TABLE[own]
    fitting = [prefix for prefix in TABLE if prefix.endswith("_") and own.startswith(prefix)]
    return TABLE[max(fitting, key=len)] if fitting else None


def family(name: str) -> Family | None:
    found = intrinsic(name)
    return found.family if found else None


def is_position(name: str) -> bool:
    return family(name) == "position"


def is_collective(name: str) -> bool:
    """Whether lanes of a SIMD-group or a quad exchange values."""
    return family(name) == "collective"


def is_matrix(name: str) -> bool:
    return family(name) in ("matrix load", "matrix store", "matrix product")


def is_matrix_load(name: str) -> bool:
    return family(name) == "matrix load"


def is_matrix_store(name: str) -> bool:
    return family(name) == "matrix store"


def is_log(name: str) -> bool:
    return family(name) == "log"


def is_spill(name: str) -> bool:
    return family(name) == "spill"


def is_reload(name: str) -> bool:
    return family(name) == "reload"


def is_marker(name: str) -> bool:
    return family(name) == "marker"

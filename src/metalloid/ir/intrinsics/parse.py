"""What the longer names say: `simd_sum_f32` is a sum of floats over 32 lanes, `matrix_load_b16_device` a load.

The one place where a name is taken apart; the oracle, the passes and the checker ask here.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, cast

from metalloid.ir.intrinsics.names import PREFIX
from metalloid.patterns import pattern
from metalloid.records import dataclass

_COLLECTIVE = pattern(rf"{PREFIX}(simd|quad)_([a-z_]+?)(?:_([fiu])(16|32|64))?")
_MATRIX_ACCESS = pattern(rf"{PREFIX}matrix_(load|store)_b(16|32)_(device|threadgroup)")
_LANES = {"simd": 32, "quad": 4}

# What a collective does. One lane reads the value of one other, which an operand names:
MOVES = frozenset(
    "broadcast shuffle shuffle_xor shuffle_up shuffle_down shuffle_rotate_up shuffle_rotate_down".split()
)
FILLS = frozenset(("shuffle_and_fill_up", "shuffle_and_fill_down"))
FIRST = "broadcast_first"
REDUCTIONS = frozenset("sum product min max and or xor".split())
SCANS = frozenset(
    f"prefix_{extent}_{what}" for extent in ("inclusive", "exclusive") for what in ("sum", "product")
)
VOTES = frozenset("all any ballot active_threads_mask is_first".split())
COLLECTIVES = MOVES | FILLS | {FIRST} | REDUCTIONS | SCANS | VOTES


@dataclass(frozen=True)
class Collective:
    """What lanes of a SIMD-group or a quad do together."""

    group: Literal["simd", "quad"]
    what: str  # "sum", "shuffle_xor", "prefix_inclusive_sum", "ballot" ...
    letter: str  # f, i or u; "" where the name does not say, as in votes
    bits: int  # 0 there

    @property
    def lanes(self) -> int:
        return _LANES[self.group]

    @property
    def function(self) -> str:
        """What Metal calls it: `simd_sum`."""
        return f"{self.group}_{self.what}"


@dataclass(frozen=True)
class MatrixAccess:
    """A load or store of an 8x8 matrix."""

    store: bool
    size: int  # bytes of an element
    space: Literal["device", "threadgroup"]


@cache
def collective(name: str) -> Collective | None:
    """The parts of a collective's name; None for any other."""
    found = _COLLECTIVE.fullmatch(name)
    if found is None or found[2] not in COLLECTIVES:
        return None
    group = cast(Literal["simd", "quad"], found[1])
    return Collective(group, found[2], found[3] or "", int(found[4] or 0))


@cache
def matrix_access(name: str) -> MatrixAccess | None:
    """The parts of the name of a matrix load or store; None for any other."""
    found = _MATRIX_ACCESS.fullmatch(name)
    if found is None:
        return None
    space = cast(Literal["device", "threadgroup"], found[3])
    return MatrixAccess(found[1] == "store", int(found[2]) // 8, space)


def moves(name: str) -> bool:
    """Whether each lane reads one that an operand names: shuffles and broadcasts, but for those that fill."""
    found = collective(name)
    return found is not None and found.what in MOVES

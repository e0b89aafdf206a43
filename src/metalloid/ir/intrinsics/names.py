"""How intrinsics are spelled: `__mt_` and a short name. Nobody else writes one out.

A short name may end in what it is of: `simd_sum_f32`, `reload_i64`. `parse.py` reads those back.
"""

from __future__ import annotations

from metalloid.ir.types import Type

PREFIX = "__mt_"
ENTRY = f"{PREFIX}entry"  # not an intrinsic: the kernel itself

# Where memory begins: what a thread was given, and its own arrays.
BUFFER = f"{PREFIX}buffer"
THREADGROUP = f"{PREFIX}threadgroup"
PRIVATE = f"{PREFIX}private"
MEMORIES = (BUFFER, THREADGROUP, PRIVATE)

BARRIER = f"{PREFIX}threadgroup_barrier"
SIMD_BARRIER = f"{PREFIX}simdgroup_barrier"
GANG_BARRIER = f"{PREFIX}gang_barrier"  # between passes: of threads that one gang runs
FENCE = f"{PREFIX}fence"

SIMD_OPERATIONS = f"{PREFIX}simd_"  # how all begin that lanes of a SIMD-group do together
MATRIX_LOADS = f"{PREFIX}matrix_load_"
MATRIX_STORES = f"{PREFIX}matrix_store_"
MATRIX_PRODUCT = f"{PREFIX}matrix_multiply_accumulate"
MATRICES = f"{PREFIX}matrix_"  # all that 32 lanes do with matrices together
LOG_BEGIN = f"{PREFIX}log_begin"

# Of a number that counts up from lane to lane, and a divisor: whether all lanes are in one row, in which the first and
# the last are, and whether they are in few. And whether all lanes are between two others.
SAME_ROW = f"{PREFIX}same_row"
ROW = f"{PREFIX}row"
LAST_ROW = f"{PREFIX}last_row"
FEW_ROWS = f"{PREFIX}few_rows"
BETWEEN = f"{PREFIX}between"
OF_ROWS = frozenset({SAME_ROW, ROW, LAST_ROW, FEW_ROWS, BETWEEN})
GIVEN_ROW = f"{PREFIX}given_row"  # which row a gang is in, where it was told: the number of the division
STATE = f"{PREFIX}state"  # where a segment stopped
MARKER = f"{PREFIX}check"  # before an access that a checked run looks at
# What the compiler's tests tell: an index that left a dimension of an array (its size, the index), a divisor that is 0
# (`DIVISOR`, 0), a value that nobody has set (`UNSET`, the index it was read with, or -1), a number that its type of
# 8 or 16 bits does not hold (`narrow`, the number).
BOUNDS = f"{MARKER}_bounds"
DIVISOR = -1
UNSET = -1000
_OF_A_MATRIX = "_matrix"


def narrow(width: int, signed: bool) -> int:
    """What stands for an integer type in a marker: -8 and -16, of signed ones -7 and -15."""
    return signed - width


# What is taken off it where the number that does not fit
FROM_UNSIGNED = 32  # comes from an unsigned type (else its 32 bits have a sign),
OF_VECTORS = 64  # is an element of a vector,
FROM_FLOAT = {32: 128, 16: 192}  # comes from a float of so many bits, which are the value then.


def is_ours(name: str) -> bool:
    return name.startswith(PREFIX)


def short(name: str) -> str:
    """`__mt_simd_sum_f32` -> `simd_sum_f32`; other names stay as they are."""
    return name.removeprefix(PREFIX)


def full(short: str) -> str:
    return PREFIX + short


def reload_name(type: Type) -> str:
    """What reads a value of this type that was kept across a barrier."""
    return f"{PREFIX}reload_{_suffix(type)}"


def spill_name(type: Type) -> str:
    """What keeps a value of this type across a barrier."""
    return f"{PREFIX}spill_{_suffix(type)}"


def marker_name(*types: Type, matrix: bool = False) -> str:
    """A marker of an access, by the types of its operands behind the number of the site."""
    return "_".join([MARKER, *map(_suffix, types)]) + (_OF_A_MATRIX if matrix else "")


def lanes_marker_name(amount: Type) -> str:
    """A marker of an operation that reads other lanes."""
    return f"{MARKER}_lanes_{_suffix(amount)}"


def marks_matrix(name: str) -> bool:
    """Whether a marker stands before an access to a whole matrix."""
    return name.startswith(MARKER) and name.endswith(_OF_A_MATRIX)


def matrix_access_name(what: str, size: int, space: str) -> str:
    """`what` is load or store, `size` the bytes of an element, `space` device or threadgroup."""
    return f"{PREFIX}matrix_{what}_b{8 * size}_{space}"


def _suffix(type: Type) -> str:
    return str(type).replace("ptr addrspace(", "p").replace(")", "").replace("ptr", "p0")

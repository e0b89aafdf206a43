"""What code generation asks of a processor."""

from __future__ import annotations

from metalloid.records import dataclass


@dataclass(frozen=True)
class TargetInfo:
    """One kind of processor. Times are in cycles, sizes in bytes."""

    name: str
    vector_bytes: int  # of a register
    vector_registers: int  # as many as a loop's values may fill
    spare_registers: int = 0  # more, for a threadgroup that is one gang with them
    # ---- memory
    line: int = 64  # of the caches
    second_cache: int = 1 << 20  # bytes; of what is larger, most comes from farther out each time
    stream_piece: int = 16  # the least that a store past the caches is aligned to
    staged_row: int = (
        32  # threads of a row that share a copy of a matrix: two of them fill the sums' registers
    )
    stream_from: int = 1 << 25  # outputs so large fit no cache: they are written past them
    walk_ahead: int = 2048  # bytes that a loop along memory asks ahead
    prefetch_beyond: int = 2048  # strides that the processor does not follow by itself
    prefetch_ahead: int = (
        48  # the second cache answers in 15, when nobody else asks, the third in 70 and more
    )
    prefetch_iterations: int = 8  # at most
    work_per_prefetch: int = 4  # registers of arithmetic that hide one; a prefetch takes the place of a load
    # ---- instructions
    gathers: bool = False  # a register of words, each from its own address
    quick_gathers: bool = False  # in less time than as many loads
    scatters: bool = False
    masks_memory: bool = False  # loads and stores of some lanes
    mask_bits: bool = False  # which lanes: a number of 64 bits, one for each
    shuffle_part: int = 16  # of a register: what is inside moves in one cycle
    scales_floats: bool = False  # x * 2^n is one instruction
    # LLVM's names of that instruction, which takes n as a float, and of the one that rounds some lanes of a register
    scaling: tuple[str, ...] = ()
    slow_denormals: bool = False  # a result below 2^-126, zero included, takes as long as a hundred others
    saturates: bool = False  # floats to integers: the nearest there is, in one instruction
    limits_skip_nans: bool = False  # the greater of two floats, whichever is no NaN, is one instruction
    fuses_halves: bool = True  # a * b + c of halves is one instruction
    # LLVM's name of a * b + c of floats, rounded as a fourth operand says; "": there is none
    fused_rounding: str = ""
    flag_bytes: bool = False  # vectors of flags pass from block to block as bytes
    float_table: str = ""  # LLVM's name of a table of 16 floats in a register; "": there is none
    # LLVM's names of what adds four products of bytes to each number of a register, by the signs of their factors
    byte_dots: tuple[tuple[str, str], ...] = ()
    shifts_bytes: bool = False  # each byte of a register, in one instruction

    @property
    def dot_signs(self) -> tuple[str, ...]:
        """The signs of bytes whose products can be added up, those first that take one instruction. With a factor of
        each kind the others can be made of two: `lower/ops/byte_dots.py`."""
        own = tuple(signs for signs, _ in self.byte_dots)
        return own + tuple(signs for signs in ("ss", "uu") if "us" in own and signs not in own)

    @property
    def lanes32(self) -> int:
        """Numbers of 32 bits in a register."""
        return self.vector_bytes // 4

    @property
    def matrix_rows(self) -> int:
        """Rows of 8x8 matrices of floats that lie side by side in a register; 0 where not even one does."""
        return self.vector_bytes // 32

    @property
    def matrix_columns(self) -> int:
        """Registers of sums in each row of a tile: half of all registers hold sums."""
        return max(1, self.vector_registers // 16) if self.matrix_rows else 0

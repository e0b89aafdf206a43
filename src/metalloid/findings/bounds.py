"""What is said about an access outside its memory: how far, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from metalloid.findings import launch_words as words

Triple = tuple[int, int, int]
_PRODUCT = re.compile(r"[^-+]*(\*|<<)[^-+]*")
_INDEX = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Outside:
    """An access that left its memory."""

    write: bool
    name: str  # of the memory, as the user calls it
    offset: int  # in bytes
    size: int  # of the access
    bytes: int  # of the memory
    element: int  # bytes of one element; 0 where it is not known
    grid: Triple
    threadgroup: Triple
    thread: Triple = (0, 0, 0)
    buffer: bool = True  # rather than threadgroup or private memory
    line: str = ""  # the source line
    form: str = "metal"  # how the kernel was given: who makes its outputs
    barrier: bool = False  # whether a barrier follows, which every thread has to reach
    packed: str = ""  # the type without gaps, where elements have some
    start: int = 0  # where in its own buffer the memory was bound, in bytes

    @property
    def message(self) -> str:
        before = self.offset < 0
        distance = -self.offset if before else self.offset + self.size - self.bytes
        unit, side = "byte" if distance == 1 else "bytes", "before" if before else "past"
        far = f"{distance} {unit} {side} '{self.name}' ({self.bytes} bytes)"
        return f"out-of-bounds {'write' if self.write else 'read'}, {far}"

    @property
    def hint(self) -> str:
        return next(said for way in _WAYS if (said := way(self)))

    @property
    def threads(self) -> int:
        return prod(self.grid)

    @property
    def count(self) -> int:
        """How many elements the memory has."""
        return self.bytes // max(1, self.element or self.size)

    @property
    def index(self) -> int:
        return self.offset // max(1, self.element or self.size)


def _negative(o: Outside) -> str:
    if o.offset >= 0:
        return ""
    return (
        f"the index is {o.index}: guard it, or compute it in a signed type and test that it is not negative"
    )


def _small(o: Outside) -> str:
    if o.buffer:
        return ""
    return f"the index is {o.index} and {o.name} has room for {o.count}; make it larger or use an index below {o.count}"


def _groups(o: Outside) -> str:
    """As many threadgroups as there are elements: threads were meant."""
    each = prod(o.threadgroup)
    if each < 2 or not o.count or o.threads != o.count * each:
        return ""
    return (
        f"{o.count} threadgroups of {each} threads are {o.threads} threads, and {o.name} has {o.count} elements:"
        f" for one thread each pass {words.threads(o.form, o.count)}"
        f"{' (dispatch_threads)' * words.has_groups(o.form)}, not as a count of threadgroups"
    )


def _rows(o: Outside) -> str:
    """`y * height + x` where `y * width + x` is meant, or the other way round."""
    (width, height, depth), (x, y, z) = o.grid, o.thread
    if depth > 1 or z or width < 2 or height < 2 or width == height or width * height > o.count:
        return ""
    if y and o.index == y * height + x:
        said, meant = f"y * {height} + x", f"y * {width} + x"
    elif x and o.index == x * width + y:
        said, meant = f"x * {width} + y", f"x * {height} + y"
    else:
        return ""
    return f"thread ({x}, {y}) goes to {said}; the grid is {width} wide and {height} high: index with {meant}"


def _stride(o: Outside) -> str:
    """`i * 4` where each thread has one element of its own; `i * n + j` is a row, whatever it is a multiple of."""
    x, stride = o.thread[0], o.index // o.thread[0] if o.thread[0] else 0
    scaled = any(_PRODUCT.fullmatch(index) for index in _INDEX.findall(o.line))
    if o.thread[1:] != (0, 0) or stride < 2 or o.index != x * stride or not scaled or o.threads > o.count:
        return ""
    return (
        f"thread {x} goes to element {x} * {stride} = {o.index}; with {o.threads} threads that takes"
        f" {(o.threads - 1) * stride + 1} elements and {o.name} has {o.count}: make it larger, or leave out the"
        f" factor {stride}"
    )


def _packed(o: Outside) -> str:
    """A float3 takes 16 bytes; data of three floats each takes 12."""
    each = o.element * 3 // 4
    if not o.packed or o.bytes % each or not 0 <= o.index < o.bytes // each:
        return ""
    return (
        f"a {o.packed.removeprefix('packed_')} takes {o.element} bytes, and {o.name} looks like {o.bytes // each} of"
        f" {each} bytes each: declare it as {o.packed}*"
    )


def _view(o: Outside) -> str:
    """A buffer that was bound with an offset, and ends earlier than threads think."""
    each = max(1, o.element or o.size)
    if not o.start or not o.buffer or not 0 <= o.offset < o.start + o.bytes:
        return ""
    return (
        f"{o.name} is bound with an offset of {o.start} bytes, {o.start // each} elements, so that {o.count} are left,"
        f" and the index is {o.index}: bind it with a smaller offset, or keep the index below {o.count}"
    )


def _guard(o: Outside) -> str:
    if o.threads > o.count and o.barrier:
        use = "write only where" if o.write else "read it only where"
        return (
            f"the grid has {o.threads} threads and {o.name} {o.count} elements; {use} the index is below {o.count}"
            f"{'' if o.write else f', as in i < {o.count} ? {o.name}[i] : 0'}, and do not return: a barrier follows"
        )
    (wide, high, _), (x, y, z) = o.grid, o.thread
    shared = o.threads >= 2 * o.count and o.index != x + wide * (
        y + high * z
    )  # several threads to an element
    if o.threads > o.count and not shared:
        larger = ", or make it larger: output_shapes" if o.form == "mlx" and o.write else ""
        return (
            f"the grid has {o.threads} threads and {o.name} {o.count} elements;"
            f" return before this line where the index is not below {o.count}{larger}"
        )
    return (
        f"the index is {o.index} and {o.name} has {o.count} elements; make it larger, or use it only where the index is"
        f" below {o.count}"
    )


# The first that has something to say.
_WAYS: tuple[Callable[[Outside], str], ...] = (
    _negative,
    _small,
    _packed,
    _groups,
    _rows,
    _view,
    _stride,
    _guard,
)

BARRIER_HINT = (
    "let every thread reach the barrier: instead of returning before it, put the work in `if (...) { }` and"
    " leave the barrier outside"
)

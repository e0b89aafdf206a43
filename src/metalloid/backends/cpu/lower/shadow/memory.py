"""Words of shadow memory in vector code: where they lie, how they are read, compared and written.

A word is serial | site | agreed | thread (runtime/check.cpp). `ShadowVector` is a number of words that one event looks
at: neighbours, or one per lane at any place; under a mask or not.
"""

from __future__ import annotations

from functools import cached_property

from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.pointers import start_of
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.records import dataclass
from metalloid.transforms.instrument import Checks

WRITER, FIRST, OTHER = 0, 8, 16  # fields of a Shadow
WINDOW, IN_WINDOW = 40, 48


@dataclass(frozen=True)
class Layout:
    """How a word is divided, for one kernel and size of threadgroup."""

    bits: int  # of a word
    thread_bits: int
    site_bits: int

    @property
    def type(self) -> str:
        return f"i{self.bits}"

    @property
    def thread_mask(self) -> int:
        """Bits in which two words of one thread are equal; one that others agree with is nobody's alone."""
        return (2 << self.thread_bits) - 1


def layout(checks: Checks, threads: int) -> Layout:
    return Layout(64 if checks.options.wide else 32, max(1, (threads - 1).bit_length()), checks.site_bits)


def check(e: Emitter) -> str:
    return e.launch_field(abi.CHECK, "ptr")


def constant_field(e: Emitter, offset: int, type: str) -> str:
    """Something of the Check that stays the same for the whole launch; read once, at the start."""
    key = f"check:{offset}:{type}"
    if key not in e.launch_values:
        base = check(e)
        at, name = e.name("at"), e.name("field")
        e.prologue.append(f"  {at} = getelementptr i8, ptr {base}, i64 {offset}")
        e.prologue.append(f"  {name} = load {type}, ptr {at}, !invariant.load !0")
        e.launch_values[key] = name
    return e.launch_values[key]


def moment(e: Emitter, offset: int, type: str) -> str:
    """Something of the Check as it is now."""
    base = check(e)
    at = e.at_start(f"check.at:{offset}", f"getelementptr i8, ptr {base}, i64 {offset}")
    return e.put(f"load {type}, ptr {at}")


def shadow_number(root: UnderlyingObject) -> int:
    return root.index if root.kind == "buffer" else abi.LOCAL_SHADOW


def words(e: Emitter, root: UnderlyingObject, which: int) -> str:
    return constant_field(e, abi.SHADOW_PLACES + abi.SHADOW_SIZE * shadow_number(root) + which, "ptr")


def window(e: Emitter, root: UnderlyingObject) -> tuple[str, str]:
    """The first byte of a buffer that has words, and how many bytes have."""
    at = abi.SHADOW_PLACES + abi.SHADOW_SIZE * shadow_number(root)
    return constant_field(e, at + WINDOW, "i64"), constant_field(e, at + IN_WINDOW, "i64")


def shadow_offset(e: Emitter, root: UnderlyingObject, offset: str) -> str:
    """An offset from a root as one into what its shadow covers."""
    if root.kind == "buffer" or root.kind == "unknown":
        return offset
    start = start_of(e, root)
    return offset if start == "0" else e.put(f"add i64 {offset}, {start}")


class ShadowVector:
    """Words of one event: `count` neighbours from `start`, or one for each index of a vector."""

    def __init__(
        self, e: Emitter, words: Layout, count: int, start: str, indices: str | None, mask: str | None
    ) -> None:
        self.e, self.words, self.count, self.start, self.indices, self.mask = (
            e,
            words,
            count,
            start,
            indices,
            mask,
        )

    @property
    def vt(self) -> str:
        return f"<{self.count} x {self.words.type}>"

    @property
    def vb(self) -> str:
        return f"<{self.count} x i1>"

    def splat(self, ref: str) -> str:
        return self.e.splat(self.words.type, ref, self.count)

    def put(self, text: str) -> str:
        return self.e.put(text)

    @cached_property
    def _whole(self) -> bool:
        """Whether neighbours of which some are off are read and written all the same.

        Where the processor has no such loads and stores, each word would be a branch: a tree of sums took 22 times as
        long as unchecked. Arrays of words have room on both sides, and one thread runs a checked launch.
        """
        return not self.e.out.target.masks_memory and self.count <= abi.SHADOW_ROOM

    def _address(self, array: str) -> str:
        if self.indices is not None:
            return self.put(
                f"getelementptr {self.words.type}, ptr {array}, <{self.count} x i64> {self.indices}"
            )
        return self.put(f"getelementptr {self.words.type}, ptr {array}, i64 {self._from}")

    @cached_property
    def _from(self) -> str:
        """The first word; where no lane is on, it may be any number, and another stands for it."""
        if self.mask is None or not self._whole:
            return self.start
        some = self.any(self.put(f"freeze {self.vb} {self.mask}"))
        return self.put(f"select i1 {some}, i64 {self.start}, i64 0")

    def load(self, array: str) -> str:
        e, n, t = self.e, self.count, self.words.type
        align, at = self.words.bits // 8, self._address(array)
        if self.indices is not None:
            return masked.gather(e, at, self.mask, t, align, n)
        if self.mask is None or self._whole:
            return self.put(f"load {self.vt}, ptr {at}, align {align}")
        return masked.load(e, at, self.mask, t, align, n)

    def store(self, array: str, value: str, only: str | None = None) -> None:
        e, n, t = self.e, self.count, self.words.type
        align, at = self.words.bits // 8, self._address(array)
        mask = only if only is not None else self.mask
        if self.indices is not None:
            masked.scatter(e, at, mask, t, align, value, n)
        elif mask is None or self._whole:
            if mask is not None:
                old = self.put(f"load {self.vt}, ptr {at}, align {align}")
                value = self.put(f"select {self.vb} {mask}, {self.vt} {value}, {self.vt} {old}")
            e.do(f"store {self.vt} {value}, ptr {at}, align {align}")
        else:
            masked.store(e, at, mask, t, align, value, n)

    # ---- flags ----------------------------------------------------------------------------------------------

    def compare(self, how: str, a: str, b: str) -> str:
        return self.put(f"icmp {how} {self.vt} {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.put(f"and {self.vb} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.put(f"or {self.vb} {a}, {b}")

    def masked(self, flags: str) -> str:
        return self.both(flags, self.mask) if self.mask is not None else flags

    def any(self, flags: str) -> str:
        bits = self.put(f"bitcast {self.vb} {flags} to i{self.count}")
        return self.put(f"icmp ne i{self.count} {bits}, 0")

    def number(self, flags: str) -> str:
        """How many are set, as an i64."""
        n = self.count
        bits = self.put(f"bitcast {self.vb} {flags} to i{n}")
        if n < 64:
            wide = self.put(f"zext i{n} {bits} to i64")
            self.e.out.declare("llvm.ctpop.i64", "declare i64 @llvm.ctpop.i64(i64)")
            return self.put(f"call i64 @llvm.ctpop.i64(i64 {wide})")
        self.e.out.declare(f"llvm.ctpop.i{n}", f"declare i{n} @llvm.ctpop.i{n}(i{n})")
        found = self.put(f"call i{n} @llvm.ctpop.i{n}(i{n} {bits})")
        return found if n == 64 else self.put(f"trunc i{n} {found} to i64")

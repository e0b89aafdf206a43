"""LLVM: vector IR to machine code for this processor, and machine code into this process."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property

import llvmlite

from metalloid import cache as disk
from metalloid import deadline, llvm, stopwatch, targets
from metalloid.backends.cpu.flag_slots import flags_as_bytes
from metalloid.backends.cpu.parallel_codegen import (
    Halves,
    OtherProcess,
    Part,
    answer,
    can_start,
    halves,
    joined,
    parted,
)
from metalloid.backends.cpu.short_blocks import short_blocks
from metalloid.errors import DeviceError, NotVectorised
from metalloid.hashes import sha256
from metalloid.records import dataclass
from metalloid.targets import TargetInfo, probe

_FORMAT = 13  # of what is done here to a text; part of every key
LOOPS = "; loops in vectors"  # the first line of code whose gangs are one lane: LLVM is to look at its loops
COROUTINE = "presplitcoroutine"  # an attribute of functions
LARGE = 20_000  # lines of a module
TANGLED = 50_000  # freezes times blocks
_FEW = (
    "AlwaysInliner",
    "SROA",
    "SimplifyCFG",
    "InstCombine",
    "SimplifyCFG",
    "DCE",
)  # LLVM's passes over long code
_SOON = ("AlwaysInliner", "DCE")  # and over baseline code
_LOCK = threading.RLock()  # llvmlite is not safe to use from several threads at once


@dataclass(frozen=True)
class Target:
    """A processor, in LLVM's words."""

    cpu: str
    features: str
    triple: str = ""  # of another machine: code to look at, not to run

    @cached_property
    def info(self) -> TargetInfo:
        return targets.info(triple(self), self.features)


@cache
def host() -> Target:
    _start()
    found = (llvm.features(), probe.features())
    return Target(llvm.processor(), ",".join(filter(None, found)))


def limited(level: str) -> Target:
    """A lesser x86 processor, to test what its users get: "sse" or "avx2"."""
    return {"sse": Target("x86-64-v2", ""), "avx2": Target("x86-64-v3", "+avx2")}[level]


def triple(target: Target) -> str:
    """Processor, system and kind of object files."""
    return target.triple or llvm.triple()


def as_meant(text: str, target: Target) -> str:
    """IR whose minima and maxima leave out any NaN, on any processor.

    What LLVM calls minnum is one instruction of aarch64, which makes a NaN of a signaling one. minimumnum is what x86
    makes of minnum, and the oracle: the other number.
    """
    if not triple(target).startswith(("aarch64", "arm64")):
        return text
    return text.replace("@llvm.minnum.", "@llvm.minimumnum.").replace("@llvm.maxnum.", "@llvm.maximumnum.")


def as_written(text: str) -> str:
    """IR whose sums and products LLVM computes as they stand, so that good and baseline code have the same bits.

    Which of them it fuses or reorders depends on its passes; `transforms/fuse_products.py` has done it before.
    """
    for permission in (" reassoc", " contract", " arcp"):
        text = text.replace(permission, "")
    return text


@cache
def _start() -> None:
    # What aarch64 has instead without optimisation asserts in LLVM 22, and makes wrong code, of vectors of addresses.
    llvm.set_option("-global-isel=0")
    # Nor the fast selector: kill flags of long vectors are wrong there, and the register allocator asserts. 3% slower.
    llvm.set_option("-fast-isel=0")
    llvm.start()


def machine(target: Target, optimise: int = 2) -> llvm.Machine:
    _start()
    if target.triple:
        llvm.start_all()
    return llvm.Machine(triple(target), target.cpu, target.features, optimise, loaded=True)


def optimise(
    text: str,
    target: Target,
    level: int,
    ready: bool = False,
    few: bool | None = None,
    finish: Callable[[str], str] | None = None,
    baseline: bool = False,
) -> tuple[llvm.Module, llvm.Machine]:
    """A verified, optimised module; one that is `ready` was optimised before, and only becomes good machine code.

    `few` says whether a few passes are enough, where that is known; `baseline`, that they are, and that machine code is
    wanted soon, not fast.
    """
    made = machine(target, 2 if (level or ready) and not baseline else 0)
    head = f'target triple = "{triple(target)}"\ntarget datalayout = "{made.layout}"\n'
    width = f'"prefer-vector-width"="{8 * target.info.vector_bytes}" "min-legal-vector-width"="0"'
    text = (
        as_meant(text, target)
        .replace(" nounwind {", f" nounwind {width} {{")
        .replace("noinline cold {", f"noinline cold {width} {{")
    )
    loops = level > 0 and text.startswith(LOOPS)
    text = as_written(text)
    text = flags_as_bytes(text) if target.info.flag_bytes else text
    text = finish(text) if finish is not None else text
    text = short_blocks(text) if baseline and COROUTINE not in text else text
    try:
        module = llvm.parse(head + text)
        module.verify()  # parsing lets code through that makes the optimiser hang
    except RuntimeError as error:
        raise NotVectorised(
            f"[engine] LLVM finds the vector code broken: {str(error).strip()[:2000]}"
        ) from None
    builder = llvm.Builder(made, 2 if loops else level, loops)
    if few is None:
        few = level > 0 and takes_long(text)
    if few or baseline:
        _run_few(module, made, builder, text, baseline)
    else:
        builder.pipeline().run(module, builder)
    return module, made


def takes_long(text: str) -> bool:
    """Whether LLVM's own pipeline would take seconds, nearly all of them for eight runs of InstCombine."""
    return text.count("\n") > LARGE or tangled(text)


def tangled(text: str) -> bool:
    """Whether InstCombine takes long: it climbs through the blocks above a freeze whenever it asks what is known of
    one (5 s of a flash attention's baseline code, whose blocks are short)."""
    return text.count("= freeze ") * text.count(":\n") > TANGLED


def _run_few(
    module: llvm.Module,
    made: llvm.Machine,
    builder: llvm.Builder,
    text: str,
    baseline: bool,
) -> None:
    """InstCombine once: flash attention runs as fast, and its passes take 0.4 s instead of 1.5 to 2.8.

    Not for all code: ggml's mul_mm, which is a third as long, is 9% slower with it.
    A coroutine is taken apart by LLVM's pipeline without optimisation, when its variables are values: what lives across
    no barrier then stays out of its frame. What is left of its copies that only end it goes afterwards.
    Else values stay in their slots in baseline code: LLVM copies each vector that passes through a block into a slot of
    its own there without optimisation (MLX's col_reduce_looped: 3.0 MB of code, 0.7 with slots). Nor is there
    InstCombine: it saved the code generator nothing (48 kernels: 15% of LLVM's time; hashcat's longest: 2.4 of 3.5 s).
    """
    coroutine = COROUTINE in text
    if coroutine:
        llvm.Passes("AlwaysInliner", "SROA", "InstCombine").run(module, builder)
        none = llvm.Builder(made, 0)
        none.pipeline().run(module, none)
        llvm.Passes("SimplifyCFG", "DCE").run(module, builder)
    else:
        llvm.Passes(*(_SOON if baseline else _FEW)).run(module, builder)


def to_object(
    text: str, target: Target, level: int = 1, ready: bool = False, baseline: bool = False
) -> tuple[str, bytes]:
    """Machine code, from the cache where it is there, and its key."""
    key = sha256(repr((made_by(target), level, ready, baseline)).encode() + text.encode()).hexdigest()
    found = kept_object(key)
    if found is None:
        found = made_object(text, target, level, ready, baseline)
        disk.default().put(key, "o", found)
    return key, found


def made_by(target: Target) -> tuple[object, ...]:
    """What makes an object of a text, for keys."""
    versions = llvmlite.__version__, llvm.version()
    return *versions, triple(target), target.cpu, target.features, _FORMAT


def made_object(text: str, target: Target, level: int, ready: bool, baseline: bool = False) -> bytes:
    """Machine code that is made now, by two processes where it is very long."""
    few = level > 0 and takes_long(text)
    parts = halves(text) if few and COROUTINE not in text else None
    how = target.cpu, target.features, target.triple, level, few, baseline
    if not ready and (seconds := deadline.left()) is not None and text.count("\n") > LARGE and can_start():
        return _made_elsewhere([parts.second, parts.first] if parts else [text], how, seconds, parts)
    if parts is None:
        return _emitted(text, target, level, ready, few, baseline)
    other = OtherProcess(parts.second, *how)
    try:
        first = _emitted(parts.first, target, level, ready, few, baseline)
    finally:
        second = other.result()
    second = second or _emitted(parts.second, target, level, ready, few, baseline)
    return joined([Part(second, parts.exported), Part(first)])


def _made_elsewhere(texts: list[str], how: tuple[object, ...], seconds: float, parts: Halves | None) -> bytes:
    """Long code with a limit of time: by processes that can be ended, which LLVM in this one cannot."""
    started = [OtherProcess(text, *how, seconds=seconds) for text in texts]
    made = [process.result() for process in started]
    if not all(made):
        raise deadline.out_of_time()
    return made[0] if parts is None else joined([Part(made[0], parts.exported), Part(made[1])])


def _emitted(text: str, target: Target, level: int, ready: bool, few: bool, baseline: bool) -> bytes:
    with _LOCK:
        with stopwatch.stage("LLVM's passes"):
            module, made = optimise(text, target, level, ready, few, baseline=baseline)
        with stopwatch.stage("machine code"):
            return bytes(made.emit_object(module))


def serve() -> None:
    """What `OtherProcess` starts: a half of long code from standard input, its object to standard output."""
    text, cpu, features, triple, level, few, baseline = json.load(sys.stdin)
    answer(_emitted(text, Target(cpu, features, triple), level, False, few, baseline))


def kept_object(key: str) -> bytes | None:
    return disk.default().get(key, "o")


def to_assembly(text: str, target: Target, level: int = 1, finish: Callable[[str], str] | None = None) -> str:
    """Machine code to read. `finish` may add to the text, which has its attributes then."""
    with _LOCK:
        module, made = optimise(text, target, level, finish=finish)
        return str(made.emit_assembly(module))


class Code:
    """Machine code in this process, for as long as this object lives."""

    def __init__(self, object_code: bytes, target: Target) -> None:
        self._parts = parted(object_code)  # LLVM reads them where they are
        self._engines: list[llvm.Engine] = []
        with _LOCK, stopwatch.stage("loading"):
            for part in self._parts:
                self._engine = llvm.Engine(machine(target), part.code)
                self._engines.append(self._engine)
                for name in part.exported:
                    add_symbol(name, self.address(name))

    def address(self, name: str) -> int:
        found = self._engine.function(name)
        if not found:
            raise DeviceError(f"[engine] the machine code has no function '{name}'")
        return found

    def table(self, name: str) -> list[tuple[int, int]]:
        """Pairs of numbers that the code holds under this name, up to an empty one."""
        at = self._engine.variable(name)
        found: list[tuple[int, int]] = []
        while at:
            start, length = (ctypes.c_uint64 * 2).from_address(at)
            if not start:
                break
            found.append((start, length))
            at += 16
        return found


def add_symbol(name: str, address: int) -> None:
    """Make a native function known to code that is loaded later."""
    llvm.add_symbol(name, address)

"""Run the clang inside the `ziglang` wheel.

Device mode of SYCL on the amdgcn triple: address-space overloads, copies of classes out of device
memory, lambdas and half all work there, and its -O2 pipeline resolves almost every pointer to one address
space. Plain C++ and OpenCL C++ each fail on several of these.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

from metalloid import stopwatch
from metalloid.errors import DeviceError
from metalloid.records import dataclass
from metalloid.source import MathMode

if TYPE_CHECKING:
    import subprocess

INCLUDE = Path(__file__).parent / "include"
TIMEOUT = 15.0  # seconds of a processor; of short texts the longest real kernel takes 5
PER_CHARACTER = (
    30e-6  # more of them: hashcat's kernels are a megabyte after needless functions are left out, and take 25
)
PATIENCE = 8  # times as long by the clock: on a busy machine the compiler has to wait for its turn
GAVE_UP = "the compiler gave up"
_OUT_OF_TIME = 24  # SIGXCPU, which not every system has
OUTPUT = 32 << 20  # bytes; macros that double can write without end
MEMORY = 8 << 30  # bytes of address space, so that a template bomb cannot take the machine down

# Of what clang calls warnings: what Metal refuses, and what clang itself takes for errors where nothing is said.
ERRORS = (
    "vla",
    "infinite-recursion",
    "address-of-temporary",
    "invalid-constexpr",
    "non-pod-varargs",
    "register",
    "reserved-user-defined-literal",
    "return-mismatch",
)

TRIPLE = "amdgcn-amd-amdhsa"
_LANGUAGE = (
    *("-x", "c++", "-std=c++17", "-fsycl-is-device"),
    *("-triple", TRIPLE),
    *("-aux-triple", "x86_64-unknown-linux-gnu"),  # without it __bf16 crashes clang
    *("-nostdsysteminc", "-nobuiltininc"),
    *("-fdeclspec", "-fgnuc-version=4.2.1", "-fno-threadsafe-statics", "-fconvergent-functions"),
    "-fno-strict-float-cast-overflow",  # out of range is the nearest number, NaN is 0, for constants too
    # What is read before it is written, what a function without `return` returns, and a loop without end are mistakes;
    # clang would take the code around them for never reached, and leave it out. Larger arrays are left as they are:
    # clearing them costs time in every thread.
    *("-fno-strict-return", "-fno-finite-loops"),
    *("-ftrivial-auto-var-init=zero", "-ftrivial-auto-var-init-max-size=64"),
    "-fexperimental-strict-floating-point",  # lets the math header switch fast math off around itself
    *("-ffp-contract=on", "-ffloat16-excess-precision=none", "-fbfloat16-excess-precision=none"),
    "-fclang-abi-compat=14",  # as on Apple's systems, a packed struct packs members with constructors: packed_float3
    "-faddress-space-map-mangling=no",  # device and constant are one space in LLVM, not in overloads
    *("-ftemplate-depth=512", "-fconstexpr-steps=1000000", "-fbracket-depth", "256"),
    *("-Wno-everything", "-ferror-limit", "20", "-fmessage-length=0"),
    *(f"-Werror={group}" for group in ERRORS),
    *("-fno-caret-diagnostics", "-fdiagnostics-print-source-range-info"),
    "-fno-elide-type",  # `vec<int, [...]>` is no name of Metal's
)

# Shifts and divisions by constants that C++ does not define, as errors.
OUT_OF_RANGE = (
    "-Wno-everything",
    "-Werror=shift-count-overflow",
    "-Werror=shift-count-negative",
    "-Werror=division-by-zero",
)

PREPROCESS = (
    *("-E", "-dD", "-undef", "-x", "c++", "-std=c++17", "-triple", "amdgcn-amd-amdhsa"),
    *("-nostdsysteminc", "-nobuiltininc", "-fgnuc-version=4.2.1"),
    *("-w", "-dE"),  # -dE leaves #embed in the text, where it is refused
    *("-fmessage-length=0", "-fno-caret-diagnostics", "-fdiagnostics-print-source-range-info"),
)

_LOOSE = (
    "-fno-signed-zeros",
    "-mreassociate",
    "-freciprocal-math",
    "-fapprox-func",
    "-ffp-contract=fast",
)
# Fast math may also assume that there are no NaNs and infinities. Nothing here gains speed by it, and masks
# made of -INFINITY, which real kernels write under fast math, would turn into poison.
MATH: dict[MathMode, tuple[str, ...]] = {
    "safe": (),
    "relaxed": _LOOSE,
    "fast": _LOOSE,
}
_MATH_NUMBER: dict[MathMode, int] = {"safe": 0, "relaxed": 1, "fast": 2}

DEBUG = ("-debug-info-kind=standalone", "-dwarf-version=4")
OPTIMISE = (
    *("-O2", "-funroll-loops", "-emit-llvm"),
    "-mcmodel=large",  # else LLVM makes tables of pointers relative, and the module invalid
    *("-mllvm", "-disable-promote-alloca-to-vector", "-mllvm", "-disable-promote-alloca-to-lds"),
    # It looks for operations of AMD's own, which nothing here has: a fifth of the time of a kernel of many blocks.
    *("-mllvm", "-amdgpu-enable-uniform-intrinsic-combine=0"),
    *DEBUG,
)
# For a checked run every access of the user's stays one: conditional loads are not made unconditional (that is
# what the sanitizer's attribute does; its own calls are switched off), and accesses of two lines do not become one.
WATCHES = "-fsanitize=thread"
CHECKED = (
    *OPTIMISE,
    WATCHES,
    *(
        word
        for option in (
            "tsan-instrument-memory-accesses=0",
            "tsan-instrument-func-entry-exit=0",
            "tsan-instrument-atomics=0",
            "tsan-instrument-memintrinsics=0",
            "sink-common-insts=0",
            "hoist-common-insts=0",
            "enable-load-pre=0",
            "disable-licm-promotion",
            "unroll-allow-peeling=0",
        )
        for word in ("-mllvm", f"-{option}")
    ),
)


@dataclass(frozen=True)
class Result:
    output: str
    messages: str
    failed: bool
    stopped: bool = False  # it took too long, or wrote too much: nothing is known of the source


@cache
def executable() -> Path:
    spec = find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise DeviceError("the compiler is missing: install the package 'ziglang' (pip install ziglang)")
    suffix = ".exe" if sys.platform == "win32" else ""
    return Path(spec.submodule_search_locations[0]) / f"zig{suffix}"


def language(math: MathMode, all_swizzles: bool) -> tuple[str, ...]:
    """The flags that a precompiled header and its users must share."""
    return (
        *_LANGUAGE,
        "-cl-single-precision-constant",
        *MATH[math],
        f"-D__METALLOID_MATH__={_MATH_NUMBER[math]}",
        f"-D__METALLOID_ALL_SWIZZLES__={int(all_swizzles)}",
    )


def run(arguments: Sequence[str], text: str | bytes, length: int = 0) -> Result:
    """clang -cc1 with `text` on its standard input. A crash or a time-out is a failed result. `length`: of all that it
    compiles, where most of that was read before."""
    import subprocess  # 4 ms, and most starts find their kernels on disk

    command = [str(executable()), "clang", "-cc1", *arguments]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")}
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        ) as process:
            data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
            seconds = TIMEOUT + int(PER_CHARACTER * max(len(data), length))
            patience = _limit(process.pid, seconds)
            with stopwatch.stage("clang", elsewhere=True):
                output, messages, stopped = _communicate(process, data, seconds * patience)
            if process.returncode == -_OUT_OF_TIME:
                stopped = f"{GAVE_UP} after {seconds:.0f} seconds"
            if stopped:
                return Result("", f"error: {stopped}", True, stopped=True)
    except OSError as problem:
        raise DeviceError(f"the compiler could not be started: {problem}") from problem
    words = messages.decode("utf-8", "replace")
    if process.returncode not in (0, 1):  # a crash prints its own stack, which helps nobody
        first = next((line for line in words.splitlines() if "error:" in line), "")
        words = first or "error: the compiler crashed on this source"
    return Result(output.decode("utf-8", "replace"), words, process.returncode != 0)


def _communicate(process: subprocess.Popen[bytes], data: bytes, timeout: float) -> tuple[bytes, bytes, str]:
    """Feed a process and read what it writes, within limits: (output, messages, why it was stopped)."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stopped: list[str] = []
    output, messages = bytearray(), bytearray()

    def stop(why: str) -> None:
        stopped.append(why)
        process.kill()

    def drain(pipe: IO[bytes], into: bytearray) -> None:
        while not stopped and (piece := pipe.read1(1 << 16)):  # type: ignore[attr-defined]
            into += piece
            if len(into) > OUTPUT:
                stop(f"this source makes the compiler write more than {OUTPUT >> 20} MiB")

    timer = threading.Timer(timeout, stop, (f"{GAVE_UP} after {timeout:.0f} seconds",))
    readers = (
        threading.Thread(target=drain, args=(process.stdout, output)),
        threading.Thread(target=drain, args=(process.stderr, messages)),
    )
    try:
        for thread in (timer, *readers):
            thread.start()
        with contextlib.suppress(OSError):  # one that was stopped, or gave up, reads no more
            process.stdin.write(data)
        with contextlib.suppress(OSError):
            process.stdin.close()
        for thread in readers:
            thread.join()
        process.wait()
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()
    return bytes(output), bytes(messages), "".join(stopped[:1])


def _limit(pid: int, seconds: float) -> int:
    """Limit a process's memory and its time on a processor; how many times as long the clock may run."""
    if sys.platform != "linux":
        return 1  # only the clock is left
    import resource

    try:
        resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.prlimit(pid, resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    except (OSError, ValueError):
        return 1
    return PATIENCE

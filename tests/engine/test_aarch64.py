"""Code for aarch64, made here: of Linux, where it was run under an emulator, and of macOS, where it was not run."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvmlite
import pytest

from metalloid.backends.cpu import native
from metalloid.backends.cpu.codegen import Target, machine, optimise
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.compile import scalar
from metalloid.frontend import find_kernels
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import scalar_ir

LINUX = Target("apple-m1", "+neon", "aarch64-unknown-linux-gnu")
MAC = Target("apple-m1", "+neon", "arm64-apple-darwin23.0.0")
PLAIN = Target("generic", "+neon", "aarch64-unknown-linux-gnu")  # without arithmetic of half
SOURCE = Source((Path(__file__).parents[2] / "bench" / "engine.metal").read_text())
MACHO = bytes.fromhex("cffaedfe0c000001")  # 64 bits, of aarch64
# What every POSIX system's C library has: all that the runtime may ask for.
POSIX = {
    *(
        "pthread_create",
        "pthread_detach",
        "pthread_mutex_init",
        "pthread_mutex_lock",
        "pthread_mutex_trylock",
        "pthread_mutex_unlock",
    ),
    *("pthread_cond_init", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_broadcast"),
    *("posix_memalign", "free", "realloc", "getpid", "clock_gettime", "sched_yield", "sigaction"),
    "pthread_self",
}
LINUX_ONLY = {"sched_getcpu", "sched_getaffinity", "pthread_setaffinity_np"}


def is_object(code: bytes, target: Target) -> bool:
    if target is MAC:
        return code.startswith(MACHO)
    return code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 183


def assembly(text: str, target: Target, size: int = 32) -> str:
    code = vector_code(
        canonical(scalar_ir(text, "k")[0]), ((size, 1, 1), False, False, True, False, None), 0, target
    )
    module, made = optimise(code.text, target, 1)
    return str(made.emit_assembly(module))


NAMES = [k.name for k in find_kernels(SOURCE)]
CASES = [(n, t) for n in NAMES for t in (LINUX, MAC, PLAIN) if t is LINUX or n != "tree"]  # which is long


@pytest.mark.parametrize(("name", "target"), CASES)
def test_neon_code_of_every_kernel_of_the_bench(name, target):
    ir, _ = scalar(SOURCE, name)
    size = (16, 16, 1) if "matmul" in name else (256, 1, 1)
    code = vector_code(canonical(ir), (size, False, False, True, False, None), 0, target)
    module, made = optimise(code.text, target, 1)
    assert is_object(made.emit_object(module), target)
    text = made.emit_assembly(module)
    assert re.search(r"\.4s|ldr\tq|\.16b|ldp\tq", text), "no vector register is used"


@pytest.mark.parametrize("target", [LINUX, MAC], ids=["linux", "mac"])
@pytest.mark.parametrize(("name", "level"), [("runtime.cpp", "-O1"), ("check.cpp", "-O2")])
def test_the_runtime_asks_for_nothing_that_the_system_does_not_have(name, level, target):
    text = native.source_ir(name, level, target.triple)
    module, made = optimise(re.sub(r"^target .*$", "", text, flags=re.M), target, 0, ready=True)
    assert is_object(made.emit_object(module), target)
    functions = llvmlite.parse_assembly(str(module)).functions
    asked = {f.name for f in functions if f.is_declaration and not f.name.startswith("llvm.")}
    known = POSIX | (LINUX_ONLY if target is LINUX else set())
    assert asked <= known, f"{sorted(asked - known)} is not everywhere"
    assert asked if name == "runtime.cpp" else True


def test_waiting_awake_is_not_a_loop_of_nothing():
    text = native.source_ir("runtime.cpp", "-O1", LINUX.triple)
    module, made = optimise(re.sub(r"^target .*$", "", text, flags=re.M), LINUX, 0, ready=True)
    assert "\tisb" in made.emit_assembly(module)


ATOMICS = """kernel void k(device atomic_uint* a, device uint* b, uint i [[thread_position_in_grid]]) {
    threadgroup atomic_uint t[32];
    atomic_store_explicit(&a[3 * i], i, memory_order_relaxed);
    uint x = atomic_load_explicit(&a[3 * i + 100], memory_order_relaxed);
    x += atomic_fetch_add_explicit(&a[x], 1u, memory_order_relaxed);
    x += atomic_fetch_max_explicit(&t[x & 31], x, memory_order_relaxed);
    atomic_compare_exchange_weak_explicit(&a[x], &x, 7u, memory_order_relaxed, memory_order_relaxed);
    b[i] = x;
}"""


@pytest.mark.parametrize("target", [LINUX, MAC], ids=["linux", "mac"])
def test_atomics_of_device_memory_keep_their_neighbours_in_order(target):
    """Processors here see each other's stores in any order; kernels were written where they do not, or with barriers
    that are no instruction."""
    text = assembly(ATOMICS, target)
    for kept in (r"\bstlu?r\b", r"\bldap?u?r\b", r"\bldaddal\b", r"\bcasal\b"):
        assert re.search(kept, text), kept
    assert not re.search(r"\bldumax", text), "nobody else sees threadgroup memory"
    assert not re.search(r"\bldadd\b|\bcas\b", text)


LEAST = """kernel void k(device const float* a, device float* o, uint i [[thread_position_in_grid]]) {
    o[i] = fmin(a[2 * i], a[2 * i + 1]);
}"""


@pytest.mark.parametrize("target", [LINUX, MAC], ids=["linux", "mac"])
def test_a_signaling_nan_is_left_out_like_any_other(target):
    """fminnm would make a quiet one of it and return that; of itself, it is quiet first."""
    text = assembly(LEAST, target)
    assert re.search(r"fminnm(\.4s)?\t(v\d+)(?:\.4s)?, (v\d+)(?:\.4s)?, \3(?:\.4s)?$", text, re.M)


def test_a_machine_can_be_made_of_every_target():
    assert [machine(t).triple.split("-")[0] for t in (LINUX, MAC)] == ["aarch64", "arm64"]

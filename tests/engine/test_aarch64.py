"""Vector code for aarch64: LLVM makes machine code of it here; it was not run on one."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import pytest

from metalloid.backends.cpu.machine import Target, optimise
from metalloid.compile import scalar, vector_code
from metalloid.frontend import find_kernels
from metalloid.passes.canonical import canonical
from metalloid.source import Source

APPLE = Target("apple-m1", "+neon", "aarch64-unknown-linux-gnu")
SOURCE = Source((Path(__file__).parents[2] / "bench" / "engine.metal").read_text())
EM_AARCH64 = 183


@pytest.mark.parametrize("name", [k.name for k in find_kernels(SOURCE)])
def test_neon_code_of_every_kernel_of_the_bench(name):
    ir, _ = scalar(SOURCE, name)
    size = (16, 16, 1) if "matmul" in name else (256, 1, 1)
    code = vector_code(canonical(ir), (size, False, False, True, False, None), 0, APPLE)
    module, made = optimise(code.text, APPLE, 1)
    elf = made.emit_object(module)
    assert elf[:4] == b"\x7fELF" and int.from_bytes(elf[18:20], "little") == EM_AARCH64
    assembly = made.emit_assembly(module)
    assert ".4s" in assembly or "ldr\tq" in assembly or ".16b" in assembly, "no vector register is used"


def test_llvm_here_knows_aarch64():
    assert llvm.Target.from_triple(APPLE.triple).name.startswith("aarch64")

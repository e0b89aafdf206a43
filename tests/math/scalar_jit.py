"""Run functions of the Metal header on this machine's CPU, over whole arrays.

The header is compiled by the front end's clang with the flags of a math mode, the IR is freed of its GPU
triple and address spaces, and LLVM turns the loop around the function into machine code.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from metalloid.backends.cpu.codegen import as_meant, host
from metalloid.frontend import clang
from metalloid.source import MathMode

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

PROLOGUE = """
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#include "metalloid/integer.h"
#include "metalloid/geometric.h"
#include "metalloid/math.h"
#include "metalloid/pack.h"
#include "metalloid/relational.h"
using namespace metal;
#pragma clang attribute pop
"""
AVOID = re.compile(r"[+](.*(bf16|fp16|neconvert).*)")

# Without such an instruction LLVM calls this function. It lives in libgcc; here it is part of the module.
ROUND_TO_BFLOAT = """
define bfloat @__truncsfbf2(float %x) {
  %u = bitcast float %x to i32
  %shifted = lshr i32 %u, 16
  %odd = and i32 %shifted, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %u, %bias
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %shifted, 64
  %nan = fcmp uno float %x, %x
  %bits = select i1 %nan, i32 %quiet, i32 %rounded
  %narrow = trunc i32 %bits to i16
  %result = bitcast i16 %narrow to bfloat
  ret bfloat %result
}
"""


@dataclass(frozen=True)
class Kernel:
    """One expression over arguments a, b, c...; `types` are Metal's names, the result first."""

    name: str
    types: tuple[str, ...]
    expression: str

    def text(self) -> str:
        result, *arguments = self.types
        letters = "abcdefgh"[: len(arguments)]
        parameters = ", ".join(
            f"const {kind}* p{letter}" for kind, letter in zip(arguments, letters, strict=True)
        )
        loads = " ".join(f"{kind} {x} = p{x}[i];" for kind, x in zip(arguments, letters, strict=True))
        return (
            f'extern "C" [[clang::sycl_external]] void {self.name}({parameters}, {result}* out, long n) {{\n'
            f"  for (long i = 0; i < n; i++) {{ {loads} out[i] = {self.expression}; }}\n}}\n"
        )


def compile_text(text: str, math: MathMode) -> str:
    """C++ with the Metal headers in scope -> optimised IR for the GPU triple."""
    flags = [*clang.language(math, False), "-O2", "-emit-llvm", "-I", str(clang.INCLUDE), "-o", "-", "-"]
    result = clang.run(flags, PROLOGUE + text)
    if result.failed:
        raise ValueError(result.messages)
    return result.output


def for_host(ir: str) -> str:
    ir = re.sub(r"^target .*$", "", ir, flags=re.MULTILINE)
    ir = re.sub(r"^attributes #.*$", "", ir, flags=re.MULTILINE)
    ir = re.sub(r" #\d+(?=[ ,\n])", "", ir)
    return as_meant(re.sub(r" addrspace\(\d+\)", "", ir), host()) + ROUND_TO_BFLOAT


@dataclass
class Module:
    """Compiled kernels, called with numpy arrays."""

    kernels: dict[str, Kernel]
    engine: llvm.ExecutionEngine = field(repr=False)
    calls: frozenset[str]

    def __call__(
        self, name: str, *arrays: NDArray[np.generic], dtype: str, width: int = 1
    ) -> NDArray[np.generic]:
        """`width` is the number of values of `dtype` per result (a float3 takes 4)."""
        count = len(arrays[0])
        out = np.zeros((count, width) if width > 1 else count, dtype)
        self.into(name, out, *arrays)
        return out

    def into(self, name: str, out: NDArray[np.generic], *arrays: NDArray[np.generic]) -> None:
        inputs = [np.ascontiguousarray(a) for a in arrays]
        pointers = [a.ctypes.data for a in (*inputs, out)]
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_long)
        signature(self.engine.get_function_address(name))(*pointers, len(out))


def build(kernels: list[Kernel], math: MathMode) -> Module:
    ir = compile_text("".join(k.text() for k in kernels), math)
    calls = frozenset(re.findall(r"call [^@\n]*@([\w.]+)\(", ir))
    module = llvm.parse_assembly(for_host(ir))
    module.verify()
    target = llvm.Target.from_default_triple()
    # Conversions to bfloat in hardware flush denormals, so the engine does not use them either.
    host = llvm.get_host_cpu_features().flatten().split(",")
    features = ",".join(AVOID.sub(r"-\1", f) for f in host)
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True  # what the kernels' vectoriser must be able to do with these functions
    options.loop_interleaving = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Module({k.name: k for k in kernels}, engine, calls)

"""The module that PTX is written from, for the processor of this machine: instructions of a GPU become calls."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from metalloid.backends.cuda.intrinsics import Lowering
from metalloid.backends.cuda.ptx import KERNEL, Ptx, link
from metalloid.backends.cuda.variant import Variant
from metalloid.ir import Module
from metalloid.transforms.canonicalize import canonical

_RULES = (
    (r'(?m)^target (datalayout|triple) = ".*"$', ""),
    (r" ?addrspace\(\d\)", ""),
    (r"\baddrspacecast\b", "bitcast"),
    (r"\.p[1-7](?=\.)", ".p0"),
    (r"\bptx_kernel ", ""),
    (r" byval\(\[\d+ x i8\]\)", ""),
    (r'"target-(cpu|features)"="[^"]*"', ""),
    (r'asm sideeffect "exit;", ""', "@sim_exit"),
    (r"load volatile i32, ptr (\S+?)(?=,|$)(, align \d+)?", r"call i32 @sim_load_volatile(ptr \1)"),
    (r'asm "div\.full\.f32 [^"]*", "=f,f,f"', "@sim_divided"),
)
_MORE = """
declare void @sim_exit()
declare i32 @sim_load_volatile(ptr)
define internal float @sim_divided(float %a, float %b) {
  %c = fdiv float %a, %b
  ret float %c
}
"""


def simulated(ir: str | Module, processor: str = "sm_90", variant: Variant | None = None) -> Ptx:
    """In place of `compile_ptx`: its text is LLVM IR that this machine runs."""
    lowering = Lowering(canonical(ir) if isinstance(ir, str) else ir, variant or Variant())
    linked, _ = link(lowering, processor)
    text = re.sub(r"@llvm\.nvvm\.([\w.]+)", lambda m: "@sim_" + m[1].replace(".", "_"), str(linked))
    for pattern, into in _RULES:
        text = re.sub(pattern, into, text, flags=re.M)
    return Ptx(text + _MORE, tuple(lowering.sites), lowering.local, tuple(lowering.formats))


_KEPT: list[object] = []  # engines must go before their contexts do, so neither goes


def machine_code(text: str) -> int:
    """Where the kernel starts."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True, codemodel="jitdefault"
    )
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    _KEPT.extend((engine, module, context))
    return int(engine.get_function_address(KERNEL))

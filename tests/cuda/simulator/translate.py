"""The module that PTX is written from, for the processor of this machine: instructions of a GPU become calls."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from metalloid.backends.cuda.ptx import KERNEL, Ptx, link, lowerings, written
from metalloid.backends.cuda.variant import Variant
from metalloid.ir import Module

_RULES = (
    (r'(?m)^target (datalayout|triple) = ".*"$', ""),
    (r" ?addrspace\(\d\)", ""),
    (r"\baddrspacecast\b", "bitcast"),
    (r"\.p[1-7](?=\.)", ".p0"),
    (r"\bptx_kernel ", ""),
    (r" byval\(\[\d+ x i8\]\)", ""),
    (r'"target-(cpu|features)"="[^"]*"', ""),
    (r'asm sideeffect "exit;", ""', "@sim_exit"),
    (r'asm sideeffect "(griddepcontrol[^"]*)?", "[^"]*"', "@sim_nothing"),
    (r"load volatile i32, ptr (\S+?)(?=,|$)(, align \d+)?", r"call i32 @sim_load_volatile(ptr \1)"),
    (r'asm "movmatrix\.[^"]*", "=r,r"', "@sim_movmatrix"),
    (r"^declare .*@sim_(mma|ldmatrix)_.*$", ""),
    (r'asm "xor\.b(32|16) [^"]*", "=[fh],[fh]"', r"@sim_negated_\1"),
    (r'asm "div\.full\.f32 [^"]*", "=f,f,f"', "@sim_divided"),
)
_MORE = """
declare void @sim_exit()
define internal void @sim_nothing() {
  ret void
}
declare i32 @sim_load_volatile(ptr)
declare i32 @sim_movmatrix(i32)
declare void @sim_tensor(ptr, i32, i32, ptr, ptr)
declare void @sim_ldmatrix(ptr, ptr, i32, i1)
define internal float @sim_negated_32(float %a) {
  %i = bitcast float %a to i32
  %t = xor i32 %i, -2147483648
  %f = bitcast i32 %t to float
  ret float %f
}
define internal i16 @sim_negated_16(i16 %a) {
  %t = xor i16 %a, -32768
  ret i16 %t
}
define internal float @sim_divided(float %a, float %b) {
  %c = fdiv float %a, %b
  ret float %c
}
"""


def _tensor(kind: str, deep: int) -> str:
    """An instruction for tensor cores, as a call with its operands in memory."""
    word = "<2 x half>" if kind == "f16" else "i32"
    name = f"sim_mma_m16n8k{8 * deep}_row_col_{'f32_f32' if kind == 'f16' else 'bf16'}"
    words, sums = [f"{word} %w{n}" for n in range(3 * deep)], [f"float %c{n}" for n in range(4)]
    lines = [f"define internal {{ float, float, float, float }} @{name}({', '.join(words + sums)}) {{"]
    lines += [f"  %m{n} = alloca [4 x i32]" for n in range(3)]
    for n in range(3 * deep):
        base, at = ("%m0", n) if n < 2 * deep else ("%m1", n - 2 * deep)
        lines += [f"  %p{n} = getelementptr i32, ptr {base}, i32 {at}", f"  store {word} %w{n}, ptr %p{n}"]
    for n in range(4):
        lines += [f"  %q{n} = getelementptr float, ptr %m2, i32 {n}", f"  store float %c{n}, ptr %q{n}"]
    lines.append(f"  call void @sim_tensor(ptr %m2, i32 {int(kind == 'bf16')}, i32 {deep}, ptr %m0, ptr %m1)")
    made = "poison"
    for n in range(4):
        lines += [
            f"  %d{n} = load float, ptr %q{n}",
            f"  %r{n} = insertvalue {{ float, float, float, float }} {made}, float %d{n}, {n}",
        ]
        made = f"%r{n}"
    return "\n".join([*lines, f"  ret {{ float, float, float, float }} {made}", "}", ""])


def _lines(many: int, turned: bool) -> str:
    """An instruction that loads matrices."""
    made = "i32" if many == 1 else "{ " + ", ".join(["i32"] * many) + " }"
    name = f"sim_ldmatrix_sync_aligned_m8n8_x{many}{'_trans' if turned else ''}_b16_p3"
    call = f"call void @sim_ldmatrix(ptr %m, ptr %line, i32 {many}, i1 {int(turned)})"
    return f"""define internal {made} @{name}(ptr %line) {{
  %m = alloca {made}
  {call}
  %r = load {made}, ptr %m
  ret {made} %r
}}
"""


_MORE += "".join(_lines(many, turned) for many in (1, 2, 4) for turned in (False, True))
_MORE += "".join(_tensor(kind, deep) for kind in ("f16", "bf16") for deep in (1, 2))


def simulated(ir: str | Module, processor: str = "sm_90", variant: Variant | None = None) -> Ptx:
    """In place of `compile_ptx`: its text is LLVM IR that this machine runs."""
    parts = lowerings(ir, variant or Variant())
    linked, _ = link(parts, processor)
    text = re.sub(r"@llvm\.nvvm\.([\w.]+)", lambda m: "@sim_" + m[1].replace(".", "_"), str(linked))
    for pattern, into in _RULES:
        text = re.sub(pattern, into, text, flags=re.M)
    return written(text + _MORE, parts)


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

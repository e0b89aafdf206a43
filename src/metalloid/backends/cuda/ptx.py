"""PTX from scalar IR: the kernel and the device runtime are linked, inlined and optimised by LLVM."""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from metalloid import cache as disk
from metalloid.backends.cuda.intrinsics import Lowering
from metalloid.backends.sites import Site
from metalloid.backends.toolchain import compiler
from metalloid.errors import DeviceError, NotVectorised
from metalloid.ir import read, write
from metalloid.ir.intrinsics import ENTRY

TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
KERNEL = "mt_kernel"
_RECORD = 32 * 8 * 2 + 32 * 4 * 2 + 9 * 4 + 2 * 4 + 4 + 2 * 8  # bytes of struct Launch
_SOURCE = Path(__file__).parent / "runtime" / "device.cpp"
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Ptx:
    text: str
    sites: tuple[Site, ...]
    local: int  # bytes of threadgroup memory inside the kernel


@cache
def _start() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def compile_ptx(ir: str, processor: str = "sm_90", guard: bool = True) -> Ptx:
    """PTX of a kernel. May raise NotVectorised."""
    lowering = Lowering(read(ir), guard)
    text = _without_attributes(write(lowering.lowered()))
    kernel = "\n".join(
        [f'target datalayout = "{LAYOUT}"', f'target triple = "{TRIPLE}"', text, *_entry(lowering)]
    )
    with _LOCK:
        _start()
        context = llvm.create_context()
        try:
            linked = llvm.parse_assembly(kernel, context)
        except RuntimeError as error:
            raise NotVectorised(f"[cuda] LLVM cannot read the kernel: {str(error)[:500]}") from None
        linked.link_in(llvm.parse_assembly(_runtime(processor), context))
        for function in linked.functions:
            if not function.is_declaration and function.name != KERNEL:
                function.linkage = "internal"
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
            cpu=processor, features="+ptx80", opt=3
        )
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(linked, builder)
        made = machine.emit_assembly(linked)
    if outside := sorted(set(re.findall(r"^\.extern \.func .*?(\w+)\s*$", made, flags=re.M))):
        raise NotVectorised(f"[cuda] there is no code for {', '.join(outside)} on this device")
    return Ptx(made, tuple(lowering.sites), lowering.local)


def _entry(lowering: Lowering) -> list[str]:
    """The kernel: threads behind the edge end, threadgroup memory is cleared, and the program runs."""
    variables = [g for g in lowering.module.globals if g.space == 3]
    clear = [
        f'  call void @mtd_clear_local(ptr addrspace(3) @"{g.name}", i32 {lowering.layout.size(g.type)}, ptr %launch)'
        for g in variables
    ]
    clear += ["  call void @mtd_clear_dynamic(ptr %launch)"]
    declared = [
        "declare void @mtd_begin(ptr)",
        "declare void @mtd_clear_dynamic(ptr)",
        "declare void @mtd_settle(i32, ptr)",
        *(["declare void @mtd_clear_local(ptr addrspace(3), i32, ptr)"] if variables else []),
    ]
    return [
        *(line for line in declared if line.split("@")[1].split("(")[0] not in lowering.declared),
        f'define ptx_kernel void @{KERNEL}(ptr byval([{_RECORD} x i8]) align 8 "nvvm.grid_constant" %launch) {{',
        "  call void @mtd_begin(ptr %launch)",
        *clear,
        f"  call void @mtd_settle(i32 {int(bool(variables))}, ptr %launch)",
        f"  call void @{ENTRY}(ptr %launch)",
        "  ret void",
        "}",
    ]


def _without_attributes(text: str) -> str:
    """Attribute groups are gone; so are their uses."""
    return re.sub(r" #\d+(?=[,\s]|$)", "", text, flags=re.M)


@cache
def _runtime(processor: str) -> str:
    """runtime/device.cpp as LLVM IR."""
    source = _SOURCE.read_bytes()
    flags = (
        *("-triple", TRIPLE, "-target-cpu", processor, "-target-feature", "+ptx80"),
        *("-O1", "-x", "c++", "-std=c++20", "-emit-llvm", "-nostdsysteminc", "-nobuiltininc"),
    )
    key = hashlib.sha256(source + repr(flags).encode()).hexdigest()
    store = disk.default()
    found = store.get(key, "ll")
    if found is None:
        command = [compiler(), "clang", "-cc1", *flags, "-o", "-", str(_SOURCE)]
        result = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if result.returncode:
            raise DeviceError(
                f"[cuda] the runtime does not compile:\n{result.stderr.decode(errors='replace')}"
            )
        found = result.stdout
        store.put(key, "ll", found)
    return re.sub(
        r'^target datalayout = ".*"$', f'target datalayout = "{LAYOUT}"', found.decode(), flags=re.M
    )

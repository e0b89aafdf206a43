"""PTX from scalar IR: the kernel and what it needs of the device runtime, inlined and optimised by LLVM."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from metalloid import guest
from metalloid.backends.cuda.form import gpu_form
from metalloid.backends.cuda.intrinsics import Lowering
from metalloid.backends.cuda.library import FEATURES, HEAD, TRIPLE, pieces
from metalloid.backends.cuda.parts import chosen, positions
from metalloid.backends.cuda.record import RECORD
from metalloid.backends.cuda.variant import Variant, carried
from metalloid.backends.line_table import LineTable, debug_info
from metalloid.backends.sites import Site
from metalloid.errors import NotVectorised
from metalloid.ir import Module, write
from metalloid.ir.intrinsics import ENTRY, THREADGROUP

KERNEL = "mt_kernel"
_LOCK = threading.RLock()


class GuardedTogether(NotVectorised):
    """A guard would speak for one threadgroup, where several are worked on as one."""


@dataclass(frozen=True)
class Ptx:
    text: str
    sites: tuple[Site, ...]
    local: int  # bytes of threadgroup memory inside the kernel
    formats: tuple[str, ...] = ()  # of messages, by number


@cache
def _start() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    guest.keep_llvm()


def compile_ptx(
    ir: str | Module,
    processor: str = "sm_90",
    variant: Variant | None = None,
    table: LineTable | None = None,
) -> Ptx:
    """PTX of a kernel, scalar or in canonical form already. May raise NotVectorised.

    With a `table`, its lines say where they come from, for people who read them.
    """
    parts = lowerings(ir, variant or Variant())
    parts[0].table = table
    with _LOCK:
        linked, machine = link(parts, processor)
        made: str = machine.emit_assembly(linked)
    if outside := sorted(set(re.findall(r"^\.extern \.func .*?(\w+)\s*$", made, flags=re.M))):
        raise NotVectorised(f"[cuda] there is no code for {', '.join(outside)} on this device")
    return written(made, parts)


def lowerings(ir: str | Module, variant: Variant) -> list[Lowering]:
    """The kernel on its way to PTX, once for each part of a launch."""
    module = gpu_form(ir) if isinstance(ir, str) else ir
    return [Lowering(module, part) for part in variant.parts or (variant,)]


def written(text: str, parts: Sequence[Lowering]) -> Ptx:
    sites = tuple(site for part in parts for site in part.sites)
    return Ptx(text, sites, sum(part.local for part in parts), tuple(parts[0].formats))


def link(parts: Sequence[Lowering], processor: str) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """The whole kernel as LLVM sees it before it writes PTX, optimised."""
    texts: list[str] = []
    called: set[str] = set()
    for n, lowering in enumerate(parts):
        lowering.first_site = sum(len(part.sites) for part in parts[:n])
        text = _without_attributes(write(lowering.lowered()))
        if lowering.sites and lowering.variant.members > 1:
            raise GuardedTogether("[cuda] a guard speaks for one threadgroup")
        lines = [*_part(lowering, n), *(_entry([p.variant for p in parts]) if len(parts) == 1 else [])]
        needs = set(re.findall(r"@(mtd_\w+)", "\n".join(lines)))
        called |= {*lowering.declared, *needs}
        texts.append("\n".join([HEAD, text, *_declared(needs - set(lowering.declared)), *lines]))
    if len(parts) > 1:
        entry = _entry([p.variant for p in parts])
        needs = set(re.findall(r"@(mtd_\w+)", "\n".join(entry)))
        called |= needs
        named = (f"declare void @mt_part_{n}(ptr)" for n in range(len(parts)))
        texts.insert(0, "\n".join([HEAD, *named, *_declared(needs), *entry]))
    elif parts[0].table is not None:
        texts = [debug_info(texts[0])]
    return _optimised(texts, pieces(processor).closure(called), processor)


def _optimised(
    texts: Sequence[str], library: str, processor: str
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    _start()
    context = llvm.create_context()
    try:
        linked, *rest = (llvm.parse_assembly(text, context) for text in texts)
    except RuntimeError as error:
        raise NotVectorised(f"[cuda] LLVM cannot read the kernel: {str(error)[:500]}") from None
    for part in rest:
        for one in (*part.functions, *part.global_variables):
            if not one.is_declaration and not one.name.startswith("mt_part_"):
                one.linkage = "internal"  # each part has its own
        linked.link_in(part)
    linked.link_in(llvm.parse_assembly(library, context))
    for function in linked.functions:
        if not function.is_declaration and function.name != KERNEL:
            function.linkage = "internal"
    for variable in linked.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, features=FEATURES, opt=3)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = (
        False  # lanes are vectors enough, and LLVM's cost models can disagree and end the process
    )
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(linked, builder)
    return linked, machine


_LIBRARY = {
    "mtd_begin": "(ptr)",
    "mtd_next": "()",
    "mtd_clear_local": "(ptr addrspace(3), i32, ptr)",
    "mtd_clear_dynamic": "(ptr)",
    "mtd_clear_spare": "(ptr)",
    "mtd_settle": "()",
    "mtd_part": "(ptr)",
}


def _declared(names: set[str]) -> list[str]:
    return [f"declare void @{name}{_LIBRARY[name]}" for name in sorted(names)]


def _part(lowering: Lowering, number: int) -> list[str]:
    """Threadgroup memory is cleared, and the program runs."""
    variables = [g for g in lowering.module.globals if g.space == 3]
    dynamic = any(i.called == THREADGROUP for i in lowering.function.instructions())
    clear = [
        f'  call void @mtd_clear_local(ptr addrspace(3) @"{g.name}", i32 {lowering.layout.size(g.type)}, ptr %launch)'
        for g in variables
    ]
    clear += ["  call void @mtd_clear_dynamic(ptr %launch)"] if dynamic else []
    clear += ["  call void @mtd_clear_spare(ptr %launch)"] if lowering.spares else []
    settle = ["  call void @mtd_settle()"] if clear else []
    part = ["  call void @mtd_part(ptr %launch)"] if lowering.parted else []
    return [
        f"define void @mt_part_{number}(ptr %launch) alwaysinline {{",
        *clear,
        *(settle if not part else []),
        *part,
        f"  call void @{ENTRY}(ptr %launch)",
        "  ret void",
        "}",
    ]


def _entry(variants: Sequence[Variant]) -> list[str]:
    """The kernel: threads behind the edge end, and the others run the program of their part."""
    variant = variants[0]
    x, y, z = (variant.threads, 1, 1) if variant.flat else variant.size
    constants = {
        **dict(zip(("mt_size_x", "mt_size_y", "mt_size_z"), variant.size, strict=True)),
        "mt_flat": int(variant.flat),
        "mt_even": int(variant.even),
        "mt_robust": int(variant.robust),
    }
    room = RECORD + carried(variant.inlined)
    return [
        *(f"@{name} = constant i32 {value}" for name, value in constants.items()),
        *positions(variants),
        f"define ptx_kernel void @{KERNEL}(ptr noalias readonly byval([{room} x i8]) align 16"
        ' "nvvm.grid_constant" %launch) #99 {',
        "  call void @mtd_begin(ptr %launch)",
        *(["  call void @mtd_next()"] if variant.early is not None else []),
        *chosen(variants),
        "}",
        f'attributes #99 = {{ "nvvm.reqntid"="{x},{y},{z}" }}',
    ]


def _without_attributes(text: str) -> str:
    """Attribute groups are gone; so are their uses."""
    return re.sub(r" #\d+(?=[,\s]|$)", "", text, flags=re.M)

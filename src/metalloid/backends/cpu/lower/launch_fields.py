"""What gangs read of the launch, before the first of them runs."""

from __future__ import annotations

from metalloid.backends.cpu.lower.output import Output


def launch_fields(out: Output) -> list[str]:
    """All that gangs read of the launch, before the first of them. LLVM brings such loads out of the loop over gangs,
    but those behind a branch no further: on the way it forgets that they never change."""
    if out.brief:
        return []
    lines = []
    for (offset, type), number in sorted(out.fields.items()):
        name = f"%given.{offset}.{type}"
        lines.append(f"  {name}.at = getelementptr i8, ptr %launch, i64 {offset}")
        known = ", !dereferenceable !4, !align !4" if number else ""
        lines.append(f"  {name} = load {type}, ptr {name}.at, !invariant.load !0{known}")
        if number:
            lines.append(f"  {name}.number = load {number}, ptr {name}, align 4, !invariant.load !0")
            lines.append(f"  call void (...) @llvm.fake.use({number} {name}.number)")
        else:
            lines.append(f"  call void (...) @llvm.fake.use({type} {name})")
    out.declare("llvm.fake.use", "declare void @llvm.fake.use(...)")
    return lines

"""Put a kernel's signature together from what was written and what was compiled."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.frontend.declarations import Entry
from metalloid.frontend.entry import Binding
from metalloid.frontend.examine import accesses, log_formats, threadgroup_memory
from metalloid.frontend.parse import Parsed
from metalloid.frontend.reflect import DebugInfo, Described
from metalloid.frontend.unit import reachable
from metalloid.ir import Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.types import Access, Parameter, Signature


def signature(
    parsed: Parsed,
    entry: Entry,
    bound: tuple[Binding, ...],
    info: DebugInfo,
    module: Module,
    constants: Mapping[str, str],
) -> Signature:
    used = accesses(module.function[ENTRY])
    file, line, _ = parsed.unit.place(entry.kernel.name_index)
    return Signature(
        name=entry.name,
        parameters=tuple(
            _parameter(parsed, binding, seen, used.get((binding.kind, seen.index), "none"))
            for binding, seen in zip(bound, info.parameters(), strict=True)
        ),
        max_total_threads=info.thread_limit(),
        threadgroup_memory=threadgroup_memory(module),
        logs=log_formats(module),
        file=file,
        line=line,
        undefined_constants=_undefined(parsed, entry, constants),
    )


def _parameter(parsed: Parsed, binding: Binding, seen: Described, access: Access) -> Parameter:
    return Parameter(
        name=binding.argument.name,
        kind=binding.kind,
        index=seen.index,
        type=seen.type,
        space=seen.space,
        access=access,
        const=seen.const or seen.space == "constant",
        reference=seen.reference,
        builtin=binding.builtin,
        present=seen.present,
        line=parsed.unit.place(binding.argument.name_index)[1],
    )


def _undefined(parsed: Parsed, entry: Entry, constants: Mapping[str, str]) -> tuple[str, ...]:
    """Function constants the kernel uses without a value and without asking whether it has one."""
    names = reachable(parsed.unit, entry)
    tokens = parsed.unit.tokens
    asked = {tokens[index + 2].text for index in parsed.unit.asked if index + 2 < len(tokens)}
    return tuple(
        c.name
        for c in parsed.unit.declarations.constants
        if c.name in names and c.name not in constants and c.name not in asked
    )

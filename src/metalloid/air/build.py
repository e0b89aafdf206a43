"""From bitcode to the scalar IR of one kernel, by way of clang: once to read it, once to optimise it.

Clang runs as a process of its own, with limits on time and memory: bitcode of a stranger cannot take this one down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from metalloid.air.container import Container, Entry, damaged
from metalloid.air.described import Argument, Described, describe
from metalloid.air.entry import PROBE
from metalloid.air.given import by_symbol, undefined
from metalloid.air.inferred import element_types
from metalloid.air.library import library_path, tensor_library
from metalloid.air.refused import Refused
from metalloid.air.tensors import is_tensor_operation
from metalloid.air.translate import lowered
from metalloid.errors import CompileError, DeviceError
from metalloid.frontend import clang
from metalloid.frontend.call_stack import with_stack
from metalloid.frontend.examine import accesses, left_over, log_formats, threadgroup_memory
from metalloid.frontend.kernel import Kernel
from metalloid.frontend.reunite import reunited
from metalloid.frontend.slim import slim
from metalloid.frontend.spaces import resolve_spaces
from metalloid.ir import Module, read, write
from metalloid.ir.divisions import plain_divisions
from metalloid.ir.intrinsics import ENTRY
from metalloid.source import Constant
from metalloid.types import Access, Parameter, Scalar, Signature, Struct

# Any target whose layout does not matter: AIR's own is not one that clang knows.
_READ = (
    "-x",
    "ir",
    "-triple",
    "x86_64-unknown-linux-gnu",
    "-emit-llvm",
    "-disable-llvm-passes",
    "-w",
    "-o",
    "-",
    "-",
)
_OPTIMISE = ("-x", "ir", "-triple", "amdgcn-amd-amdhsa", "-w")
_PRESENT = re.compile(r"\n[^\n]*call void @" + PROBE + r"\(i32 (\d+), i1 (true|false|[^)]*)\)[^\n]*")


def disassembled(container: Container, entry: Entry) -> str:
    """The text of a kernel's AIR."""
    result = clang.run(_READ, container.bitcode(entry))
    if result.failed:
        raise damaged(container.name, f"the code of '{entry.name}' cannot be read: {_first(result.messages)}")
    return result.output


def compile_entry(
    container: Container, entry: Entry, constants: Mapping[str | int, Constant], checked: bool = False
) -> Kernel:
    """Scalar IR and signature of one kernel, always compiled."""
    try:
        return _compile(container, entry, constants, checked)
    except Refused as refused:
        raise refused.named(container.name, entry.name) from None


def declared_signature(container: Container, entry: Entry) -> Signature:
    """What the file says a kernel takes, without compiling it."""
    described = describe(_read(disassembled(container, entry)))
    if described is None:
        raise Refused("the file says nothing of its parameters").named(container.name, entry.name)
    parameters = tuple(_parameter(argument, "none", {}) for argument in described.arguments)
    constants = tuple(constant.name for constant in described.constants)
    return Signature(entry.name, parameters, described.max_threads, undefined_constants=constants)


def _compile(
    container: Container, entry: Entry, constants: Mapping[str | int, Constant], checked: bool
) -> Kernel:
    module = _read(disassembled(container, entry))
    described = describe(module)
    if described is None:
        raise Refused("the file says nothing of its parameters")
    if described.unknown:
        raise Refused(f"a parameter asks for '{described.unknown}', which is not supported")
    given = write(lowered(module, described, by_symbol(described, constants), checked))
    tensors = [f.name for f in module.functions if not f.blocks and is_tensor_operation(f.name)]
    raw = _optimised(given, checked, tensors)
    present = {int(found[1]): found[2] for found in _PRESENT.finditer(raw)}
    if unknown := [number for number, word in present.items() if word not in ("true", "false")]:
        raise Refused(f"whether its parameter {unknown[0]} is there is not known before it runs")
    made = _tidy(plain_divisions(resolve_spaces(reunited(with_stack(_read(slim(_PRESENT.sub("", raw))))))))
    if problems := list(left_over(made)):
        raise CompileError(
            replace(p, file=p.file or container.name, message=f"kernel '{entry.name}': {p.message}")
            for p in problems
        )
    there = {number: word == "true" for number, word in present.items()}
    return Kernel(write(made), _signature(entry, described, made, constants, there))


def _read(text: str) -> Module:
    try:
        return read(text)
    except (DeviceError, AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Refused(
            f"its code holds what is not supported ({' '.join(str(error).split())[:160]})"
        ) from error


def _tidy(module: Module) -> Module:
    """Less what only the optimiser needed."""
    functions = tuple(f for f in module.functions if f.name != PROBE)
    variables = tuple(g for g in module.globals if not g.name.startswith("llvm."))
    return replace(module, functions=functions, globals=variables)


def _optimised(text: str, checked: bool, tensors: list[str]) -> str:
    flags = clang.CHECKED if checked else clang.OPTIMISE
    kept = [word for word in flags if word not in clang.DEBUG]
    paths = (library_path(), *([tensor_library(tensors)] if tensors else []))
    library = tuple(word for path in paths for word in ("-mlink-builtin-bitcode", str(path)))
    result = clang.run([*_OPTIMISE, *kept, *library, "-o", "-", "-"], text)
    if result.failed:
        raise Refused(f"the compiler refuses its code: {_first(result.messages)}")
    return result.output


def _first(messages: str) -> str:
    lines = (
        [line for line in messages.splitlines() if "error" in line]
        or messages.splitlines()
        or ["no reason given"]
    )
    return lines[0].removeprefix("error: ")[:200]


def _signature(
    entry: Entry,
    described: Described,
    module: Module,
    constants: Mapping[str | int, Constant],
    there: Mapping[int, bool],
) -> Signature:
    used = accesses(module.function[ENTRY])
    known = element_types(module.function[ENTRY])
    return Signature(
        name=entry.name,
        parameters=tuple(
            _parameter(_typed(argument, known), used.get((argument.kind, argument.index), "none"), there)
            for argument in described.arguments
        ),
        max_total_threads=described.max_threads,
        threadgroup_memory=threadgroup_memory(module),
        logs=log_formats(module),
        undefined_constants=undefined(described, constants),
    )


def _typed(argument: Argument, known: Mapping[tuple[str, int], Scalar]) -> Argument:
    """With the type its code shows, where AIR has none for it."""
    found = known.get((argument.kind, argument.index))
    opaque = isinstance(argument.type, Struct) and not argument.type.fields
    if not opaque or found is None or argument.type.size not in (1, found.size):
        return argument
    return replace(argument, type=found)


def _parameter(argument: Argument, access: Access, there: Mapping[int, bool]) -> Parameter:
    return Parameter(
        name=argument.name,
        kind=argument.kind,
        index=argument.index,
        type=argument.type,
        space=argument.space,
        access=access,
        const=argument.const,
        reference=argument.reference,
        builtin=argument.builtin,
        present=there.get(argument.position, True),
    )

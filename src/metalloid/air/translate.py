"""One kernel of a binary as a module that clang's optimiser takes: AIR's functions in scalars, and an entry.

What was promised to Apple's optimiser and need not hold here goes: aliasing, lifetimes, no NaNs, loops that end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from metalloid.air import shapes
from metalloid.air.calls import refuse_unknown
from metalloid.air.constants import stored
from metalloid.air.described import Described
from metalloid.air.entry import PROBE, entry_function
from metalloid.air.functions import lower_function
from metalloid.air.given import initial
from metalloid.air.intrinsics import symbol
from metalloid.air.lowering import Lowering, is_table
from metalloid.air.refused import Refused
from metalloid.ir import intrinsics
from metalloid.ir.module import Function, GlobalVariable, Module, Parameter
from metalloid.ir.types import PTR, ArrayType, PointerType, Type
from metalloid.ir.values import Aggregate, Constant, Expression, Global, Named
from metalloid.source import Constant as Number

_CONSTRUCTORS = "llvm.global_ctors"
_OURS = (intrinsics.full(""), symbol("air."))
_DROPPED = ("llvm.used", "llvm.compiler.used")
_PURE = frozenset((*map(intrinsics.full, intrinsics.POSITIONS), intrinsics.BUFFER, intrinsics.THREADGROUP))
_REFERENCE = re.compile(r"!\d+")
_ENDS = re.compile(r'!\{!"llvm\.loop\.mustprogress"\}')


def lowered(module: Module, described: Described, values: Mapping[str, Number], checked: bool) -> Module:
    """The module to optimise; `values` are function constants by the name of their global."""
    if described.function not in module.function:
        raise Refused("the file names a kernel that its code does not have")
    refuse_unknown(module)
    _refuse_ours(module)
    functions: list[Function] = []
    declared: dict[str, tuple[Type, tuple[Type, ...]]] = {}
    attributes = "convergent nounwind alwaysinline" + (" sanitize_thread" if checked else "")
    for function in module.functions:
        if function.blocks:
            made, work = lower_function(module, function)
            functions.append(replace(made, prefix="internal", suffix=attributes))
            declared |= work.declared
    work = Lowering(module)
    entry = entry_function(work, described, module.function[described.function])
    suffix = attributes.replace(" alwaysinline", "")
    functions.append(replace(entry, suffix=suffix))
    declared |= work.declared
    functions += [_declaration(name, *types) for name, types in declared.items()]
    return Module(
        tuple(functions),
        tuple(_globals(module, values)),
        source=module.source,
        metadata=_metadata(module.metadata, functions),
    )


def _refuse_ours(module: Module) -> None:
    """A file may call its functions anything; those that stand for the engine's own are not for it to define."""
    defined = [f.name for f in module.functions if f.blocks] + [g.name for g in module.globals]
    if ours := [name for name in defined if name.startswith(_OURS)]:
        raise Refused(f"it defines '{ours[0]}', a name that metalloid keeps for itself")


def _declaration(name: str, result: Type, parameters: tuple[Type, ...]) -> Function:
    suffix = (
        "nounwind willreturn memory(none)"
        if name in _PURE
        else "nounwind"
        if name == PROBE
        else "convergent nounwind"
    )
    if name.startswith("llvm."):
        suffix = ""
    return Function(name, result, tuple(Parameter("", p) for p in parameters), suffix=suffix)


def _globals(module: Module, values: Mapping[str, Number]) -> list[GlobalVariable]:
    made = []
    for variable in module.globals:
        if variable.name in _DROPPED:
            continue
        if variable.name == _CONSTRUCTORS:
            made += _constructors(variable)
        else:
            made.append(_variable(variable, values))
    used = [g.name for g in made if g.space == shapes.THREADGROUP]
    return [*made, *_kept(used)] if used else made


def _variable(variable: GlobalVariable, values: Mapping[str, Number]) -> GlobalVariable:
    space = shapes.DEVICE if is_table(variable) else shapes.space(variable.space)
    if space == shapes.PRIVATE:
        raise Refused(f"all threads would share its variable '{variable.name}', which is not supported")
    type = shapes.memory(variable.type)
    initializer: Constant | None
    if variable.name in values:
        initializer = initial(variable.type, values[variable.name])
    elif space == shapes.THREADGROUP:
        initializer = Named(type, "undef")
    elif variable.initializer is None:
        raise Refused(f"its variable '{variable.name}' is defined in another library")
    else:
        initializer = stored(variable.initializer)
    return GlobalVariable(
        variable.name, type, initializer, space, variable.constant, "internal", "", variable.align
    )


def _constructors(variable: GlobalVariable) -> list[GlobalVariable]:
    """What works out function constants that are made of others; LLVM runs it when it optimises."""
    if not isinstance(variable.initializer, Aggregate) or not variable.initializer.elements:
        return []
    return [replace(variable, suffix="", prefix="appending")]


def _kept(names: list[str]) -> list[GlobalVariable]:
    """Else LLVM would argue that nobody can write to a private variable and carry values across barriers."""
    held = PointerType(shapes.THREADGROUP)
    elements = tuple(Expression("addrspacecast", PTR, (Global(name, held),)) for name in names)
    type = ArrayType(len(names), PTR)
    value = Aggregate(type, elements)
    return [GlobalVariable("llvm.used", type, value, prefix="appending", suffix=', section "llvm.metadata"')]


def _metadata(nodes: Mapping[str, str], functions: list[Function]) -> dict[str, str]:
    """What the code refers to, less the promise that loops end."""
    ends = {name for name, text in nodes.items() if _ENDS.fullmatch(text)}
    promise = re.compile("|".join(rf", {re.escape(name)}(?!\d)" for name in ends) or r"(?!)")
    todo = [
        node
        for f in functions
        for _, node in (*f.metadata, *(m for i in f.instructions() for m in i.metadata))
    ]
    kept: dict[str, str] = {}
    if "!llvm.dbg.cu" in nodes:
        flags = [name for name, text in nodes.items() if '!"Debug Info Version"' in text]
        kept |= {"!llvm.dbg.cu": nodes["!llvm.dbg.cu"], "!llvm.module.flags": f"!{{{', '.join(flags)}}}"}
        todo += [*_REFERENCE.findall(nodes["!llvm.dbg.cu"]), *flags]
    while todo:
        name = todo.pop()
        if name not in kept and name in nodes:
            text = nodes[name]
            kept[name] = promise.sub("", text) if text.startswith("distinct !{") else text
            todo += _REFERENCE.findall(kept[name])
    return kept

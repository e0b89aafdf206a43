"""Print the model as text that LLVM reads back."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.ir import floats
from metalloid.ir.module import Block, Function, GlobalVariable, Instruction, Module
from metalloid.ir.opcodes import BINARY, CASTS, COMPARES, UNARY
from metalloid.ir.tokens import quote
from metalloid.ir.types import I1, ArrayType, PointerType, StructType
from metalloid.ir.values import (
    Aggregate,
    Bytes,
    Expression,
    Float,
    Global,
    Int,
    Local,
    Metadata,
    Named,
    Splat,
    Value,
)

_BITS_PREFIX = {"half": "0xH", "bfloat": "0xR"}


def write(module: Module) -> str:
    """The whole module."""
    return "\n".join(_lines(module)) + "\n"


def _lines(module: Module) -> list[str]:
    lines = [f'source_filename = "{module.source}"'] if module.source else []
    if module.datalayout:
        lines.append(f'target datalayout = "{module.datalayout}"')
    if module.triple:
        lines.append(f'target triple = "{module.triple}"')
    lines += module.other
    lines += [f"{quote('%', t.name)} = type {t.body}" for t in module.types]
    lines += [write_global(g) for g in module.globals]
    lines += [write_function(f) for f in module.functions]
    lines += [f"attributes {name} = {group}" for name, group in module.attributes.items()]
    lines += [f"{name} = {node}" for name, node in module.metadata.items()]
    return lines


def write_global(variable: GlobalVariable) -> str:
    parts = [quote("@", variable.name), "=", variable.prefix]
    parts.append(f"addrspace({variable.space})" if variable.space else "")
    parts += ["constant" if variable.constant else "global", str(variable.type)]
    parts.append(write_value(variable.initializer) if variable.initializer is not None else "")
    text = " ".join(p for p in parts if p) + variable.suffix
    if variable.align:
        text += f", align {variable.align}"
    return text + _attachments(variable.metadata)


def write_function(function: Function) -> str:
    parameters = []
    for p in function.parameters:
        name = quote("%", p.name) if p.name and function.blocks else ""
        parameters.append(" ".join(w for w in (str(p.type), p.attributes, name) if w))
    if function.variadic:
        parameters.append("...")
    signature = f"{function.result} {quote('@', function.name)}({', '.join(parameters)})"
    keyword = "define" if function.blocks else "declare"
    head = " ".join(w for w in (keyword, function.prefix, signature, function.suffix) if w)
    if not function.blocks:
        return head
    metadata = "".join(f" !{kind} {node}" for kind, node in function.metadata)
    return f"\n{head}{metadata} {{\n" + "\n".join(write_block(b) for b in function.blocks) + "\n}\n"


def write_block(block: Block) -> str:
    return "\n".join(
        [f"{quote('', block.name)}:", *("  " + write_instruction(i) for i in block.instructions)]
    )


def write_instruction(instruction: Instruction) -> str:
    writer = WRITERS[instruction.opcode]
    result = f"{quote('%', instruction.name)} = " if instruction.name else ""
    return result + writer(instruction) + _attachments(instruction.metadata)


def _attachments(metadata: tuple[tuple[str, str], ...]) -> str:
    return "".join(f", !{kind} {node}" for kind, node in metadata)


def typed(value: Value) -> str:
    """A value with its type before it."""
    return f"{value.type} {write_value(value)}"


def write_value(value: Value) -> str:
    """A value alone."""
    match value:
        case Local(name):
            return quote("%", name)
        case Global(name):
            return quote("@", name)
        case Int(type, number):
            return ("false", "true")[number] if type == I1 else str(value.signed)
        case Float(type, bits):
            if type.name in _BITS_PREFIX:
                return f"{_BITS_PREFIX[type.name]}{bits:04X}"
            return f"0x{floats.widen(type, bits):016X}"
        case Named(_, word) | Metadata(word):
            return word
        case Aggregate(type, elements):
            inner = ", ".join(typed(e) for e in elements)
            if isinstance(type, StructType):
                return f"<{{ {inner} }}>" if type.packed else f"{{ {inner} }}"
            return f"[{inner}]" if isinstance(type, ArrayType) else f"<{inner}>"
        case Bytes(_, data):
            plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
            return f'c"{"".join(plain)}"'
        case Splat(_, element):
            return f"splat ({typed(element)})"
        case Expression():
            return _expression(value)


def _expression(value: Expression) -> str:
    inner = ", ".join(typed(o) for o in value.operands)
    if value.element is not None:
        inner = f"{value.element}, {inner}"
    if value.opcode in CASTS:
        inner += f" to {value.type}"
    return f"{_words(value.opcode, *value.flags)} ({inner})"


def _words(*words: str) -> str:
    return " ".join(w for w in words if w)


def _list(i: Instruction) -> str:
    return ", ".join(typed(o) for o in i.operands)


def _pair(i: Instruction) -> str:
    left, right = i.operands
    return f"{_words(i.opcode, *i.flags, i.predicate)} {typed(left)}, {write_value(right)}"


def _cast(i: Instruction) -> str:
    return f"{_words(i.opcode, *i.flags)} {typed(i.operands[0])} to {i.type}"


def _plain(i: Instruction) -> str:
    element = f"{i.element}, " if i.element is not None else ""
    return f"{_words(i.opcode, *i.flags)} {element}{_list(i)}"


def _phi(i: Instruction) -> str:
    incoming = (f"[ {write_value(v)}, {quote('%', b)} ]" for v, b in i.cases)
    return f"{_words('phi', *i.flags)} {i.type} {', '.join(incoming)}"


def _br(i: Instruction) -> str:
    targets = [f"label {quote('%', name)}" for name in i.labels]
    return "br " + ", ".join([typed(o) for o in i.operands] + targets)


def _switch(i: Instruction) -> str:
    cases = "".join(f"    {typed(v)}, label {quote('%', b)}\n" for v, b in i.cases)
    return f"switch {typed(i.operands[0])}, label {quote('%', i.labels[0])} [\n{cases}  ]"


def _ret(i: Instruction) -> str:
    return f"ret {typed(i.operands[0])}" if i.operands else "ret void"


def _atomic_tail(i: Instruction) -> str:
    scope = f' syncscope("{i.scope}")' if i.scope else ""
    order = "".join(f" {o}" for o in (i.ordering, i.failure_ordering) if o)
    return scope + order + (f", align {i.align}" if i.align else "")


def _access(i: Instruction) -> str:
    head = _words(i.opcode, "atomic" if i.ordering else "", *i.flags)
    result = f"{i.type}, " if i.opcode == "load" else ""
    return f"{head} {result}{_list(i)}{_atomic_tail(i)}"


def _read_modify_write(i: Instruction) -> str:
    return f"{_words(i.opcode, *i.flags, i.predicate)} {_list(i)}{_atomic_tail(i)}"


def _alloca(i: Instruction) -> str:
    count = i.operands[0] if i.operands else None
    text = f"alloca {i.element}"
    if count is not None and not (isinstance(count, Int) and count.value == 1):
        text += f", {typed(count)}"
    if i.align:
        text += f", align {i.align}"
    space = i.type.space if isinstance(i.type, PointerType) else 0
    return text + (f", addrspace({space})" if space else "")


def _value_part(i: Instruction) -> str:
    return f"{i.opcode} {_list(i)}, {', '.join(str(n) for n in i.indices)}"


def _call(i: Instruction) -> str:
    style = i.style
    words = style.argument_attributes if len(style.argument_attributes) == len(i.operands) else ()
    arguments = (
        _words(str(o.type), words[n] if words else "", write_value(o)) for n, o in enumerate(i.operands)
    )
    assert i.callee is not None
    result = style.variadic or str(i.type)
    head = _words(style.tail, "call", *i.flags, style.convention, style.result_attributes, result)
    text = f"{head} {write_value(i.callee)}({', '.join(arguments)})"
    return _words(text, style.attributes)


WRITERS: dict[str, Callable[[Instruction], str]] = {
    **dict.fromkeys(BINARY | COMPARES, _pair),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(UNARY, _plain),
    **dict.fromkeys(("select", "getelementptr", "extractelement", "insertelement", "shufflevector"), _plain),
    **dict.fromkeys(("load", "store"), _access),
    **dict.fromkeys(("atomicrmw", "cmpxchg"), _read_modify_write),
    **dict.fromkeys(("extractvalue", "insertvalue"), _value_part),
    "phi": _phi,
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "unreachable": lambda _: "unreachable",
    "fence": lambda i: f"fence{_atomic_tail(i)}",
    "alloca": _alloca,
    "call": _call,
}

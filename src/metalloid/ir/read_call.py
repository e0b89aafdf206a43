"""Read calls and the attributes written around them."""

from __future__ import annotations

from metalloid.ir.module import CallStyle, Instruction
from metalloid.ir.opcodes import BINARY, CASTS, FAST_MATH
from metalloid.ir.read_values import NAMED, ValueReader
from metalloid.ir.tokens import unquote
from metalloid.ir.types import PTR, FunctionType
from metalloid.ir.values import Global, Local, Value

TAILS = frozenset({"tail", "musttail", "notail"})
_VALUE_WORDS = NAMED | BINARY | CASTS | {"true", "false", "splat", "getelementptr"}


def attributes(r: ValueReader) -> str:
    """Attribute words before or after a value, as one text."""
    found = []
    while r.peek and (r.peek[0].isalpha() or r.peek[0] in '"#') and not r.starts_type():
        if r.peek in _VALUE_WORDS:
            break
        word = r.next()
        if r.peek == "(":
            word += r.balanced()
        elif word == "align" and r.peek.isdigit():
            word += " " + r.next()
        elif r.accept("="):
            word += "=" + r.next()
        found.append(word)
    return " ".join(found)


def read_call(r: ValueReader, opcode: str) -> Instruction:
    tail = ""
    if opcode in TAILS:
        tail = opcode
        r.expect("call")
    flags = tuple(f for f in r.flags() if f in FAST_MATH)
    before = attributes(r)
    result = r.type()
    function: FunctionType | None = None
    if r.peek == "(":
        function = r.function_type(result)
    target = r.next()
    callee: Value
    if target[:1] == "@":
        callee = Global(unquote(target), PTR)
    elif target[:1] == "%":
        callee = Local(unquote(target), PTR)
    else:
        r.at -= 1
        r.fail("expected the function to call")
    arguments, texts = [], []
    r.expect("(")
    while not r.accept(")"):
        type = r.type()
        texts.append(attributes(r))
        arguments.append(r.value(type))
        r.accept(",")
    after = attributes(r)
    _bundles(r, target)
    convention, result_attributes = _split_convention(before)
    style = CallStyle(
        tail,
        convention,
        result_attributes,
        tuple(texts) if any(texts) else (),
        after,
        str(function) if function and function.variadic else "",
    )
    return Instruction("call", result, tuple(arguments), flags=flags, callee=callee, style=style)


def _split_convention(words: str) -> tuple[str, str]:
    first, _, rest = words.partition(" ")
    if first.endswith("cc") and first != "alwayscc":
        return first, rest
    return "", words


def _bundles(r: ValueReader, callee: str) -> None:
    """Leave out the operand bundles of an assumption: they are hints. Others mean something."""
    if r.peek != "[":
        return
    if callee != "@llvm.assume":
        r.fail("operand bundles are not supported")
    while r.next() != "]":
        pass

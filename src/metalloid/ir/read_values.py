"""Read types, constants and operands."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.ir import floats
from metalloid.ir.opcodes import CASTS, FLAGS
from metalloid.ir.tokens import Cursor, unquote
from metalloid.ir.types import (
    DOUBLE,
    I1,
    METADATA,
    WORDS,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from metalloid.ir.values import (
    Aggregate,
    Bytes,
    Constant,
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
from metalloid.patterns import pattern

NAMED = frozenset({"zeroinitializer", "null", "undef", "poison", "none"})
_CLOSING = {"[": "]", "{": "}", "<": ">"}
_INTEGER = pattern(r"i\d+")
_ESCAPE = pattern(rb"\\([0-9A-Fa-f]{2}|\\)")


class ValueReader(Cursor):
    """A cursor that knows types and values."""

    __slots__ = ("structs",)

    def __init__(self, line: str, structs: Mapping[str, StructType]) -> None:
        super().__init__(line)
        self.structs = structs

    def starts_type(self) -> bool:
        token = self.peek
        if token in WORDS or token == "ptr" or token in _CLOSING:
            return True
        return bool(_INTEGER.fullmatch(token)) or (token[:1] == "%" and unquote(token) in self.structs)

    def type(self) -> Type:
        token = self.next()
        found: Type
        if token in WORDS:
            found = WORDS[token]
        elif token == "ptr":
            found = PointerType(self._space())
        elif token == "[":
            count = self.number()
            self.expect("x")
            found = ArrayType(count, self.type())
            self.expect("]")
        elif token == "{":
            found = self._struct()
        elif token == "<":
            found = self._angle()
        elif token[:1] == "%" and unquote(token) in self.structs:
            found = self.structs[unquote(token)]
        elif _INTEGER.fullmatch(token):
            found = IntType(int(token[1:]))
        else:
            self.at -= 1
            self.fail("expected a type")
        return found

    def function_type(self, result: Type) -> FunctionType:
        """The rest of a function's type, after its result."""
        self.expect("(")
        parameters, variadic = [], False
        while not self.accept(")"):
            if self.accept("..."):
                variadic = True
            else:
                parameters.append(self.type())
            self.accept(",")
        return FunctionType(result, tuple(parameters), variadic)

    def _space(self) -> int:
        if not self.accept("addrspace"):
            return 0
        self.expect("(")
        space = self.number()
        self.expect(")")
        return space

    def _struct(self) -> StructType:
        elements = []
        while not self.accept("}"):
            elements.append(self.type())
            self.accept(",")
        return StructType(tuple(elements))

    def _angle(self) -> Type:
        if self.accept("{"):
            inner = self._struct()
            self.expect(">")
            return StructType(inner.elements, packed=True)
        count = self.number()
        self.expect("x")
        found = VectorType(count, self.type())
        self.expect(">")
        return found

    def typed(self) -> Value:
        """A type and a value of it."""
        return self.value(self.type())

    def list(self) -> tuple[Value, ...]:
        """Types and values, with commas between them."""
        found = [self.typed()]
        while self.accept(","):
            found.append(self.typed())
        return tuple(found)

    def value(self, type: Type) -> Value:
        token = self.peek
        if token[:1] == "%":
            self.at += 1
            return Local(unquote(token), type)
        if type == METADATA:
            return self._metadata()
        return self.constant(type)

    def constant(self, type: Type) -> Constant:
        token = self.next()
        if isinstance(type, IntType) and (token.isdigit() or token[:1] == "-"):
            return Int(type, int(token))
        if token[:1] == "@":
            return Global(unquote(token), type)
        if type == I1 and token in ("true", "false"):
            return Int(I1, token == "true")
        if token in NAMED:
            return Named(type, token)
        if isinstance(type, FloatType):
            return _float(type, token)
        if token == "splat":
            self.expect("(")
            element = self._typed_constant()
            self.expect(")")
            return Splat(type, element)
        if token[:2] == 'c"':
            raw = token[2:-1].encode("latin-1")
            return Bytes(type, _ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), raw))
        if token in _CLOSING:
            packed = token == "<" and self.accept("{")
            elements = self._elements("}" if packed else _CLOSING[token])
            if packed:
                self.expect(">")
            return Aggregate(type, elements)
        return self._expression(token, type)

    def _typed_constant(self) -> Constant:
        return self.constant(self.type())

    def _elements(self, end: str) -> tuple[Constant, ...]:
        elements = []
        while not self.accept(end):
            elements.append(self._typed_constant())
            self.accept(",")
        return tuple(elements)

    def _expression(self, opcode: str, type: Type) -> Constant:
        """A constant expression; `type` is what the context expects of it."""
        flags = self.flags()
        self.expect("(")
        element: Type | None = None
        if opcode == "getelementptr":
            element = self.type()
            self.expect(",")
        operands = [self._typed_constant()]
        if opcode in CASTS:
            self.expect("to")
            type = self.type()
        else:
            while self.accept(","):
                operands.append(self._typed_constant())
        self.expect(")")
        return Expression(opcode, type, tuple(operands), flags, element)

    def flags(self) -> tuple[str, ...]:
        """Words such as nuw, inbounds or fast, as many as follow."""
        found = []
        while self.peek in FLAGS:
            found.append(self.next())
            if found[-1] == "inrange":
                found[-1] += self.balanced()
        return tuple(found)

    def _metadata(self) -> Metadata:
        """A metadata operand: `!12`, `!"text"`, `!{...}`, or a typed value."""
        depth, parts = 0, []
        while self.peek and not (depth == 0 and self.peek in (",", ")")):
            token = self.next()
            depth += (token in "({") - (token in ")}")
            parts.append(token)
        text = " ".join(parts)
        return Metadata(text[0] + text[1:].lstrip() if text[:2] == "! " else text)


def _float(type: FloatType, token: str) -> Float:
    if token[:3] in ("0xH", "0xR"):
        return Float(type, int(token[3:], 16))
    if token[:2] == "0x":
        bits = int(token, 16)
        return Float(type, bits if type == DOUBLE else floats.narrow(type, bits))
    return Float(type, floats.to_bits(type, float(token)))

"""Expressions on real values, with a symbol for what is not known."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from metalloid.forms.mlx_source import Dtype
from metalloid.forms.reading import traced
from metalloid.forms.reading.calls import BUILTINS, SPECIAL, Calls
from metalloid.forms.reading.symbols import DTYPES, MISSING, Symbol
from metalloid.forms.reading.unknowns import MAX_TEXT, PLAIN
from metalloid.forms.reading.values import (
    Class,
    Defined,
    Function,
    Instance,
    Method,
    Module,
    PathEnd,
    Scope,
    text_of,
)
from metalloid.forms.reading.written import Literals

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


class Expressions(Calls):
    literals: Literals | None = None  # of the file that is read

    def value(self, node: ast.expr, scope: Scope) -> Any:
        self._count()
        method = getattr(self, f"_of_{type(node).__name__}", None)
        return Symbol(text_of(node), "") if method is None else method(node, scope)

    def _of_Constant(self, node: ast.Constant, scope: Scope) -> object:
        if isinstance(node.value, str):
            written = self.literals.written(node) if self.literals is not None else None
            if written is not None:
                return traced.exactly(written, 0, node.value)
            return traced.literal(node, node.value, 0, node.value)
        return node.value

    def _of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> object:
        written = self.literals.written(node) if self.literals is not None else None
        constants = [p.value for p in node.values if isinstance(p, ast.Constant) and isinstance(p.value, str)]
        whole, at, pieces = "".join(constants), 0, list[tuple[str, int]]()
        fields = iter(written.fields if written is not None else ())
        for part in node.values:
            first = whole.count("\n", 0, at)
            if isinstance(part, ast.Constant):
                text = str(part.value)
                exact = traced.exactly(written, at, text) if written is not None else None
                pieces.append((exact or traced.literal(node, text, first, whole), -1))
                at += len(text)
            elif isinstance(part, ast.FormattedValue):
                value = self.concrete(self.value(part.value, scope))
                spec = str(self.value(part.format_spec, scope)) if part.format_spec is not None else ""
                if part.conversion == ord("r"):
                    value = repr(value)
                made = value if isinstance(value, str) and not spec else self._try(format, value, spec)
                otherwise = traced.literal(node, " ", first, whole).places[0]
                pieces.append((made, next(fields, otherwise)))
        return self._bounded(traced.fill(pieces))

    def _of_Name(self, node: ast.Name, scope: Scope) -> object:
        found = scope.find(node.id)
        if found is not MISSING:
            return found
        return (
            Module(f"builtins.{node.id}")
            if node.id in BUILTINS or node.id in SPECIAL
            else Symbol(node.id, node.id)
        )

    def _of_Attribute(self, node: ast.Attribute, scope: Scope) -> object:
        return self.attribute(self.value(node.value, scope), node.attr)

    def attribute(self, owner: object, name: str) -> object:
        if isinstance(owner, Module):
            if owner.path == "mlx.core" and name in DTYPES:
                return Dtype(name)
            if owner.path == "math" and isinstance(getattr(math, name, None), float):
                return getattr(math, name)
            return Module(f"{owner.path}.{name}")
        if isinstance(owner, Instance):
            found = owner.attributes.get(name, owner.cls.methods.get(name, MISSING))
            if isinstance(found, Function) and found.owner is None:
                return Function(found.node, found.scope, owner, found.name)
            if found is MISSING:
                found = owner.attributes[name] = Symbol(f"self.{name}", name)
            return found
        if isinstance(owner, Class):
            return owner.methods.get(name, Symbol(name, name))
        if isinstance(owner, Symbol):
            if name == "dtype" and owner.dtype is not None:
                return owner.dtype
            return owner.attribute(name)
        return Method(owner, name) if owner is not None else self._end("an attribute of None")

    def _of_Subscript(self, node: ast.Subscript, scope: Scope) -> object:
        owner, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(owner, Symbol) and self._listed(owner):
            owner = tuple(self._iterate(owner))
        if isinstance(owner, Symbol):
            hint = (
                owner.hint
                if isinstance(node.slice, ast.Slice)
                else ("int" if owner.hint == "shape" else "element")
            )
            return Symbol(text_of(node), owner.name, hint, dtype=owner.dtype)
        if isinstance(key, Symbol):
            if isinstance(owner, dict) and owner:
                return self._select(owner, key)
            key = self.concrete(key)
        if isinstance(owner, (Module, Function, Class, Instance, Defined)):
            return Symbol(text_of(node), "")
        return self._try(operator.getitem, owner, key)

    def _of_Slice(self, node: ast.Slice, scope: Scope) -> object:
        ends = [
            self.concrete(self.value(e, scope)) if e is not None else None
            for e in (node.lower, node.upper, node.step)
        ]
        return slice(*ends)

    def _of_BinOp(self, node: ast.BinOp, scope: Scope) -> object:
        return self._binary(node.op, self.value(node.left, scope), self.value(node.right, scope), node)

    def _binary(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> object:
        if isinstance(left, Symbol) or isinstance(right, Symbol):
            unknowns = [v for v in (left, right) if isinstance(v, Symbol)]
            known = right if isinstance(left, Symbol) else left
            definite = all(self.definite(u) for u in unknowns)
            array = any(u.hint == "array" or u.dtype is not None for u in unknowns)
            number = len(unknowns) == 1 and isinstance(known, (int, float)) and not array
            if array or not (definite or number):
                dtype = next((u.dtype for u in unknowns if u.dtype is not None), None)
                return Symbol(text_of(node), "", "array", dtype=dtype)
            left, right = self.concrete(left), self.concrete(right)
        if isinstance(left, str) and isinstance(op, ast.Add) and isinstance(right, str):
            return self._bounded(traced.concat([left, right]))
        if isinstance(left, str) and isinstance(op, ast.Mod):
            right = (
                tuple(self.concrete(r) for r in right) if isinstance(right, tuple) else self.concrete(right)
            )
            formatted = self._try(operator.mod, str(left), right)
            lines = traced.lines_of(left)
            return traced.Traced(formatted, lines if formatted.count("\n") == len(lines) - 1 else ())
        if not isinstance(left, PLAIN) or not isinstance(right, PLAIN):
            return Symbol(text_of(node), "")
        if isinstance(op, (ast.Mult, ast.Pow, ast.LShift)) and self._too_large(op, left, right):
            self._end("a value that grows too large")
        return self._try(_BINARY.get(type(op), operator.matmul), left, right)

    @staticmethod
    def _too_large(op: ast.operator, left: Any, right: Any) -> bool:
        sizes = [len(v) if hasattr(v, "__len__") else abs(v or 0) for v in (left, right)]
        if isinstance(op, ast.Mult):
            return bool(sizes[0] * sizes[1] > MAX_TEXT and any(hasattr(v, "__len__") for v in (left, right)))
        return bool(sizes[1] > 256)

    def _of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> object:
        if isinstance(node.op, ast.Not):
            with self._wishing(not self._wish):
                return not self.truth(self.value(node.operand, scope))
        value = self.value(node.operand, scope)
        if isinstance(value, Symbol):
            return Symbol(text_of(node), value.name, value.hint, dtype=value.dtype)
        return self._try(_UNARY[type(node.op)], value)

    def _of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> object:
        stop = isinstance(node.op, ast.Or)
        if self._guarding:
            return self._all_operands(node, scope, stop)
        value: object = None
        for operand in node.values:
            value = self.value(operand, scope)
            if self.truth(value) == stop:
                return value if not isinstance(value, Symbol) or value.hint else stop
        return value

    def _all_operands(self, node: ast.BoolOp, scope: Scope, stop: bool) -> bool:
        """In a guard every operand is looked at: a guessed number must not hide what the next one tells."""
        outcomes = []
        for operand in node.values:
            with suppress(PathEnd):
                outcomes.append(self.truth(self.value(operand, scope)))
        return any(outcomes) if stop else all(outcomes)

    def _of_Compare(self, node: ast.Compare, scope: Scope) -> object:
        left = self.value(node.left, scope)
        for op, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item, scope)
            if not self.compare(op, left, right):
                return False
            left = right
        return True

    def _of_IfExp(self, node: ast.IfExp, scope: Scope) -> object:
        return self.value(node.body if self.truth(self.value(node.test, scope)) else node.orelse, scope)

    def _of_List(self, node: ast.List, scope: Scope) -> object:
        return self._items(node.elts, scope)

    def _of_Tuple(self, node: ast.Tuple, scope: Scope) -> object:
        return tuple(self._items(node.elts, scope))

    def _of_Set(self, node: ast.Set, scope: Scope) -> object:
        return self._try(set, self._items(node.elts, scope))

    def _items(self, nodes: Sequence[ast.expr], scope: Scope) -> list[object]:
        items: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self._iterate(self.value(node.value, scope)))
            else:
                items.append(self.value(node, scope))
        return items

    def _of_Dict(self, node: ast.Dict, scope: Scope) -> object:
        made: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more = self.value(value, scope)
                made.update(more if isinstance(more, dict) else {})
            else:
                found = self.value(key, scope)
                self._try(made.__setitem__, found, self.value(value, scope))
        return made

    def _of_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> object:
        inside, made = Scope({}, scope), list[object]()
        self._comprehend(node.generators, inside, lambda: made.append(self.value(node.elt, inside)))
        return made

    _of_GeneratorExp = _of_ListComp

    _of_SetComp = _of_ListComp

    def _of_DictComp(self, node: ast.DictComp, scope: Scope) -> object:
        inside, made = Scope({}, scope), dict[object, object]()
        self._comprehend(
            node.generators,
            inside,
            lambda: self._try(made.__setitem__, self.value(node.key, inside), self.value(node.value, inside)),
        )
        return made

    def _comprehend(
        self, generators: Sequence[ast.comprehension], scope: Scope, emit: Callable[[], object]
    ) -> None:
        if not generators:
            emit()
            return
        for item in self._iterate(self.value(generators[0].iter, scope)):
            self.assign(generators[0].target, item, scope)
            if all(self.truth(self.value(test, scope)) for test in generators[0].ifs):
                self._comprehend(generators[1:], scope, emit)

    def _of_Lambda(self, node: ast.Lambda, scope: Scope) -> object:
        return Function(node, scope, name="lambda")

    def _of_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> object:
        value = self.value(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def _of_Starred(self, node: ast.Starred, scope: Scope) -> object:
        return self.value(node.value, scope)

    def _of_Await(self, node: ast.Await, scope: Scope) -> object:
        return self.value(node.value, scope)

    def _of_Call(self, node: ast.Call, scope: Scope) -> object:
        function = self.value(node.func, scope)
        args = self._items(node.args, scope)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs.update({str(k): v for k, v in value.items()})
        return self.call(function, args, kwargs, node)

"""A small evaluator of Python, for reading kernels out of a file without importing it.

It runs the plain part of the language (strings, numbers, lists, functions, classes) on real values, and
stands a `Symbol` in for everything else. A condition on a symbol has several outcomes: `Choices` replays the
run once for each, so that `if masked: source += ...` gives both texts. Nothing of the file is imported,
no file is read, no call leaves this module.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from metalloid.forms import traced
from metalloid.forms.mlx_source import Dtype
from metalloid.forms.symbols import DTYPES, MISSING, Symbol, guess_number

MAX_STEPS = 60_000
MAX_DEPTH = 14
MAX_ITEMS = 512
MAX_TEXT = 1_000_000


class Choices:
    """The decisions of one run, and those of the next."""

    def __init__(self) -> None:
        self._taken: list[list[int]] = []  # [chosen, options]
        self._at = 0

    def pick(self, options: int) -> int:
        if self._at == len(self._taken):
            self._taken.append([0, options])
        self._at += 1
        return self._taken[self._at - 1][0]

    def next(self) -> bool:
        """Move to the next path; False when all were taken."""
        self._at = 0
        while self._taken and self._taken[-1][0] + 1 >= self._taken[-1][1]:
            self._taken.pop()
        if self._taken:
            self._taken[-1][0] += 1
        return bool(self._taken)


@dataclass(eq=False)
class Module:
    """An imported name, by its path."""

    path: str


@dataclass(eq=False)
class Scope:
    names: dict[str, object]
    parent: Scope | None = None

    def find(self, name: str) -> object:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return MISSING


@dataclass(eq=False)
class Function:
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    owner: object = None  # the instance, for a bound method
    name: str = ""


@dataclass(eq=False)
class Class:
    name: str
    methods: dict[str, object]


@dataclass(eq=False)
class Instance:
    cls: Class
    attributes: dict[str, object] = field(default_factory=dict)


@dataclass(eq=False)
class Defined:
    """A kernel object: the call that made it and the arguments, still as values."""

    form: str  # "mlx" or "torch"
    line: int
    arguments: dict[str, object]
    calls: list[dict[str, object]] = field(default_factory=list)


class PathEnd(Exception):
    """This path raises, or leads nowhere."""


class _Return(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


class _Loop(Exception):
    def __init__(self, again: bool) -> None:
        self.again = again


_FACTORY = (
    "name",
    "input_names",
    "output_names",
    "source",
    "header",
    "ensure_row_contiguous",
    "atomic_outputs",
)
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_BUILTINS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (len, range, str, int, float, bool, round, min, max, sum, enumerate, zip, list, tuple, dict, set)
    + (sorted, abs, any, all, reversed, divmod, repr, frozenset)
}
_NUMBER_BUILTINS = {"int", "float", "round", "min", "max", "abs", "range", "divmod", "sum"}
_STRING_METHODS: dict[str, Callable[..., Any]] = {
    "replace": lambda s, old, new, *_: traced.replace(s, old, new),
    "format": lambda s, *args, **kwargs: traced.format_text(s, args, kwargs),
    "join": lambda s, parts: traced.join(s, list(parts)),
    "strip": lambda s, *a: traced.strip(s) if not a else str.strip(s, *a),
    "lstrip": lambda s, *a: traced.strip(s, right=False) if not a else str.lstrip(s, *a),
    "rstrip": lambda s, *a: traced.strip(s, left=False) if not a else str.rstrip(s, *a),
}
_PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset, type(None))


class Evaluator:
    """One run of a file along the path that `choices` takes."""

    def __init__(self, tree: ast.Module, choices: Choices, relevant: frozenset[str] = frozenset()) -> None:
        self.choices = choices
        self.relevant = relevant  # names that lead to kernels: a branch without them may be a mere guard
        self._guarding = False
        self.globals = Scope({"__name__": "module"})
        self.kernels: list[Defined] = []
        self.running: list[str] = []
        self._steps = 0
        self._wish = True  # the outcome of a fork to try first: the one that leads on
        self._execute_safely(tree.body, self.globals)

    # ---- statements ----

    def _execute_safely(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """The module's own statements: one that cannot be followed does not stop the rest."""
        for statement in body:
            try:
                self.execute([statement], scope)
            except (PathEnd, _Return, _Loop):
                continue

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._count()
            method = getattr(self, f"_do_{type(statement).__name__}", None)
            if method is not None:
                method(statement, scope)

    def _do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def _do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, scope), scope)

    def _do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        load = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node.target)
        left, right = self.value(load, scope), self.value(node.value, scope)
        if isinstance(left, list) and isinstance(node.op, ast.Add):
            left.extend(self._iterate(right))
            return
        self.assign(node.target, self._binary(node.op, left, right, node.target), scope)

    def assign(self, target: ast.expr, value: object, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Symbol) and value.hint in ("int", "element"):
                value.name = target.id  # `D = x.shape[-1]`: the guess goes by the better name
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item, part in zip(target.elts, self._unpack(value, target.elts), strict=False):
                self.assign(item.value if isinstance(item, ast.Starred) else item, part, scope)
        elif isinstance(target, ast.Subscript):
            container = self.value(target.value, scope)
            key = self.value(target.slice, scope)
            if isinstance(container, (dict, list)) and not isinstance(key, Symbol):
                try:
                    container[key] = value  # type: ignore[index]
                except (TypeError, IndexError):
                    self._end("an assignment that fails")
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value

    def _unpack(self, value: object, targets: Sequence[ast.expr]) -> Iterable[object]:
        if isinstance(value, (list, tuple)):
            return value
        hint = "int" if isinstance(value, Symbol) and value.hint == "shape" else ""
        return [Symbol(ast.unparse(t), ast.unparse(t), hint) for t in targets]

    def _do_If(self, node: ast.If, scope: Scope) -> None:
        leaves = isinstance(node.body[-1], (ast.Return, ast.Raise))
        if leaves and self.running and self.relevant and not mentions(node.body) & self.relevant:
            self._pass_guard(node.test, scope)
            self.execute(node.orelse, scope)
            return
        with self._wishing(not leaves):
            taken = self.truth(self.value(node.test, scope))
        self.execute(node.body if taken else node.orelse, scope)

    def _pass_guard(self, test: ast.expr, scope: Scope) -> None:
        """`if x.ndim != 3: return fallback`: go on as if it had held, and keep what it tells about `x`."""
        before, self._guarding = self._guarding, True
        try:
            with self._wishing(False):
                self.truth(self.value(test, scope))
        except PathEnd:
            pass
        finally:
            self._guarding = before

    @contextmanager
    def _wishing(self, outcome: bool) -> Iterator[None]:
        before, self._wish = self._wish, outcome
        try:
            yield
        finally:
            self._wish = before

    def _do_For(self, node: ast.For, scope: Scope) -> None:
        for item in self._iterate(self.value(node.iter, scope)):
            self.assign(node.target, item, scope)
            try:
                self.execute(node.body, scope)
            except _Loop as loop:
                if not loop.again:
                    return
        self.execute(node.orelse, scope)

    def _do_While(self, node: ast.While, scope: Scope) -> None:
        for _ in range(MAX_ITEMS):
            test = self.value(node.test, scope)
            if not self.truth(test):
                return
            try:
                self.execute(node.body, scope)
            except _Loop as loop:
                if not loop.again:
                    return
            if isinstance(test, Symbol):
                return

    def _do_With(self, node: ast.With, scope: Scope) -> None:
        for item in node.items:
            value = self.value(item.context_expr, scope)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, scope)
        self.execute(node.body, scope)

    def _do_Try(self, node: ast.Try, scope: Scope) -> None:
        self.execute(node.body, scope)
        self.execute(node.orelse, scope)
        self.execute(node.finalbody, scope)

    def _do_Return(self, node: ast.Return, scope: Scope) -> NoReturn:
        raise _Return(self.value(node.value, scope) if node.value is not None else None)

    def _do_Raise(self, node: ast.Raise, scope: Scope) -> NoReturn:
        self._end("a raise")

    def _do_Break(self, node: ast.Break, scope: Scope) -> NoReturn:
        raise _Loop(again=False)

    def _do_Continue(self, node: ast.Continue, scope: Scope) -> NoReturn:
        raise _Loop(again=True)

    def _do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        scope.names[node.name] = Function(node, scope, name=node.name)

    _do_AsyncFunctionDef = _do_FunctionDef

    def _do_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        inside = Scope({}, scope)
        self._execute_safely(node.body, inside)
        for value in inside.names.values():
            if isinstance(value, Function):
                value.scope = scope
        scope.names[node.name] = Class(node.name, inside.names)

    def _do_Import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.split(".")[0]
            scope.names[alias.asname or path] = Module(path)

    def _do_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            scope.names[alias.asname or alias.name] = Module(f"{node.module or ''}.{alias.name}".lstrip("."))

    # ---- expressions ----

    def value(self, node: ast.expr, scope: Scope) -> Any:
        self._count()
        method = getattr(self, f"_of_{type(node).__name__}", None)
        return Symbol(ast.unparse(node), "") if method is None else method(node, scope)

    def _of_Constant(self, node: ast.Constant, scope: Scope) -> object:
        if isinstance(node.value, str):
            return traced.literal(node, node.value, 0, node.value)
        return node.value

    def _of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> object:
        constants = [p.value for p in node.values if isinstance(p, ast.Constant) and isinstance(p.value, str)]
        whole, first, parts = "".join(constants), 0, list[str]()
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
                parts.append(traced.literal(node, text, first, whole))
                first += text.count("\n")
            elif isinstance(part, ast.FormattedValue):
                value = self.concrete(self.value(part.value, scope))
                spec = str(self.value(part.format_spec, scope)) if part.format_spec is not None else ""
                if part.conversion == ord("r"):
                    value = repr(value)
                parts.append(value if isinstance(value, str) and not spec else self._try(format, value, spec))
        return self._bounded(traced.concat(parts))

    def _of_Name(self, node: ast.Name, scope: Scope) -> object:
        found = scope.find(node.id)
        if found is not MISSING:
            return found
        return (
            Module(f"builtins.{node.id}")
            if node.id in _BUILTINS or node.id in _SPECIAL
            else Symbol(node.id, node.id)
        )

    def _of_Attribute(self, node: ast.Attribute, scope: Scope) -> object:
        owner = self.value(node.value, scope)
        if isinstance(owner, Module):
            if owner.path == "mlx.core" and node.attr in DTYPES:
                return Dtype(node.attr)
            if owner.path == "math" and isinstance(getattr(math, node.attr, None), float):
                return getattr(math, node.attr)
            return Module(f"{owner.path}.{node.attr}")
        if isinstance(owner, Instance):
            found = owner.attributes.get(node.attr, owner.cls.methods.get(node.attr, MISSING))
            if isinstance(found, Function) and found.owner is None:
                return Function(found.node, found.scope, owner, found.name)
            if found is MISSING:
                found = owner.attributes[node.attr] = Symbol(f"self.{node.attr}", node.attr)
            return found
        if isinstance(owner, Class):
            return owner.methods.get(node.attr, Symbol(node.attr, node.attr))
        if isinstance(owner, Symbol):
            if node.attr == "dtype" and owner.dtype is not None:
                return owner.dtype
            return owner.attribute(node.attr)
        return Method(owner, node.attr)

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
            return Symbol(ast.unparse(node), owner.name, hint, dtype=owner.dtype)
        if isinstance(key, Symbol):
            if isinstance(owner, dict) and owner:
                return self._select(owner, key)
            key = self.concrete(key)
        if isinstance(owner, (Module, Function, Class, Instance, Defined)):
            return Symbol(ast.unparse(node), "")
        return self._try(lambda: owner[key])

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
            known = right if isinstance(left, Symbol) else left
            both = isinstance(left, Symbol) and isinstance(right, Symbol)
            unknowns = [v for v in (left, right) if isinstance(v, Symbol)]
            numbers = all(u.numeric or u.bound is not MISSING for u in unknowns)
            array = any(u.hint == "array" or u.dtype is not None for u in unknowns)
            if array or (both and not numbers) or not (both or isinstance(known, (int, float, str))):
                dtype = next((u.dtype for u in unknowns if u.dtype is not None), None)
                return Symbol(ast.unparse(node), "", "array", dtype=dtype)
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
        if not isinstance(left, _PLAIN) or not isinstance(right, _PLAIN):
            return Symbol(ast.unparse(node), "")
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
            return Symbol(ast.unparse(node), value.name, value.hint, dtype=value.dtype)
        signs = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
        return self._try(signs[type(node.op)], value)

    def _of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> object:
        stop = isinstance(node.op, ast.Or)
        value: object = None
        for operand in node.values:
            value = self.value(operand, scope)
            if self.truth(value) == stop:
                return value if not isinstance(value, Symbol) or value.hint else stop
        return value

    def _of_Compare(self, node: ast.Compare, scope: Scope) -> object:
        left = self.value(node.left, scope)
        for op, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item, scope)
            if not self.compare(op, left, right):
                return False
            left = right
        return True

    def compare(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        if isinstance(op, (ast.NotIn, ast.NotEq, ast.IsNot)):
            positive = {ast.NotIn: ast.In, ast.NotEq: ast.Eq, ast.IsNot: ast.Is}[type(op)]
            with self._wishing(not self._wish):
                return not self.compare(positive(), left, right)
        if isinstance(op, ast.In):
            if isinstance(left, Symbol) and isinstance(right, (list, tuple, set, dict, frozenset)):
                return self._one_of(left, list(right))
            if isinstance(right, _PLAIN) and right is not None and not isinstance(left, Symbol):
                return bool(self._try(lambda: left in right))
            return self._fork()
        if isinstance(right, Symbol) and not isinstance(left, Symbol):
            left, right = right, left
        if isinstance(left, Symbol):
            if isinstance(op, (ast.Eq, ast.Is)):
                if right is None and left.bound is MISSING:
                    # `x is None` on an array parameter: the call that launches a kernel has one.
                    return left.default is None and self._fork()
                return self._same(left, right) if isinstance(right, Symbol) else self._one_of(left, [right])
            if isinstance(right, (int, float)) and (left.numeric or left.bound is not MISSING):
                return bool(self._try(_COMPARE.get(type(op), operator.eq), self.concrete(left), right))
            return self._fork()
        if isinstance(op, ast.Is):
            return left is right or (isinstance(left, Dtype) and left == right)
        return bool(self._try(_COMPARE.get(type(op), operator.eq), left, right))

    def _one_of(self, symbol: Symbol, values: list[Any]) -> bool:
        """Whether the symbol is one of the values: each is tried, and the symbol is that value from then on."""
        if symbol.bound is not MISSING:
            return any(symbol.bound == v for v in values)
        plain = [v for v in values if not isinstance(v, Symbol)]
        if self._guarding:
            if self._wish and plain:
                open_choice = len(plain) > 1 and not isinstance(plain[0], Dtype)
                symbol.bound = plain[self.choices.pick(len(plain))] if open_choice else plain[0]
            return self._wish
        chosen = self.choices.pick(len(plain) + 1)
        if not self._wish:
            chosen = len(plain) - chosen
        if chosen < len(plain):
            symbol.bound = plain[chosen]
        return chosen < len(plain)

    def _same(self, left: Symbol, right: Symbol) -> bool:
        if left.bound is not MISSING and right.bound is not MISSING:
            return bool(left.bound == right.bound)
        same = left.cell is right.cell or self._fork()
        if same:
            left.unify(right)
        return same

    def _select(self, table: dict[Any, Any], key: Symbol, default: object = MISSING) -> object:
        keys = list(table)
        if key.bound is not MISSING:
            return (
                table.get(key.bound, default)
                if key.bound in table or default is not MISSING
                else self._end("a KeyError")
            )
        key.bound = keys[self.choices.pick(len(keys))]
        return table[key.bound]

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

    # ---- calls ----

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

    def call(self, function: object, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        if isinstance(function, Function):
            return self.run(function, args, kwargs)
        if isinstance(function, Module):
            return self._call_module(function.path, args, kwargs, node)
        if isinstance(function, Defined):
            function.calls.append({**dict(zip(("inputs",), args, strict=False)), **kwargs})
            return Symbol(f"result of {ast.unparse(node.func)}", "out", "array")
        if isinstance(function, Class):
            instance = Instance(function)
            make = function.methods.get("__init__")
            if isinstance(make, Function):
                self.run(Function(make.node, make.scope, instance, "__init__"), args, kwargs)
            return instance
        if isinstance(function, Instance) and isinstance(function.cls.methods.get("__call__"), Function):
            method: Any = function.cls.methods["__call__"]
            return self.run(Function(method.node, method.scope, function, "__call__"), args, kwargs)
        if isinstance(function, Method):
            return self._call_method(function, args, kwargs)
        return self._call_unknown(function, args, kwargs, node)

    def _call_unknown(
        self, function: object, args: list[Any], kwargs: dict[str, Any], node: ast.Call
    ) -> object:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        made = Symbol(ast.unparse(node), name)
        arrays = [a for a in args if isinstance(a, Symbol)]
        if name == "astype" or name == "view":
            made.hint, made.dtype = "array", args[0] if args else kwargs.get("dtype")
        elif owner is not None and isinstance(function, Symbol):
            base = function
            made.hint, made.dtype = "array", base.dtype
        elif name in ("scalar", "array", "full"):
            made.hint = "array"
            made.scalar = len(args) > 0 and (isinstance(args[0], (int, float)) or name == "scalar")
            dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            made.dtype = dtype if isinstance(dtype, (Dtype, Symbol)) else None
        elif isinstance(kwargs.get("dtype"), (Dtype, Symbol)):
            made.hint, made.dtype = "array", kwargs["dtype"]
        elif arrays and arrays[0].dtype is not None:
            made.hint, made.dtype = "array", arrays[0].dtype
        return made

    def _call_module(self, path: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        last = path.rsplit(".", 1)[-1]
        if last == "metal_kernel":
            return self._define("mlx", dict(zip(_FACTORY, args, strict=False)) | kwargs, node)
        if last == "compile_shader":
            return self._define("torch", dict(zip(("source",), args, strict=False)) | kwargs, node)
        if last == "is_available":
            return True
        if path == "textwrap.dedent" and args and isinstance(args[0], str):
            return traced.dedent(args[0])
        if path.startswith("math.") and hasattr(math, last):
            return self._try(getattr(math, last), *[self.concrete(a) for a in args])
        if path == "functools.partial" or path == "partial":
            return args[0] if args else Symbol("partial", "")
        if path.startswith("builtins."):
            return self._call_builtin(last, args, kwargs, node)
        return self._call_unknown(Module(path), args, kwargs, node)

    def _call_builtin(self, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> object:
        if name == "isinstance":
            return _isinstance(args) if args and not isinstance(args[0], Symbol) else self._fork()
        if name in ("hasattr", "callable"):
            return True
        if name == "getattr" and len(args) >= 2 and isinstance(args[1], str):
            attribute = ast.copy_location(
                ast.Attribute(ast.Name("_", ast.Load()), str(args[1]), ast.Load()), node
            )
            return self._of_Attribute(attribute, Scope({"_": args[0]}))
        if name in _SPECIAL:
            return Symbol(ast.unparse(node), name)
        unknown = [a for a in args if isinstance(a, Symbol)]
        if name == "len" and unknown and self._listed(unknown[0]):
            return len(self._iterate(unknown[0]))
        if name == "len" and unknown:
            return Symbol(ast.unparse(node), unknown[0].name, "int")
        if name == "str" and args:
            return args[0] if isinstance(args[0], str) else str(self.concrete(args[0]))
        if name == "bool" and unknown:
            return self.truth(unknown[0])
        if unknown and name in _NUMBER_BUILTINS:
            args = [self.concrete(a) for a in args]
        elif unknown:
            return Symbol(ast.unparse(node), unknown[0].name, unknown[0].hint, dtype=unknown[0].dtype)
        made = self._try(_BUILTINS[name], *args, **kwargs)
        return made if isinstance(made, _PLAIN) else list(self._iterate(made))

    def _call_method(self, method: Method, args: list[Any], kwargs: dict[str, Any]) -> object:
        owner, name = method.owner, method.name
        if isinstance(owner, str):
            if name == "join" and args:
                args = [[self.concrete(a) for a in self._iterate(args[0])]]
            args, kwargs = [self.concrete(a) for a in args], {k: self.concrete(v) for k, v in kwargs.items()}
            known = _STRING_METHODS.get(name)
            made = (
                self._try(known, owner, *args, **kwargs)
                if known
                else self._try(getattr(owner, name, None), *args)
            )
            return self._bounded(made) if isinstance(made, str) else made
        if (
            isinstance(owner, dict)
            and args
            and isinstance(args[0], Symbol)
            and name in ("get", "pop", "setdefault")
        ):
            return (
                self._select(owner, args[0], args[1] if len(args) > 1 else None)
                if owner
                else Symbol(name, name)
            )
        if isinstance(owner, _PLAIN) and hasattr(owner, name):
            made = self._try(getattr(owner, name), *args, **kwargs)
            return (
                made
                if isinstance(made, _PLAIN) or made is None or not hasattr(made, "__iter__")
                else list(made)
            )
        return Symbol(name, name)

    def _define(self, form: str, arguments: dict[str, object], node: ast.Call) -> Defined:
        made = Defined(form, node.lineno, arguments)
        self.kernels.append(made)
        return made

    def run(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> object:
        """Call a function of the file; parameters without an argument become symbols."""
        if len(self.running) >= MAX_DEPTH or self.running.count(function.name) > 4:
            return Symbol(f"{function.name}()", function.name)
        scope = Scope(self.bind(function, args, kwargs), function.scope)
        if isinstance(function.node, ast.Lambda):
            return self.value(function.node.body, scope)
        self.running.append(function.name)
        try:
            self.execute(function.node.body, scope)
        except _Return as returned:
            return returned.value
        finally:
            self.running.pop()
        return None

    def bind(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> dict[str, object]:
        parameters = function.node.args
        positional = [*parameters.posonlyargs, *parameters.args]
        values = list(args) if function.owner is None else [function.owner, *args]
        names: dict[str, object] = {}
        defaults = dict(
            zip([p.arg for p in reversed(positional)], reversed(parameters.defaults), strict=False)
        )
        defaults |= {
            p.arg: d for p, d in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if d
        }
        for index, parameter in enumerate([*positional, *parameters.kwonlyargs]):
            if index < len(values) and index < len(positional):
                names[parameter.arg] = values[index]
            elif parameter.arg in kwargs:
                names[parameter.arg] = kwargs[parameter.arg]
            else:
                names[parameter.arg] = self._open(
                    parameter, defaults.get(parameter.arg), bool(args or kwargs), function
                )
        if parameters.vararg is not None:
            names[parameters.vararg.arg] = values[len(positional) :]
        if parameters.kwarg is not None:
            names[parameters.kwarg.arg] = {k: v for k, v in kwargs.items() if k not in names}
        return names

    def _open(self, parameter: ast.arg, default: ast.expr | None, called: bool, function: Function) -> object:
        """A parameter nobody gave: its default in a call inside the file, a symbol at the file's edge."""
        value = self.value(default, function.scope) if default is not None else MISSING
        if value is not MISSING and (called or self.running):
            return value
        hint = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        if isinstance(value, bool):
            hint = "bool"
        elif isinstance(value, (int, float)) and not hint:
            hint = type(value).__name__
        if hint.endswith("array"):
            hint = "array"
        return Symbol(parameter.arg, parameter.arg, hint, default=value)

    # ---- unknowns ----

    def truth(self, value: object) -> bool:
        if not isinstance(value, Symbol):
            return bool(value) if isinstance(value, _PLAIN) else True
        if value.bound is not MISSING:
            return bool(value.bound)
        if value.truth is None:
            value.truth = self._fork()
        return value.truth

    def _fork(self) -> bool:
        if self._guarding:
            return self._wish
        return (self.choices.pick(2) == 0) == self._wish

    def concrete(self, value: object) -> Any:
        """A definite value: what the path says, the default, or a documented guess."""
        if not isinstance(value, Symbol):
            return value
        if value.bound is not MISSING:
            return value.bound
        if value.truth is not None and value.hint == "bool":
            return value.truth
        if (
            value.default is not MISSING
            and value.default is not None
            and not isinstance(value.default, Symbol)
        ):
            return value.default
        if value.hint in ("dtype", "Dtype", "mx.Dtype") or value.name.endswith("dtype"):
            return Dtype("float32")
        if value.hint == "bool":
            return self.truth(value)
        if value.hint.lower().startswith("tuple[int") or value.name.endswith("sizes"):
            return (guess_number(value.name.rstrip("s")),) * 2
        if value.hint == "str":
            return value.name
        value.bound = guess_number(value.name, value.hint)
        return value.bound

    @staticmethod
    def _listed(value: Symbol) -> bool:
        """Whether the symbol looks like a tuple of numbers."""
        return value.hint.lower().startswith("tuple[int") or value.name.endswith(("sizes", "_bits"))

    def _iterate(self, value: object) -> list[Any]:
        if isinstance(value, Symbol):
            if self._listed(value):
                value.bound = self.concrete(value)
                if not isinstance(value.bound, tuple):
                    value.bound = (value.bound,) * 2
                return list(value.bound)
            return [Symbol(f"{value.text}[...]", value.name, "element")]
        if not hasattr(value, "__iter__"):
            return []
        items = []
        for item in value:  # type: ignore[attr-defined]
            items.append(item)
            if len(items) > MAX_ITEMS:
                self._end("a loop that is too long")
        return items

    # ---- limits ----

    def _count(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            self._end("too many steps")

    def _bounded(self, text: str) -> str:
        if len(text) > MAX_TEXT:
            self._end("a text that is too long")
        return text

    def _try(self, function: Callable[..., Any] | None, *args: Any, **kwargs: Any) -> Any:
        """Do what the program does; where that raises, so would the program."""
        try:
            return function(*args, **kwargs) if function is not None else self._end("an AttributeError")
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            return self._end("an exception")

    def _end(self, why: str) -> NoReturn:
        raise PathEnd(why)


@dataclass(eq=False)
class Method:
    """A method of a plain value, not called yet."""

    owner: object
    name: str


_SPECIAL = {
    "isinstance",
    "hasattr",
    "getattr",
    "callable",
    "print",
    "super",
    "type",
    "id",
    "iter",
    "next",
    "map",
    "open",
}


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def mentions(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name and attribute that occurs."""
    return {
        last_name(n) for node in nodes for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute))
    }


def _isinstance(args: list[Any]) -> bool:
    named = args[1] if isinstance(args[1], tuple) else (args[1],) if len(args) > 1 else ()
    names = {m.path.rsplit(".", 1)[-1] for m in named if isinstance(m, Module)}
    return bool(names & {t.__name__ for t in type(args[0]).__mro__})

"""A small evaluator of Python, for reading kernels out of a file without importing it.

It runs the plain part of the language (strings, numbers, lists, functions, classes) on real values, and
stands a `Symbol` in for everything else. A condition on a symbol has several outcomes: `Choices` replays the
run once for each, so that `if masked: source += ...` gives both texts. Nothing of the file is imported,
no file is read, no call leaves this package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NoReturn

from metalloid.forms.reading.expressions import Expressions
from metalloid.forms.reading.symbols import Symbol
from metalloid.forms.reading.unknowns import MAX_ITEMS
from metalloid.forms.reading.values import (
    Choices,
    Class,
    Function,
    Instance,
    Module,
    PathEnd,
    Returned,
    Scope,
    mentions,
    text_of,
)
from metalloid.forms.reading.written import Literals


class _Loop(Exception):
    def __init__(self, again: bool) -> None:
        self.again = again


class Evaluator(Expressions):
    """One run of a file along the path that `choices` takes."""

    def __init__(
        self,
        tree: ast.Module,
        choices: Choices,
        relevant: frozenset[str] = frozenset(),
        literals: Literals | None = None,
    ) -> None:
        super().__init__(choices, relevant)
        self.literals = literals
        self._execute_safely(tree.body, self.globals)

    def _execute_safely(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """The module's own statements: one that cannot be followed does not stop the rest."""
        for statement in body:
            try:
                self.execute([statement], scope)
            except (PathEnd, Returned, _Loop):
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
                    container[key] = value
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
        return [Symbol(text_of(t), text_of(t), hint) for t in targets]

    def _do_If(self, node: ast.If, scope: Scope) -> None:
        leaves = isinstance(node.body[-1], (ast.Return, ast.Raise))
        if leaves and self.relevant & {*self.running[-1:]} and not mentions(node.body) & self.relevant:
            self.execute(node.body if self._leaves(node.test, scope) else node.orelse, scope)
            return
        with self._wishing(not leaves):
            taken = self.truth(self.value(node.test, scope))
        self.execute(node.body if taken else node.orelse, scope)

    def _leaves(self, test: ast.expr, scope: Scope) -> bool:
        """`if x.ndim != 3: return fallback`: go on as if `x` had passed, and keep what that tells about it.

        Guessed numbers may fail such a test; other definite values that do are taken at their word.
        """
        before, self._guarding, self._decided = self._guarding, True, False
        try:
            with self._wishing(False):
                return self.truth(self.value(test, scope)) and self._decided
        except PathEnd:
            return False
        finally:
            self._guarding = before

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
        raise Returned(self.value(node.value, scope) if node.value is not None else None)

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

"""What the evaluator works with, besides Python's own plain values."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from metalloid.forms.reading.symbols import MISSING


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

    form: str  # "mlx", "torch", "metal" or "script"
    line: int
    arguments: dict[str, object]
    calls: list[dict[str, object]] = field(default_factory=list)


@dataclass(eq=False)
class Method:
    """A method of a plain value, not called yet."""

    owner: object
    name: str


class PathEnd(Exception):
    """This path raises, or leads nowhere."""


def text_of(node: ast.AST) -> str:
    """The expression as written, kept on the node: paths meet the same nodes again and again."""
    text = getattr(node, "metalloid_text", None)
    if text is None:
        text = node.metalloid_text = ast.unparse(node)  # type: ignore[attr-defined]
    return str(text)


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def mentions(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name and attribute that occurs."""
    return set().union(*map(_mentioned, nodes))


def _mentioned(node: ast.AST) -> set[str]:
    names: set[str] | None = getattr(node, "metalloid_names", None)
    if names is None:
        inside = (n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute)))
        names = node.metalloid_names = {last_name(n) for n in inside}  # type: ignore[attr-defined]
    return names


class Returned(Exception):
    def __init__(self, value: object) -> None:
        self.value = value

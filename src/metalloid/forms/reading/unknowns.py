"""Decide what is unknown: fork on conditions, guess numbers, keep within limits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from metalloid.forms.mlx_source import Dtype
from metalloid.forms.reading.symbols import MISSING, Symbol, guess_number
from metalloid.forms.reading.values import Choices, Defined, PathEnd, Scope

MAX_STEPS = 60_000
MAX_ITEMS = 512
MAX_TEXT = 1_000_000

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset, type(None))


class Unknowns:
    """The state of one run, and everything that symbols need of it."""

    def __init__(self, choices: Choices, relevant: frozenset[str] = frozenset()) -> None:
        self.choices = choices
        self.relevant = relevant  # names that lead to kernels: a branch without them may be a mere guard
        self.globals = Scope({"__name__": "module"})
        self.kernels: list[Defined] = []
        self.running: list[str] = []
        self.steps = 0
        self._guarding = False
        self._decided = (
            False  # a comparison of definite values that are no (maybe guessed) numbers went wrong
        )
        self._wish = True  # the outcome of a fork to try first: the one that leads on

    def truth(self, value: object) -> bool:
        if not isinstance(value, Symbol):
            return bool(value) if isinstance(value, PLAIN) else True
        if value.bound is not MISSING:
            return bool(value.bound)
        if value.truth is None:
            value.truth = self._fork()
        return value.truth

    def _fork(self) -> bool:
        if self._guarding:
            return self._wish
        return (self.choices.pick(2) == 0) == self._wish

    def compare(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        if isinstance(op, (ast.NotIn, ast.NotEq, ast.IsNot)):
            positive = {ast.NotIn: ast.In, ast.NotEq: ast.Eq, ast.IsNot: ast.Is}[type(op)]
            with self._wishing(not self._wish):
                return not self.compare(positive(), left, right)
        if not isinstance(left, Symbol) and not isinstance(right, Symbol):
            result = self._compare_known(op, left, right)
            if result != self._wish and not isinstance(left, (int, float)):
                self._decided = True
            return result
        if isinstance(op, ast.In):
            if isinstance(left, Symbol) and isinstance(right, (list, tuple, set, dict, frozenset)):
                return self._one_of(left, list(right))
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

    def _compare_known(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        if isinstance(op, ast.In):
            return (
                bool(self._try(operator.contains, right, left)) if isinstance(right, PLAIN) else self._fork()
            )
        if isinstance(op, ast.Is):
            return left is right or (isinstance(left, Dtype) and bool(left == right))
        return bool(self._try(_COMPARE.get(type(op), operator.eq), left, right))

    def _one_of(self, symbol: Symbol, values: list[Any]) -> bool:
        """Whether the symbol is one of the values: each is tried, and from then on it is that value."""
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

    def definite(self, symbol: Symbol) -> bool:
        """Whether a definite value can be taken for the symbol."""
        return symbol.bound is not MISSING or symbol.numeric or symbol.hint in ("str", "bool")

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
        for item in value:
            items.append(item)
            if len(items) > MAX_ITEMS:
                self._end("a loop that is too long")
        return items

    @contextmanager
    def _wishing(self, outcome: bool) -> Iterator[None]:
        before, self._wish = self._wish, outcome
        try:
            yield
        finally:
            self._wish = before

    def _count(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
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

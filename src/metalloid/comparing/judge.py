"""Run one case: the function beside its reference.

An outcome is small and can be sent between processes; what it takes to explain it is made again where the
explanation is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from metalloid.comparing.case import AnyCase
from metalloid.comparing.inputs import Array, is_float
from metalloid.comparing.tolerance import Tolerance, Verdict, judged
from metalloid.errors import LaunchError, MetalloidError

Function = Callable[..., Any] | str  # or "module:name", which another process can look up

RIGHT, WRONG, RAISED, REFUSED, SCHEDULE = "right", "wrong", "raised", "refused", "schedule"
FAILED = (WRONG, RAISED, SCHEDULE)


@dataclass(frozen=True)
class Wrong:
    """The first wrong element of an output, in the order of memory."""

    output: str  # "the result", "output 1", a name
    index: tuple[int, ...]
    got: Any
    expected: Any
    allowed: float
    count: int  # wrong elements
    shape: tuple[int, ...]  # of the output

    @property
    def total(self) -> int:
        return prod(self.shape)

    @property
    def place(self) -> str:
        return f"{self.output}[{', '.join(map(str, self.index))}]" if self.index else self.output

    def __str__(self) -> str:
        return f"{self.place} is {shown(self.got)}; expected {shown(self.expected)}"


@dataclass(frozen=True)
class Outcome:
    case: AnyCase
    kind: str  # RIGHT, WRONG, RAISED (an exception), REFUSED (a LaunchError), SCHEDULE
    first: Wrong | None = None
    worst: float = 0.0  # the largest error in units of what is allowed
    message: str = ""  # what was raised
    trivial: bool = False  # nothing to get wrong: outputs are empty or all zero

    @property
    def failed(self) -> bool:
        return self.kind in FAILED


@dataclass(frozen=True)
class Pair:
    """What is compared with what, and how strictly."""

    function: Function
    reference: Function
    tolerance: Tolerance

    def got(self, arguments: Mapping[str, Array]) -> dict[str, Array]:
        return outputs(resolved(self.function)(*arguments.values()), "function")

    def expected(self, arguments: Mapping[str, Array]) -> dict[str, Array]:
        with np.errstate(all="ignore"):  # infinities are part of the game
            return outputs(
                resolved(self.reference)(*(widened(a) for a in arguments.values())), "reference", wide=True
            )

    def verdicts(
        self, got: Mapping[str, Array], expected: Mapping[str, Array], case: AnyCase
    ) -> dict[str, Verdict]:
        """By output; a wrong number of outputs or a wrong shape is an error."""
        if list(got) != list(expected):
            raise Mismatch(f"the function gives {_listed(got)}; the reference {_listed(expected)}")
        for name, array in got.items():
            if array.shape != expected[name].shape:
                raise Mismatch(f"{name} has shape {array.shape}; expected {expected[name].shape}")
        return {n: judged(got[n], expected[n], self.tolerance, case.measured()) for n in got}


class Mismatch(Exception):
    """Outputs that cannot be laid side by side."""


def judge(pair: Pair, case: AnyCase) -> Outcome:
    """Run the function and the reference on new arguments, and compare."""
    arguments = case.arguments()
    expected = pair.expected(arguments)
    try:
        got = pair.got(arguments)
    except LaunchError as error:
        return Outcome(case, REFUSED, message=_brief(error))
    except _Returned:
        raise
    except Exception as error:
        return Outcome(case, RAISED, message=_brief(error))
    return weighed(pair, case, got, expected)


def weighed(
    pair: Pair, case: AnyCase, got: Mapping[str, Array], expected: Mapping[str, Array], bad: str = WRONG
) -> Outcome:
    """The outcome of results that are there."""
    try:
        verdicts = pair.verdicts(got, expected, case)
    except Mismatch as error:
        return Outcome(case, bad, message=str(error), worst=np.inf)
    worst = max((v.worst for v in verdicts.values()), default=0.0)
    for name, verdict in verdicts.items():
        if verdict.wrong.any():
            return Outcome(case, bad, _first(name, verdict, got[name], expected[name]), worst)
    trivial = not any(np.any(array) for array in expected.values())
    return Outcome(case, RIGHT, worst=worst, trivial=trivial)


def _first(name: str, verdict: Verdict, got: Array, expected: Array) -> Wrong:
    flat = int(np.flatnonzero(verdict.wrong)[0])
    index = tuple(int(n) for n in np.unravel_index(flat, got.shape))
    wrong = int(verdict.wrong.sum())
    return Wrong(
        name,
        index,
        got[index].item(),
        expected[index].item(),
        float(verdict.allowed[index]),
        wrong,
        got.shape,
    )


def resolved(function: Function) -> Callable[..., Any]:
    """A function, or the one that "module:name" names."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    made: Callable[..., Any] = found
    return made


class _Returned(MetalloidError):
    pass


def outputs(result: Any, whose: str, wide: bool = False) -> dict[str, Array]:
    """What a function returned, by name."""
    if isinstance(result, Mapping):
        parts = {str(name): value for name, value in result.items()}
    elif isinstance(result, tuple | list):
        parts = {f"output {n}": value for n, value in enumerate(result)}
    else:
        parts = {"result": result}
    if any(value is None for value in parts.values()) or not parts:
        raise _Returned(
            f"[compare] the {whose} returned {'nothing' if result is None else 'None among its outputs'}.\n"
            "Return the output arrays: one, a tuple, or a dict by name."
        )
    arrays = {name: np.asarray(value) for name, value in parts.items()}
    return {name: widened(array) for name, array in arrays.items()} if wide else arrays


def widened(array: Array) -> Array:
    """Floats as float64, integers as int64: a copy, so that neither side sees what the other did."""
    if is_float(array.dtype):
        return array.astype(np.float64)
    return array.astype(np.int64) if array.dtype.kind == "i" else array.copy()


def shown(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _listed(arrays: Mapping[str, Array]) -> str:
    return ", ".join(arrays)


def _brief(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{error.__class__.__name__}: {lines[0]}"

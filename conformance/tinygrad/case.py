"""One operation: what torch computes in double precision, and what tinygrad computes on metalloid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """`torch` gets tensors of these shapes; `tiny` the same, or is the same function where the words are the same."""

    name: str
    shapes: tuple[Shape, ...]
    torch: Callable[..., Any]
    tiny: Callable[..., Any] | None = None
    low: float = -1.5
    high: float = 1.5
    grad: bool = True
    integer: bool = False
    close: float = 1e-4  # relative

    @property
    def family(self) -> str:
        return self.name.split(" ")[0]

    def inputs(self) -> list[np.ndarray[Any, Any]]:
        """The same numbers every time; whole ones as int32."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        if self.integer:
            return [
                rng.integers(int(self.low), int(self.high), shape, dtype=np.int32) for shape in self.shapes
            ]
        return [
            (rng.random(shape) * (self.high - self.low) + self.low).astype(np.float32)
            for shape in self.shapes
        ]


@dataclass(frozen=True)
class Outcome:
    name: str
    wrong: str  # empty where all is right
    grad: bool  # whether gradients were compared too
    seconds: float


def torch_results(
    case: Case,
) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """The result, the gradients of a weighted sum of it, and the weights; in float64."""
    import torch

    given = [torch.tensor(x) if case.integer else torch.tensor(x).double() for x in case.inputs()]
    for tensor in given:
        tensor.requires_grad_(case.grad)
    out = case.torch(*given)
    weights = np.array(np.random.default_rng(1).random(tuple(out.shape)) + 0.5, np.float32)
    gradients = []
    if case.grad:
        (out * torch.tensor(weights).double()).sum().backward()
        gradients = [t.grad.numpy() if t.grad is not None else np.zeros(t.shape) for t in given]
    return out.detach().numpy(), gradients, weights


def tiny_results(
    case: Case, weights: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    from tinygrad import Tensor

    given = [Tensor(x, requires_grad=case.grad) for x in case.inputs()]
    out = (case.tiny or case.torch)(*given)
    gradients = []
    if case.grad:
        (out * Tensor(weights)).sum().backward()
        gradients = [t.grad.numpy() if t.grad is not None else np.zeros(t.shape) for t in given]
    return out.numpy(), gradients


def difference(case: Case) -> str:
    """What is wrong, in words; empty where nothing is."""
    wanted, gradients, weights = torch_results(case)
    got, had = tiny_results(case, weights)
    pairs = [
        ("result", got, wanted),
        *((f"gradient {n}", *pair) for n, pair in enumerate(zip(had, gradients, strict=True))),
    ]
    for what, mine, theirs in pairs:
        if mine.shape != theirs.shape:
            return f"{what} has shape {mine.shape}; torch's has {theirs.shape}"
        a, b = mine.astype(np.float64), theirs.astype(np.float64)
        off = np.abs(a - b) > 1e-5 + case.close * np.abs(b)
        if (off & ~(np.isnan(a) & np.isnan(b))).any() or (np.isnan(a) != np.isnan(b)).any():
            at = np.unravel_index(int(np.argmax(np.where(np.isnan(a - b), np.inf, np.abs(a - b)))), a.shape)
            return f"{what}{list(map(int, at))} is {a[at]:.9g}; torch has {b[at]:.9g}"
    return ""

"""A kernel inside MLX's transformations.

MLX evaluates later; this form runs at once. Under `mx.grad` and `mx.checkpoint` that is the same. While `mx.vmap` or
`mx.compile` trace a function there are no values to run on. `mx.vmap` comes back with values, and the kernel runs for
each of them. `mx.compile` would keep the shapes and call them a result: MLX lets nobody add an operation from Python,
so `install` has functions run uncompiled, and without it the call is refused. What is exported never has values.

Kernels have no derivative in MLX, and none here: asking for one is an error, not a zero.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from metalloid.errors import LaunchError

_state = threading.local()
_told: list[str] = []


def tracing(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a note that `kind` is tracing it while it runs."""
    from functools import wraps

    @wraps(function)
    def noted(*arguments: Any, **named: Any) -> Any:
        with inside(kind):
            return function(*arguments, **named)

    return noted


@contextmanager
def inside(kind: str) -> Iterator[None]:
    """A note that `kind` is tracing whatever is called."""
    stack = _stack()
    stack.append(kind)
    try:
        yield
    finally:
        stack.pop()


def _tell(kernel: str) -> None:
    """Once for a process, and only where it matters."""
    if not _told:
        _told.append(kernel)
        print(
            f"metalloid: kernel '{kernel}' is called inside mx.compile; compiled functions run uncompiled here.",
            file=sys.stderr,
        )


def settle(mx: Any, values: Sequence[Any], kernel: str) -> bool:
    """Evaluate the inputs; False where they have only shapes and shapes will do."""
    stack = _stack()
    if "compile" in stack:
        _tell(kernel)
    try:
        mx.eval(values)
        return True
    except ValueError as error:
        if "function transformations" not in str(error):
            raise
    tracing = [kind for kind in stack if kind != "compile"]  # which is off while `install` is in force
    if tracing and tracing[-1] == "vmap":
        return False
    if tracing and tracing[-1] == "export":
        raise LaunchError(
            f"[metal_kernel {kernel}] cannot be exported: a file of MLX has MLX's operations only, and here the"
            " kernel is none of them.\nExport on a Mac, or leave the kernel out of the exported function."
        )
    where = "mx.compile" if stack else "mx.compile or mx.vmap"
    raise LaunchError(
        f"[metal_kernel {kernel}] cannot run inside {where}: it needs the values of its inputs, and while a function"
        " is traced there are none.\nCall it outside the compiled function, or turn compilation off for the test with"
        " mx.disable_compile()."
        + ("" if stack else "\nUnder vmap it works with metalloid.mlx.vmap, or after install().")
    )


def batched(
    mx: Any,
    kernel: str,
    values: Sequence[Any],
    shapes: Sequence[Any],
    dtypes: Sequence[Any],
    again: Callable[..., list[Any]],
) -> list[Any]:
    """Outputs of which only the shapes are known yet; once vmap has the values, one launch for each."""
    placeholders = tuple(mx.zeros(tuple(shape), dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
    function = mx.custom_function(lambda *_: placeholders)
    where = [at for at, value in enumerate(values) if isinstance(value, mx.array)]

    def rule(inputs: Any, axes: Any) -> tuple[Any, Any]:
        given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        mapped = list(axes) if isinstance(axes, list | tuple) else [axes]
        count = next(a.shape[axis] for a, axis in zip(given, mapped, strict=True) if _is_axis(axis))
        results = []
        for i in range(count):
            each = list(values)
            for at, array, axis in zip(where, given, mapped, strict=True):
                each[at] = mx.take(array, i, axis) if _is_axis(axis) else array
            results.append(again(inputs=each))
        outputs = tuple(mx.stack(list(each)) for each in zip(*results, strict=True))
        return outputs, (0,) * len(outputs)

    function.vmap(rule)
    _refuse_derivatives(function, kernel)
    return list(function(*(values[at] for at in where)))


def _is_axis(axis: Any) -> bool:
    return axis is not None and axis >= 0


def guarded(mx: Any, kernel: str, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    """Outputs that know where they come from, so that a derivative that does not exist is an error."""
    inputs = [value for value in values if isinstance(value, mx.array)]
    if not inputs:
        return outputs
    function = mx.custom_function(lambda *_: outputs)
    _refuse_derivatives(function, kernel)
    return list(function(*inputs))


_known: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def _refuse_derivatives(function: Any, kernel: str) -> None:
    found = _known.get(kernel)
    if found is None:

        def no(rule: str) -> Callable[..., Any]:
            def refuse(*_: Any) -> NoReturn:
                raise LaunchError(
                    f"[metal_kernel {kernel}] has no {rule}: MLX cannot look into a kernel.\n"
                    f"Wrap the call in a function under @mx.custom_function and give it one with @function.{rule}."
                )

            return refuse

        found = _known[kernel] = (no("vjp"), no("jvp"))
    function.vjp(found[0])
    function.jvp(found[1])


def _stack() -> list[str]:
    try:
        stack: list[str] = _state.stack
    except AttributeError:
        stack = _state.stack = []
    return stack

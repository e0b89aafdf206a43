"""mlx-lm's own calls of its kernels, turned into steps.

mlx-lm's modules are imported with a factory in place of `mx.fast.metal_kernel`. A call of a kernel that it
made writes the Metal text as MLX does, makes outputs, and records what to launch; nothing runs yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from conformance.results import site
from conformance.results.case import Argument, Array, Step, Triple, poisoned
from metalloid.forms.mlx_source import ArrayLike, Binding, Dtype, KernelText, generate

recorded: list[tuple[Step, dict[str, Array]]] = []


@cache
def module(name: str) -> Any:
    """A module of mlx-lm whose kernels record their calls."""
    mx = site.mlx()
    real, available = mx.fast.metal_kernel, mx.metal.is_available
    mx.fast.metal_kernel, mx.metal.is_available = Recorder, lambda: True
    try:
        return site.mlx_lm(name, utils=_utils())
    finally:
        mx.fast.metal_kernel, mx.metal.is_available = real, available


def _utils() -> ModuleType:
    """All that the loss module wants of mlx_lm.utils, which itself wants a model hub."""
    made = ModuleType("mlx_lm.utils")
    made.can_run_metal = lambda: True  # type: ignore[attr-defined]
    return made


def numpy_of(array: Any) -> Array:
    """A copy of an MLX array, row after row."""
    mx = site.mlx()
    if array.dtype == mx.bfloat16:
        return np.array(array.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(array)


def mlx_of(array: Array) -> Any:
    mx = site.mlx()
    if array.dtype == ml_dtypes.bfloat16:
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    return mx.array(array)


class Recorder:
    """Stands where MLX's kernel object would."""

    def __init__(
        self,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
    ) -> None:
        names = (tuple(input_names), tuple(output_names))
        self.text = KernelText(name, *names, source, header, ensure_row_contiguous, atomic_outputs)

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[tuple[int, ...]],
        output_dtypes: Sequence[Any],
        grid: Triple,
        threadgroup: Triple,
        template: Sequence[tuple[str, Any]] = (),
    ) -> list[Any]:
        mx = site.mlx()
        arrays = [a if isinstance(a, mx.array) else mx.array(a) for a in inputs]
        values = [numpy_of(a) for a in arrays]
        likes = [ArrayLike(_name(a.dtype), tuple(a.shape)) for a in arrays]
        dtypes = [_name(d) for d in output_dtypes]
        arguments = [(n, Dtype(_name(v)) if isinstance(v, mx.Dtype) else v) for n, v in template]
        made = generate(self.text, likes, dtypes, arguments)
        outputs = [poisoned(tuple(s), _numpy_dtype(d)) for s, d in zip(output_shapes, dtypes, strict=True)]
        bound = tuple(_bound(b, values, outputs) for b in made.bindings)
        limits = zip(threadgroup, grid, strict=True)
        x, y, z = (min(t, g) for t, g in limits)
        step = Step(made.source, made.kernel, bound, (x, y, z), grid=grid)
        recorded.append((step, dict(zip(self.text.output_names, outputs, strict=True))))
        return [mx.zeros(s, d) for s, d in zip(output_shapes, output_dtypes, strict=True)]


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("mlx.core.")


def _numpy_dtype(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _bound(binding: Binding, inputs: list[Array], outputs: list[Array]) -> Argument:
    if binding.kind == "output":
        return outputs[binding.position]
    array = inputs[binding.position]
    match binding.kind:
        case "shape":
            return np.array(array.shape, np.int32)
        case "strides":
            return np.array([s // array.itemsize for s in array.strides], np.int64)
        case "ndim":
            return np.array([array.ndim], np.int32)
    return array

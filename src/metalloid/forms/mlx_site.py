"""One kernel for one set of dtypes, shapes and sizes: what is left of a call is memory to bind."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from metalloid import config
from metalloid.backends.base import Launch, Triple
from metalloid.forms.mlx_arrays import MlxArrays, NumpyArrays, span
from metalloid.forms.mlx_source import Generated
from metalloid.runtime.guess import warn_about_grid
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.places import MUCH, note, place
from metalloid.runtime.plan import Plan, address
from metalloid.runtime.sizes import sizes, triple
from metalloid.runtime.watch import refusals, watchers

Bound = tuple[int, int, Any]  # address, bytes, what keeps them alive


class Site:
    """Compiled, sized and ready."""

    def __init__(
        self,
        kernel: Kernel,
        generated: Generated,
        arrays: NumpyArrays | MlxArrays,
        row_contiguous: bool,
        input_shapes: tuple[tuple[int, ...], ...],
        output_shapes: tuple[tuple[int, ...], ...],
        output_dtypes: tuple[np.dtype[Any], ...],
        grid: tuple[Any, ...],
        threadgroup: tuple[Any, ...],
    ) -> None:
        self.kernel, self.source, self.arrays = kernel, generated.source, arrays
        self.output_shapes, self.output_dtypes = output_shapes, output_dtypes
        self._row_contiguous = row_contiguous
        self._shapes = input_shapes
        self._bindings = generated.bindings
        self._idle = 0 in grid and not any(prod(shape) for shape in output_shapes)
        self._plan: Plan | None = None
        self._guard = config.guard()  # of the plan: `metalloid.metal.install` changes it
        self._checked = False
        if not self._idle:
            with refusals(kernel):
                self._asked = triple(f"[metal_kernel {kernel.name}]", "threadgroup", threadgroup)
                self._grid, self._threadgroup = self._sizes(grid)
        # What inputs that lie in rows need beside their memory never changes.
        self._fixed = {
            b.index: _bound(_layout(b.kind, input_shapes[b.position], _rows(input_shapes[b.position])))
            for b in self._bindings
            if b.kind in ("shape", "strides", "ndim")
        }

    def _sizes(self, grid: tuple[Any, ...]) -> tuple[Triple, Triple]:
        """MLX makes a threadgroup no larger than the grid, axis by axis."""
        whole = triple(f"[metal_kernel {self.kernel.name}]", "grid", grid)
        x, y, z = (min(g, t) for g, t in zip(whole, self._asked, strict=True))
        signature, limits = self.kernel.signature, self.kernel.device.backend.limits
        sizes(signature, limits, whole, self._asked, None)  # MLX holds what was asked for against the limit
        return sizes(signature, limits, whole, (x, y, z), None)

    def run(self, values: list[Any], init_value: float | None) -> list[Any]:
        """Outputs of a call with these inputs."""
        arrays = self.arrays
        outputs = [
            arrays.output(shape, dtype, init_value)
            for shape, dtype in zip(self.output_shapes, self.output_dtypes, strict=True)
        ]
        if not self._idle:
            plan = self._plan if self._guard is config.guard() else None
            if plan is None or watchers or not self._quick(plan, values, outputs):
                self._slow(values, outputs, init_value is None)
        return [arrays.finish(output) for output in outputs]

    def _quick(self, plan: Plan, values: list[Any], outputs: list[Any]) -> bool:
        addresses, lengths, fixed = [], [], self._fixed
        try:
            for binding in self._bindings:
                kind = binding.kind
                if kind == "input" or kind == "output":
                    array = values[binding.position] if kind == "input" else outputs[binding.position]
                    addresses.append(address(array, kind == "output"))
                    lengths.append(array.nbytes)
                else:
                    at, size, _ = fixed[binding.index]
                    addresses.append(at)
                    lengths.append(size)
        except (TypeError, ValueError, BufferError):  # not in rows, empty or read-only
            return False
        plan.fire(addresses, lengths, _Named(self, values, outputs))
        return True

    def _slow(self, values: list[Any], outputs: list[Any], undefined: bool) -> None:
        """Any layout, empty arrays, watchers; and the first launch of a size."""
        kernel = self.kernel
        made = frozenset(b.index for b in self._bindings if b.kind == "output")
        launch = Launch(
            self._grid,
            self._threadgroup,
            self.memory(values, outputs),
            kernel=kernel.name,
            undefined=made if undefined else frozenset(),
            filled=frozenset() if undefined else made,
            inputs=kernel.inputs,
            place=place() if watchers else "",
        )
        if watchers or not self._checked:
            self._checked = True
            warn_about_grid(kernel, self._grid, self._asked, dict(launch.buffers), "MLX launches")
        kernel.run(launch)
        if self._plan is None or self._guard is not config.guard():
            self._guard = config.guard()
            self._plan = kernel.plan(launch, self._guard)

    def memory(self, values: list[Any], outputs: list[Any]) -> dict[int, Any]:
        """The memory of a launch by index, as numpy arrays."""
        memory: dict[int, Any] = {}
        strides: dict[int, tuple[int, ...]] = {}
        for binding in self._bindings:
            at = binding.position
            if binding.kind == "input":
                array = self.arrays.view(values[at])
                self._note_copy(binding.name, array)
                if self._row_contiguous or array.flags.c_contiguous:
                    memory[binding.index] = np.ascontiguousarray(array).reshape(-1)
                    strides[at] = _rows(array.shape)
                else:
                    seen = span(array)
                    memory[binding.index], strides[at] = seen.array, seen.strides
            elif binding.kind == "output":
                memory[binding.index] = self.arrays.view(outputs[at])
            else:
                memory[binding.index] = _layout(binding.kind, self._shapes[at], strides[at])
        return memory

    def _note_copy(self, name: str, array: np.ndarray[Any, Any]) -> None:
        if self._row_contiguous and not array.flags.c_contiguous and array.nbytes >= MUCH:
            note(
                "M505",
                f"metal_kernel {self.kernel.name}",
                f"input '{name}' does not lie in rows (shape {array.shape}) and is copied in every call,"
                f" {array.nbytes} bytes.",
                f"Copy it once, before the first call ({name} = {self.arrays.rows_of(name)}), or pass"
                f" ensure_row_contiguous=False and index with {name}_strides.",
            )


class _Named:
    """The memory of a launch, looked at only where something has to be said about it."""

    def __init__(self, site: Site, values: list[Any], outputs: list[Any]) -> None:
        self._made = site, values, outputs

    def __iter__(self) -> Iterator[Any]:
        site, values, outputs = self._made
        return iter(site.memory(values, outputs).values())


def _rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of elements that lie in rows."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _layout(kind: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if kind == "ndim":
        return np.array([len(shape)], np.int32)
    return np.array(shape, np.int32) if kind == "shape" else np.array(strides, np.int64)


def _bound(array: np.ndarray[Any, Any]) -> Bound:
    return int(array.ctypes.data), array.nbytes, array

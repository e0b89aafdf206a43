"""`mx.fast.metal_kernel` on any machine, for MLX's arrays and for numpy's.

A kernel object holds text. Each call generates the Metal source for its arrays, and everything that depends
only on dtypes and shapes is kept under them, so that a warm call binds memory and runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from metalloid.backends.base import LogMessage
from metalloid.forms import mlx_trace
from metalloid.forms.mlx_arrays import MlxArrays, NumpyArrays, arrays_of, checked_shapes, numpy_dtype
from metalloid.forms.mlx_site import Site
from metalloid.forms.mlx_source import ArrayLike, Dtype, KernelText, TemplateValue, generate, math_mode
from metalloid.runtime.arguments import MEANT
from metalloid.runtime.device import device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.places import caller
from metalloid.source import Source

_MOST_SITES = 256
# By content, for all kernel objects of the process: the same text is compiled once, another text is another kernel.
_kernels: dict[str, Kernel] = {}


class MetalKernel:
    """A kernel as `metal_kernel` makes it. Call it with keywords, as in MLX."""

    def __init__(self, text: KernelText) -> None:
        self.text = text
        self._sites: dict[object, Site] = {}

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: Sequence[int] = (),
        threadgroup: Sequence[int] = (),
        template: Iterable[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
        **unknown: Any,
    ) -> list[Any]:
        """Run, and return the outputs. `grid` counts threads. Both sizes are needed; a misspelt one is told first."""
        if unknown or grid == () or threadgroup == ():
            self._refuse(unknown, grid=grid, threadgroup=threadgroup)
        arrays = arrays_of(inputs, output_dtypes)
        values = [arrays.take(value) for value in inputs]
        arguments = tuple(template) if template else ()
        if isinstance(arrays, MlxArrays) and not mlx_trace.settle(arrays.mx, values, self.text.name):
            checked_shapes(self.text.name, output_shapes)
            again = partial(
                self,
                output_shapes=output_shapes,
                output_dtypes=output_dtypes,
                grid=grid,
                threadgroup=threadgroup,
                template=arguments,
                init_value=init_value,
            )
            return mlx_trace.batched(arrays.mx, self.text.name, values, output_shapes, output_dtypes, again)
        try:
            key = (
                arrays,
                tuple([(v.dtype, v.shape) for v in values]),
                tuple([tuple(s) for s in output_shapes]),
                tuple(output_dtypes),
                tuple(grid),
                tuple(threadgroup),
                tuple([(n, type(v), v) for n, v in arguments]) if arguments else (),
            )
            site = self._sites.get(key)
        except TypeError:  # something that is no size or dtype: the long road says what
            key, site = None, None
        if site is None:
            site = self._site(arrays, values, output_shapes, output_dtypes, grid, threadgroup, arguments)
            if len(self._sites) >= _MOST_SITES:
                self._sites.clear()
            if key is not None:
                self._sites[key] = site
        if verbose:
            shown = f"```\n{_readable(site.source)}\n```"
            print(f"Generated source code for `{self.text.name}`:\n{shown}", flush=True)
        outputs = site.run(values, init_value)
        if isinstance(arrays, MlxArrays):
            return mlx_trace.guarded(arrays.mx, self.text.name, values, outputs)
        return outputs

    def _refuse(self, unknown: Mapping[str, Any], **sizes: Sequence[int]) -> None:
        """Keywords that the call does not have, and then sizes that it was not given."""
        for name in unknown:
            meant = f" Did you mean {MEANT[name]}=?" if name in MEANT else ""
            raise TypeError(f"[metal_kernel {self.text.name}] the call has no argument '{name}'.{meant}")
        for name, size in sizes.items():
            if size == ():
                raise TypeError(f"[metal_kernel {self.text.name}] the call needs {name}=.")

    def _site(
        self,
        arrays: NumpyArrays | MlxArrays,
        values: list[Any],
        output_shapes: Any,
        output_dtypes: Sequence[Any],
        grid: Any,
        threadgroup: Any,
        template: tuple[tuple[str, Any], ...],
    ) -> Site:
        name = self.text.name
        for what, sizes in (("grid", grid), ("threadgroup", threadgroup)):
            if not isinstance(sizes, list | tuple) or len(sizes) != 3:
                raise ValueError(f"[metal_kernel {name}] {what} is {sizes!r}; pass three numbers.")
        names = [arrays.name(d) for d in output_dtypes]
        shapes = checked_shapes(name, output_shapes)
        if len(shapes) != len(self.text.output_names):
            raise ValueError(
                f"[metal_kernel {name}] output_shapes has {len(shapes)} entries, expected"
                f" {len(self.text.output_names)}."
            )
        likes = [ArrayLike(_name(arrays, v), tuple(v.shape)) for v in values]
        generated = generate(self.text, likes, names, _template(name, arrays, template))
        kernel = _kernel(generated.source, generated.kernel)
        return Site(
            kernel,
            generated,
            arrays,
            self.text.ensure_row_contiguous,
            tuple(v.shape for v in values),
            shapes,
            tuple(numpy_dtype(n) for n in names),
            tuple(grid),
            tuple(threadgroup),
        )

    def __repr__(self) -> str:
        return f"<metal_kernel {self.text.name}>"


def metal_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, object] | None = None,
) -> MetalKernel:
    """MLX's factory: a kernel from the body of a function; the parameters are written for you."""
    return MetalKernel(
        KernelText(
            name,
            tuple(input_names),
            tuple(output_names),
            source,
            header,
            ensure_row_contiguous,
            atomic_outputs,
            math_mode(compile_options),
            called=caller(),
        )
    )


def _kernel(source: Source, name: str) -> Kernel:
    key = source.key(name)
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = device().library(source).kernel(name)
        found.on_log = _print_log
    return found


def _print_log(message: LogMessage) -> None:
    """What a kernel says with os_log."""
    print(message.text, file=sys.stderr, flush=True)


def _name(arrays: NumpyArrays | MlxArrays, value: Any) -> str:
    import numpy as np

    return np.dtype(value.dtype).name if isinstance(value, np.ndarray) else arrays.name(value.dtype)


def _template(
    kernel: str, arrays: NumpyArrays | MlxArrays, template: tuple[tuple[str, Any], ...]
) -> list[tuple[str, TemplateValue]]:
    made: list[tuple[str, TemplateValue]] = []
    for name, value in template:
        if isinstance(value, bool | int):
            made.append((name, value))
        elif isinstance(value, float | str):
            raise ValueError(
                f"[metal_kernel {kernel}] template argument '{name}' is {value!r}; pass a bool, an int or a dtype."
            )
        else:
            try:
                made.append((name, Dtype(arrays.name(value))))
            except TypeError:
                raise ValueError(
                    f"[metal_kernel {kernel}] template argument '{name}' is {value!r}; pass a bool, an int or a dtype."
                ) from None
    return made


def _readable(source: Source) -> str:
    """The generated text without the markers that keep its author's line numbers."""
    return "\n".join(line for line in source.text.splitlines() if not line.startswith("#line"))

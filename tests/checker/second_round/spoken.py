"""Cases in other people's words: one kernel with a gap, launched as torch, MLX or an encoder launch it.

A row has the word that is wrong and the one that is right, or two launches of one text, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.mlx import metal_kernel
from metalloid.runtime.kernel import Kernel
from metalloid.torch import compile_shader
from tests.checker.second_round.case import Case
from tests.checker.triplet import HEADER

NOTHING = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
Words = str | tuple[str, ...]
Make = Callable[[], list[Any]]
Form = Callable[[str, Make, Mapping[str, Any]], Callable[[Kernel], None]]


@dataclass(frozen=True)
class Row:
    name: str
    text: str
    find: str  # nothing where the row is a clean one without a mistake
    arguments: Make
    sizes: Mapping[str, Any]
    wrong: Words = ""
    right: Words = ""
    says: str = ""
    arguments_right: Make | None = None
    sizes_right: Mapping[str, Any] | None = None
    slow: bool = False
    seconds: float | None = None  # for what does not end


def filled(text: str, words: Words) -> str:
    """`{X}`, `{Y}` and `{Z}`, each wherever it stands."""
    for gap, word in zip("XYZ", (words,) if isinstance(words, str) else words, strict=False):
        text = text.replace("{" + gap + "}", word)
    return text


def told(rows: tuple[Row, ...], form: Form, prefix: str) -> Iterator[Case]:
    for row in rows:
        mended = (row.arguments_right or row.arguments, row.sizes_right or row.sizes)
        if row.find:
            call = form(filled(row.text, row.wrong), row.arguments, row.sizes)
            yield Case(
                f"{prefix}: {row.name}",
                NOTHING,
                find=row.find,
                says=row.says,
                call=call,
                slow=row.slow,
                seconds=row.seconds,
            )
        call = form(filled(row.text, row.right), *mended)
        yield Case(f"{prefix}: {row.name}, mended", NOTHING, call=call, slow=row.slow)


def torch_form(text: str, make: Make, sizes: Mapping[str, Any]) -> Callable[[Kernel], None]:
    """`compile_shader(text).name(*tensors, threads=...)`; numpy arrays become tensors."""

    def call(kernel: Kernel) -> None:
        import torch

        library = compile_shader(HEADER + text)
        given = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in make()]
        getattr(library, dir(library)[0])(*given, **sizes)

    return call


def mlx_form(text: str, make: Make, sizes: Mapping[str, Any]) -> Callable[[Kernel], None]:
    """`metal_kernel(...)(...)`: the first line of a text names inputs and outputs."""

    def call(kernel: Kernel) -> None:
        names, source = text.split("\n", 1)
        inputs, outputs = (side.split() for side in names.split("->"))
        given = dict(sizes)
        more = {name: given.pop(name) for name in ("atomic_outputs", "header") if name in given}
        made = metal_kernel(name="body", input_names=inputs, output_names=outputs, source=source, **more)
        made(inputs=make(), **given)

    return call


def encoder_form(text: str, make: Make, sizes: Mapping[str, Any]) -> Callable[[Kernel], None]:
    """A command buffer with one dispatch; arrays become buffers, `(buffer, offset)` is bound with its offset."""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        library = device.library(HEADER + text, name="kernel.metal")
        commands = device.queue().command_buffer()
        work = commands.compute_encoder()
        work.set_pipeline(library[library.kernels[0]])
        for index, value in enumerate(make()):
            if isinstance(value, np.ndarray):
                work.set_buffer(device.buffer(value), index=index)
            elif isinstance(value, tuple):
                work.set_buffer(value[0], offset=value[1], index=index)
            elif hasattr(value, "numpy"):
                work.set_buffer(value, index=index)
            else:
                work.set_bytes(value, index=index)
        if "groups" in sizes:
            work.dispatch_threadgroups(sizes["groups"], sizes["each"])
        else:
            work.dispatch_threads(sizes["threads"], sizes["each"])
        work.end_encoding()
        commands.commit()
        commands.wait_until_completed()

    return call
